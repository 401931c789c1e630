"""Scaled dot-product attention: two contractions, maps and a softmax, recorded as their natural formulation says.

    result = safe_softmax(where(takes_part, softcap(scale * q k^T) + bias, -inf)) v

A. Vaswani et al., "Attention Is All You Need", arXiv:1706.03762 (2017), section 3.2.1. Queries without keys give 0.
"""

from __future__ import annotations

import math
from functools import reduce

from tilewright.errors import ShapeError, Undecided
from tilewright.graph.builders import elementwise, norms
from tilewright.graph.builders.builder import Builder, Operand
from tilewright.graph.expressions.extents import dimensions_of
from tilewright.graph.numpy_types import is_short_float
from tilewright.graph.shapes import Shape, shape_text
from tilewright.graph.types import Extent, SymbolicExtent, Tensor
from tilewright.records import record

LETTERS = "uvwxybh"
"""Of the dimensions in front, the heads last."""


@record
class AttentionShape:
    """The extents of an attention: `front` are q's dimensions before the last two, of which the last are the heads."""

    front: Shape
    queries: Extent
    keys: Extent
    group: int
    """Heads of q that share a head of k and v."""

    def subscripts(self, left: str, right: str, result: str) -> str:
        """Einsum's, with the letters of the front before these; grouped heads have a letter of their own where k has none.

        >>> AttentionShape((2, 8), 5, 7, 4).subscripts("mk", "lk", "ml")
        'bhgmk,bhlk->bhgml'
        """
        front = LETTERS[len(LETTERS) - len(self.front) :]
        query_front = f"{front}g" if self.group > 1 else front
        return f"{query_front}{left},{front}{right}->{query_front}{result}"

    def grouped(self, builder: Builder, x: Tensor) -> Tensor:
        """A tensor (..., heads, m, k or l) with its heads in groups, (..., heads of k, group, m, k or l)."""
        if self.group == 1 or len(x.shape) < 3:
            return x
        *front, heads, rows, columns = x.shape
        groups = (1, 1) if not isinstance(heads, int) or heads == 1 else (heads // self.group, self.group)
        return builder.reshape(x, (*front, *groups, rows, columns))

    def apart(self, builder: Builder, x: Tensor) -> Tensor:
        """The inverse: a tensor (..., m, k or l) with the heads of q in one dimension."""
        return builder.reshape(x, (*self.front, *x.shape[-2:])) if self.group > 1 else x


@record
class Participation:
    """Which keys a query takes: a number of keys per index of the first dimension, and a window around the query's position.

    `left` and `right` say how many keys before and behind its own a query takes at most (None: all). The first query is at the
    position `first`; None means that the last query is where the last key is.
    """

    lengths: Tensor | None = None
    left: int | None = None
    right: int | None = None
    first: Extent | None = 0


@record
class Attended:
    """What an attention goes through: with heads in groups, all but the result."""

    scores: Tensor
    capped: Tensor
    biased: Tensor
    shares: Tensor
    result: Tensor


def attention_shape(q: Shape, k: Shape, v: Shape, *, grouped: bool, name: str) -> AttentionShape:
    """The extents of an attention of q (..., m, k) to k (..., l, k) with values v (..., l, n).

    `grouped` lets each head of k and v serve a group of heads of q. Raises `ShapeError` for shapes that do not fit.
    """
    shapes = f"{name} of q {shape_text(q)}, k {shape_text(k)}, v {shape_text(v)}"
    if not 2 <= len(q) == len(k) == len(v) <= 2 + len(LETTERS):
        why = "q, k and v have as many dimensions, at least two"
        raise ShapeError(shapes, why=why, hint="add dimensions of extent 1")
    if q[-1] != k[-1]:
        raise ShapeError(shapes, why=f"q is {q[-1]} wide and k {k[-1]}", hint="q is (..., m, k) and k is (..., l, k)")
    if k[:-1] != v[:-1]:
        raise ShapeError(shapes, why="k and v differ in more than their width", hint="k is (..., l, k) and v is (..., l, n)")
    group = _group(q, k, shapes) if grouped and len(q) > 2 and q[-3] != k[-3] else 1
    front = (*q[:-3], q[-3] // group) if group > 1 and isinstance(q[-3], int) else q[:-2]
    if front != k[:-2]:
        hint = "enable_gqa=True lets heads of q share those of k and v" if q[:-3] == k[:-3] else "use broadcast_to"
        raise ShapeError(shapes, why=f"q has {shape_text(q[:-2])} in front, k and v {shape_text(k[:-2])}", hint=hint)
    return AttentionShape(q[:-2], q[-2], k[-2], group)


def _group(q: Shape, k: Shape, shapes: str) -> int:
    heads, shared = q[-3], k[-3]
    if not isinstance(heads, int) or not isinstance(shared, int):
        why = f"how many of {heads} heads of q share one of {shared} heads of k and v is no number"
        raise Undecided(shapes, why=why).with_numbers(dimensions_of([heads, shared]))
    if shared > 0 and heads % shared == 0:
        return heads // shared
    why = f"{heads} heads of q cannot share {shared} heads of k and v evenly"
    raise ShapeError(shapes, why=why, hint="give q a multiple of k's heads")


def check_mask(shape: AttentionShape, mask: Shape) -> None:
    """Raises `ShapeError` for a mask that does not broadcast to the scores."""
    scores = (*shape.front, shape.queries, shape.keys)
    extents = zip(reversed(mask), reversed(scores), strict=False)
    if len(mask) > len(scores) or any(extent not in (1, full) for extent, full in extents):
        text = f"attn_mask has shape {shape_text(mask)}, which does not broadcast to the scores' {shape_text(scores)}"
        raise ShapeError(text, hint="the last two dimensions are queries and keys; each may be 1")


def attend(
    builder: Builder,
    shape: AttentionShape,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scale: float | None = None,
    softcap: float = 0.0,
    mask: Tensor | None = None,
    taken: Participation,
) -> Attended:
    """Attention of q to k with values v. The mask's truth values say which keys take part, its numbers are added to the scores.

    The scores of floating-point numbers that are shorter than float32 are float32. `scale` is 1 / sqrt(k) unless given, and a
    `softcap` of c makes c * tanh(scores / c) of them.
    """
    wide = "float32" if is_short_float(q.dtype) else None
    products = builder.einsum(shape.subscripts("mk", "lk", "ml"), shape.grouped(builder, q), k, dtype=wide)
    scores = builder.map("multiply", products, _usual_scale(builder, q, products.dtype) if scale is None else scale)
    capped = builder.map("multiply", builder.map("tanh", builder.map("divide", scores, softcap)), softcap) if softcap else scores
    conditions = _positions(builder, shape, taken)
    biased = capped
    if mask is not None:
        mask = shape.grouped(builder, mask)
        conditions += [mask] if mask.dtype == "bool" else []
        biased = capped if mask.dtype == "bool" else builder.map("add", capped, mask)
    if conditions:
        takes_part = reduce(lambda left, right: builder.map("logical_and", left, right, dtype="bool"), conditions)
        biased = builder.map("where", takes_part, biased, -math.inf, dtype=biased.dtype)
    shares = builder.record(norms.softmax, biased, -1, safe=True, kind="softmax")
    result = builder.einsum(shape.subscripts("ml", "ln", "mn"), shares, v, dtype=v.dtype if wide else None)
    return Attended(scores, capped, biased, shares, shape.apart(builder, result))


def _positions(builder: Builder, shape: AttentionShape, taken: Participation) -> list[Tensor]:
    """What must hold of the positions of a query and of a key that takes part."""
    if taken.lengths is None and taken.left is None and taken.right is None:
        return []
    lengths = None if taken.lengths is None else _lengths(builder, shape, taken.lengths)
    keys = builder.slice(_range(builder, shape.keys), (None, slice(None)))
    conditions = [] if lengths is None else [builder.map("less", keys, lengths, dtype="bool")]
    if taken.left is None and taken.right is None:
        return conditions
    queries: Tensor = builder.slice(_range(builder, shape.queries), (slice(None), None))
    if taken.first is None:
        queries = builder.map("add", queries, _past(builder, shape, lengths))
    elif taken.first:
        queries = builder.map("add", queries, _number(builder, taken.first))
    if taken.right is not None:
        last = builder.map("add", queries, taken.right) if taken.right else queries
        conditions.append(builder.map("less_equal", keys, last, dtype="bool"))
    if taken.left is not None:
        first = builder.map("subtract", queries, taken.left)
        conditions.append(builder.map("greater_equal", keys, first, dtype="bool"))
    return conditions


def _lengths(builder: Builder, shape: AttentionShape, lengths: Tensor) -> Tensor:
    """The numbers of keys, with the rank of the scores."""
    column = builder.reshape(builder.cast(lengths, "int64"), (*shape.front[:1], *[1] * (len(shape.front) + 1)))
    return shape.grouped(builder, column)


def _range(builder: Builder, count: Extent) -> Tensor:
    return builder.record(elementwise.arange, count, 0, 1, "int64", kind="arange")


def _past(builder: Builder, shape: AttentionShape, lengths: Tensor | None) -> Operand:
    """The keys before that of the first query, if the last query's is the last."""
    last = _number(builder, shape.keys) if lengths is None else lengths
    queries = _number(builder, shape.queries)
    if isinstance(last, Tensor) or isinstance(queries, Tensor):
        return builder.map("subtract", last, queries)
    return last - queries


def _number(builder: Builder, value: Extent) -> Operand:
    return builder.record(elementwise.extent, value, kind="extent") if isinstance(value, SymbolicExtent) else value


def _usual_scale(builder: Builder, q: Tensor, dtype: str) -> Operand:
    """1 / sqrt(k), and 1 for the scores of width 0, which are 0; computed in place where the width of q has no value yet."""
    width = q.shape[-1]
    if isinstance(width, int):
        return 1.0 / math.sqrt(width or 1)
    number = builder.record(elementwise.extent, width, kind="extent")
    return builder.map("divide", 1.0, builder.map("sqrt", builder.cast(number, dtype)))
