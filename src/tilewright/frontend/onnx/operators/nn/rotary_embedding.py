"""RotaryEmbedding: pairs of a head's columns turned by angles that depend on the position.

    y[first] = x[first] cos - x[second] sin,    y[second] = x[second] cos + x[first] sin

J. Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", arXiv:2104.09864 (2021), section 3.2.2. Pairs are
the columns j and j + half, or 2 j and 2 j + 1 where they are interleaved. Source of the forms: the ONNX operator schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.tensor.concat import Concat
from tilewright.frontend.onnx.operators.tensor.gather import Gather
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.index import Index, axis
from tilewright.graph.index import constant as number
from tilewright.graph.numpy_types import widened
from tilewright.graph.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.shapes import Shape, shape_text
from tilewright.graph.types import Access, Axis, Operator, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class RotaryEmbedding:
    """x with the first columns of every head turned: (batch, heads, length, width), or packed (batch, length, heads * width)."""

    interleaved: int = 0
    num_heads: int = 0
    rotary_embedding_dim: int = 0

    def reference(self, x: Any, cos_cache: Any, sin_cache: Any, position_ids: Any = None) -> Any:
        _, width, turned = self._extents(x.shape)
        heads = widened(x).reshape(*x.shape[:2], -1, width) if x.ndim == 3 else widened(x).swapaxes(1, 2)
        _check_caches(x.shape, cos_cache.shape, sin_cache.shape, position_ids is not None, turned)
        if position_ids is not None:
            cos_cache, sin_cache = (Gather().reference(cache, position_ids) for cache in (cos_cache, sin_cache))
        cos, sin = (widened(cache)[:, :, None] for cache in (cos_cache, sin_cache))
        first, second = _pairs(turned, bool(self.interleaved))
        result = heads.copy()
        result[..., first] = heads[..., first] * cos - heads[..., second] * sin
        result[..., second] = heads[..., second] * cos + heads[..., first] * sin
        return (result.reshape(x.shape) if x.ndim == 3 else result.swapaxes(1, 2)).astype(x.dtype)

    def lower(
        self, builder: Builder, x: Tensor, cos_cache: Tensor, sin_cache: Tensor, position_ids: Tensor | None = None
    ) -> Tensor:
        """One map; where only some columns are turned, these alone, with the others put beside them."""
        heads, width, turned = self._extents(x.shape)
        _check_caches(x.shape, cos_cache.shape, sin_cache.shape, position_ids is not None, turned)
        if position_ids is not None:
            cos_cache, sin_cache = (Gather().lower(builder, cache, position_ids) for cache in (cos_cache, sin_cache))
        is_interleaved = bool(self.interleaved)
        if turned == width:
            return builder.record(_rotation, x, cos_cache, sin_cache, heads, width, interleaved=is_interleaved, kind="rotation")
        apart = builder.reshape(x, (*x.shape[:2], heads, width)) if len(x.shape) == 3 else x
        part, rest = (builder.slice(apart, (..., columns)) for columns in (slice(turned), slice(turned, None)))
        packed = builder.reshape(part, (*x.shape[:2], heads * turned)) if len(x.shape) == 3 else part
        flat = builder.record(_rotation, packed, cos_cache, sin_cache, heads, turned, interleaved=is_interleaved, kind="rotation")
        return builder.reshape(Concat(axis=-1).lower(builder, builder.reshape(flat, part.shape), rest), x.shape)

    def _extents(self, shape: Shape) -> tuple[int, int, int]:
        """The number of heads, their width, and how many columns are turned. Raises `ShapeError` where these do not fit."""
        heads, columns = (self.num_heads, shape[-1]) if len(shape) == 3 else (shape[1] if len(shape) == 4 else 0, shape[-1])
        if len(shape) not in (3, 4) or not isinstance(heads, int) or heads < 1 or not isinstance(columns, int):
            text = f"RotaryEmbedding of {shape_text(shape)} with {self.num_heads} heads"
            raise ShapeError(text, hint="num_heads goes with 3 dimensions")
        width = columns // heads if len(shape) == 3 else columns
        turned = self.rotary_embedding_dim or width
        if (len(shape) == 3 and columns % heads) or turned % 2 or not 0 < turned <= width:
            text = f"RotaryEmbedding of {turned} of {width} columns"
            raise ShapeError(text, why="an even number of columns of every head is turned")
        return heads, width, turned


def _pairs(turned: int, interleaved: bool) -> tuple[slice, slice]:
    """The columns that come first and second in their pairs."""
    if interleaved:
        return slice(0, turned, 2), slice(1, turned, 2)
    return slice(0, turned // 2), slice(turned // 2, turned)


def _rotation(
    x: Tensor, cos: Tensor, sin: Tensor, heads: int, width: int, *, interleaved: bool, name: str, result: str
) -> tuple[Operator, Tensor]:
    """Pairs of all columns of every head turned; cos and sin are (batch, length, pairs).

    One map: its axis s is the place in the pair, of which the other place is 1 - s, and 2 s - 1 the sign of the sine.

    >>> x, cache = Tensor("x", (2, 4, 3, 8)), Tensor("cos", (2, 3, 4))
    >>> operator, _ = _rotation(x, cache, cache, 4, 8, interleaved=False, name="rotation", result="y")
    >>> [str(access.indices[-1]) for access in operator.reads[:2]]
    ['j + 4*s', 'j + -4*s + 4']
    """
    is_packed = len(x.shape) == 3
    length = x.shape[1 if is_packed else 2]
    half = width // 2
    axes = [Axis("b", x.shape[0]), Axis("n", heads), Axis("t", length), Axis("j", half), Axis("s", 2)]
    column, partner = ((axis("j") * 2 + place if interleaved else axis("j") + place * half) for place in _places())
    reads = (
        Access(x.name, _position(is_packed, width, column)),
        Access(x.name, _position(is_packed, width, partner)),
        *(Access(cache.name, (axis("b"), axis("t"), axis("j"))) for cache in (cos, sin)),
    )
    sign = apply("subtract", apply("multiply", AxisValue("s"), Literal(2.0)), Literal(1.0))
    across = apply("multiply", apply("multiply", Load(1), Load(3)), sign)
    body = apply("add", apply("multiply", Load(0), Load(2)), across)
    order = [axes[i] for i in ((0, 2, 1) if is_packed else (0, 1, 2))] + (
        [axes[3], axes[4]] if interleaved else [axes[4], axes[3]]
    )
    write = Access(result, _position(is_packed, width, column))
    operator = Operator(name, "rotation", tuple(order), reads, write, body, accumulator=accumulator_of(x.dtype))
    return operator, Tensor(result, x.shape, x.dtype)


def _places() -> tuple[Index, Index]:
    return axis("s"), number(1) - axis("s")


def _position(is_packed: bool, width: int, column: Index) -> tuple[Index, ...]:
    """Where a column of a head lies in x."""
    if is_packed:
        return axis("b"), axis("t"), axis("n") * width + column
    return axis("b"), axis("n"), axis("t"), column


def _check_caches(x: Shape, cos: Shape, sin: Shape, has_positions: bool, turned: int) -> None:
    length = x[1] if len(x) == 3 else x[2]
    wanted = (*(cos[:1] if has_positions else (x[0], length)), turned // 2)
    if cos != wanted or sin != wanted:
        text = f"RotaryEmbedding with caches of {shape_text(cos)} and {shape_text(sin)}"
        raise ShapeError(text, why=f"expected are {shape_text(wanted)}, with a dimension of positions if these are given")


define("RotaryEmbedding", RotaryEmbedding, since=23)
