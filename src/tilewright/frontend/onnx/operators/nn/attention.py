"""Attention: heads apart or packed side by side, past keys, masks, windows, and the scores on request; rotary embeddings.

Source: the ONNX operator schemas, opsets 23 to 25. The softmax is computed in float32, or in the operands' type where that is
wider, whatever `softmax_precision` says: its results are rounded to the operands' type in any case.

FlexAttention: attention whose scores and probabilities pass through graphs of the model's own.

J. Dong et al., "Flex Attention: A Programming Model for Generating Optimized Attention Kernels", arXiv:2412.05496 (2024),
section 3.

LinearAttention: a matrix of state for every head, decayed, corrected by and read with every token.

    S = exp(g) S + beta k (v - (exp(g) S)^T k)^T,    o = scale S^T q

"linear" has neither decay g nor correction (S = S + k v^T), "gated" only the decay, "delta" only the correction.
S. Yang, J. Kautz, A. Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule", arXiv:2412.06464 (2024), section 3.

RotaryEmbedding: pairs of a head's columns turned by angles that depend on the position.

    y[first] = x[first] cos - x[second] sin,    y[second] = x[second] cos + x[first] sin

J. Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", arXiv:2104.09864 (2021), section 3.2.2. Pairs are
the columns j and j + half, or 2 j and 2 j + 1 where they are interleaved. Source of the forms: the ONNX operator schema.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_operator
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.operators.operands import Call, Reshaped, by_lowering, by_reference, completed, known
from tilewright.frontend.onnx.operators.tensor.gather import Gather
from tilewright.frontend.onnx.operators.tensor.shapes import Concat, Transpose
from tilewright.graph.builders.attention import Participation, attend, attention_shape, check_mask
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.builders.norms import softmax_reference as softmax
from tilewright.graph.expressions.index import Index, axis
from tilewright.graph.expressions.index import constant as number
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.numpy_types import widened
from tilewright.graph.shapes import Shape, shape_text
from tilewright.graph.types import Access, Axis, Operator, Tensor

STAGES = ("scores", "capped", "biased", "shares")
"""What `qk_matmul_output_mode` asks for by number."""


@onnx_operator("Attention", since=23)
class Attention(SchemaAttributes):
    """The attended values, and if they are asked for the keys and values with the past ones, and a stage of the scores."""

    softcap, qk_matmul_output_mode, left_window_size, right_window_size, output_count = 0.0, 0, -1, -1, 1
    """The defaults of ONNX's schema, for operators that are made of this one."""

    def reference(self, *operands: Any) -> Any:
        q, k, v, attn_mask, past_key, past_value, nonpad_kv_seqlen = completed(operands, 7)
        self._check_forms(past_key, past_value)
        dtype, is_packed = q.dtype, q.ndim == 3
        q, k, v = self._apart(by_reference, q, k, v)
        past = 0 if past_key is None else past_key.shape[2]
        k = k if past_key is None else np.concatenate([past_key, k], axis=2)
        v = v if past_value is None else np.concatenate([past_value, v], axis=2)
        attention_shape(q.shape, k.shape, v.shape, grouped=True, name="Attention")
        keys, values = (np.repeat(widened(x), q.shape[1] // x.shape[1], axis=1) for x in (k, v))
        factor = 1 / math.sqrt(q.shape[-1]) if self.scale is None else self.scale
        scores = np.matmul(widened(q), keys.swapaxes(2, 3)) * keys.dtype.type(factor)
        capped = self.softcap * np.tanh(scores / self.softcap) if self.softcap else scores
        first = None if nonpad_kv_seqlen is not None and past_key is None else past
        takes_part = _takes_part(q.shape[2], k.shape[2], nonpad_kv_seqlen, self._window(), first)
        biased = np.where(takes_part, _biased(capped, attn_mask), -np.inf)
        shares = softmax(biased, safe=True)
        result = np.matmul(np.where(shares == 0, 0, shares), values).astype(dtype)
        result = result.swapaxes(1, 2).reshape(q.shape[0], q.shape[2], -1) if is_packed else result
        stage = (scores, capped, biased, shares)[self.qk_matmul_output_mode]
        return (result, k, v, stage.astype(dtype))[: self.output_count]

    def lower(self, builder: Builder, *operands: Any) -> tuple[Tensor, ...]:
        """The composition of `graph/builders/attention.py`, behind index changes and concatenations."""
        q, k, v, attn_mask, past_key, past_value, nonpad_kv_seqlen = completed(operands, 7)
        self._check_forms(past_key, past_value)
        packed = q.shape if len(q.shape) == 3 else None
        q, k, v = self._apart(by_lowering(builder), q, k, v)
        present = k, v = _behind(builder, past_key, k), _behind(builder, past_value, v)
        if attn_mask is not None:
            k, v = _as_masked(builder, attn_mask, k, v, self.output_count)
        shape = attention_shape(q.shape, k.shape, v.shape, grouped=True, name="Attention")
        if attn_mask is not None:
            check_mask(shape, attn_mask.shape)
        left, right = self._window()
        first = past_key.shape[2] if past_key is not None else 0 if nonpad_kv_seqlen is None else None
        taken = Participation(nonpad_kv_seqlen, left, right, first)
        attended = attend(builder, shape, q, k, v, scale=self.scale, softcap=self.softcap, mask=attn_mask, taken=taken)
        result = attended.result
        if packed is not None:
            width = math.prod(known((q.shape[1], v.shape[3]), "Attention with packed heads"))
            result = builder.reshape(builder.transpose(result, (0, 2, 1, 3)), (*packed[:2], width))
        if self.output_count < 4:
            return (result, *present)[: self.output_count]
        stage: Tensor = getattr(attended, STAGES[self.qk_matmul_output_mode])
        return (result, *present, builder.cast(shape.apart(builder, stage), q.dtype))

    def _check_forms(self, past_key: Any, past_value: Any) -> None:
        """Raises `ShapeError` and `UnsupportedOperation` for forms that the operator does not have."""
        if (past_key is None) != (past_value is None):
            raise ShapeError("Attention with past keys or values alone", hint="give past_key and past_value, or neither")
        mode = self.qk_matmul_output_mode
        if not 0 <= mode < len(STAGES):
            raise UnsupportedOperation(f"Attention with qk_matmul_output_mode={mode}", hint=f"choose from 0..{len(STAGES) - 1}")

    def _apart(self, call: Call, *operands: Any) -> tuple[Any, ...]:
        heads = (self.q_num_heads, self.kv_num_heads, self.kv_num_heads)
        return tuple(_apart(call, x, count) for x, count in zip(operands, heads, strict=True))

    def _window(self) -> tuple[int | None, int | None]:
        """How many keys before and behind its own a query takes; None: all."""
        behind = [size for size in (self.right_window_size, 0 if self.is_causal else -1) if size >= 0]
        return (self.left_window_size if self.left_window_size >= 0 else None), min(behind, default=None)


def _apart(call: Call, x: Any, heads: int) -> Any:
    """Packed heads (batch, length, heads * width) as (batch, heads, length, width)."""
    if len(x.shape) != 3:
        return x
    _check_heads(x.shape, heads)
    (width,) = known(x.shape[2:], "Attention with packed heads")
    return call(Transpose(perm=(0, 2, 1, 3)))(call(Reshaped((*x.shape[:2], heads, width // heads)))(x))


def _takes_part(queries: int, keys: int, lengths: Any, window: tuple[int | None, int | None], first: int | None) -> Any:
    """Whether a query takes a key, as far as positions say, as an array that broadcasts to (batch, heads, queries, keys)."""
    counts = np.full((1, 1, 1, 1), keys) if lengths is None else lengths.reshape(-1, 1, 1, 1)
    position = np.arange(keys)
    aligned = np.arange(queries)[:, None] + (counts - queries if first is None else first)
    taken = position < counts
    left, right = window
    taken = taken if left is None else taken & (position >= aligned - left)
    return taken if right is None else taken & (position <= aligned + right)


def _biased(scores: Any, mask: Any) -> Any:
    """Scores with a mask that broadcasts to them, or has fewer keys: then those behind them take no part."""
    if mask is None:
        return scores
    missing = scores.shape[-1] - mask.shape[-1] if mask.shape[-1] != 1 else 0
    if mask.dtype == np.bool_:
        mask = np.where(mask, 0, -np.inf).astype(scores.dtype)
    padding = [(0, 0)] * (mask.ndim - 1) + [(0, missing)]
    return scores + np.pad(widened(mask), padding, constant_values=-np.inf)


def _check_heads(shape: Shape, heads: int | None) -> None:
    if not heads or heads < 1 or (isinstance(shape[2], int) and shape[2] % heads):
        why = f"{heads or 0} heads do not divide {shape[2]} columns"
        hint = "q_num_heads, kv_num_heads say how many"
        raise ShapeError(f"Attention of packed heads in {shape_text(shape)}", why=why, hint=hint)


def _behind(builder: Builder, past: Tensor | None, present: Tensor) -> Tensor:
    """Keys or values behind the past ones."""
    return present if past is None else Concat(axis=2).lower(builder, past, present)


def _as_masked(builder: Builder, mask: Tensor, k: Tensor, v: Tensor, output_count: int) -> tuple[Tensor, Tensor]:
    """The keys and values that a mask speaks of: those behind them take no part."""
    masked, keys = mask.shape[-1] if mask.shape else 1, k.shape[2]
    if masked in (1, keys) or not isinstance(masked, int) or not isinstance(keys, int) or masked > keys:
        return k, v
    if output_count >= 4:
        raise UnsupportedOperation("Attention with a mask of fewer keys, and its scores")
    part = (slice(None), slice(None), slice(masked))
    return builder.slice(k, part), builder.slice(v, part)


Modification = Callable[[Any], Sequence[Any]]


@onnx_operator("FlexAttention", domain="ai.onnx.preview")
class FlexAttention(SchemaAttributes):
    """`prob_mod(softmax(score_mod(q k^T scale))) v` of [batch, heads, length, size]; groups of query heads share keys."""

    def reference(self, q: Any, k: Any, v: Any) -> Any:
        group = _group(q.shape, k.shape, v.shape)
        default = np.result_type(q.dtype, np.float32)
        precise = default if self.softmax_precision is None else element_type(self.softmax_precision)
        keys, values = (np.repeat(np.asarray(x, default), group, axis=1) for x in (k, v))
        factor = 1 / math.sqrt(q.shape[-1]) if self.scale is None else self.scale
        scores = (np.asarray(q, default) @ keys.swapaxes(-1, -2) * default.type(factor)).astype(precise)
        shares = softmax(_modified(self.score_mod, scores))
        return (_modified(self.prob_mod, shares).astype(default) @ values).astype(q.dtype)

    def lower(self, builder: Builder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Two products and a softmax, in float32, without graphs between them."""
        if self.score_mod or self.prob_mod or q.dtype != "float32" or self.softmax_precision not in (None, 1):
            raise UnsupportedOperation("FlexAttention with graphs inside, or in another type than float32")
        if _group(q.shape, k.shape, v.shape) > 1:
            raise UnsupportedOperation("FlexAttention with shared keys")
        factor = self.scale if self.scale is not None else 1 / math.sqrt(*known(q.shape[3:], "FlexAttention of heads"))
        scores = builder.map("multiply", builder.einsum("bhik,bhjk->bhij", q, k), factor)
        return builder.matmul(builder.softmax(scores, -1), v)


def _group(q: Shape, k: Shape, v: Shape) -> int:
    """How many query heads share a head of the keys."""
    is_fit = len(q) == len(k) == len(v) == 4 and q[0] == k[0] == v[0] and k[1:3] == v[1:3] and q[3] == k[3]
    heads, shared = (q[1], k[1]) if is_fit else (1, 0)
    if not isinstance(heads, int) or not isinstance(shared, int) or not shared or heads % shared:
        raise ShapeError(f"queries {shape_text(q)}, keys {shape_text(k)}, values {shape_text(v)}", where="FlexAttention")
    return heads // shared


def _modified(modification: Modification | None, x: Any) -> Any:
    if modification is None:
        return x
    (result,) = modification(x)
    if np.shape(result) != x.shape:
        raise ShapeError(f"a graph makes {np.shape(result)} of {x.shape}", where="FlexAttention", why="it must keep the shape")
    return np.asarray(result)


_RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}
"""Whether a rule has a decay, and whether it has a correction."""


@onnx_operator("LinearAttention", since=27)
class LinearAttention(SchemaAttributes):
    """Outputs [batch, tokens, q_num_heads * d_v] and the last state [batch, kv_num_heads, d_k, d_v].

    Keys, values, decay (also one per head) and beta (also one for all heads) are [batch, tokens, kv_num_heads * ...].
    """

    def reference(self, query: Any, key: Any, value: Any, past_state: Any = None, decay: Any = None, beta: Any = None) -> Any:
        is_gated, is_delta = self._rule(decay, beta)
        heads = self.kv_num_heads
        q, k, v = _heads(query, self.q_num_heads), _heads(key, heads), _heads(value, heads)
        if q.shape[:2] != k.shape[:2] or k.shape[:3] != v.shape[:3] or q.shape[3] != k.shape[3] or self.q_num_heads % heads:
            raise ShapeError(f"queries {q.shape}, keys {k.shape}, values {v.shape}", where="LinearAttention")
        state = np.zeros((k.shape[0], *k.shape[2:], v.shape[3])) if past_state is None else np.asarray(past_state, np.float64)
        gates = np.exp(_heads(decay, heads)) if is_gated else np.ones((*k.shape[:3], 1))
        rates = np.asarray(beta, np.float64) if is_delta else np.ones((*k.shape[:2], 1))
        outputs = np.empty((*q.shape[:3], v.shape[3]))
        for token in range(q.shape[1]):
            state = state * gates[:, token, :, :, None]
            seen = np.einsum("bhkv,bhk->bhv", state, k[:, token]) if is_delta else 0.0
            state = state + np.einsum("bhk,bhv->bhkv", k[:, token], (v[:, token] - seen) * rates[:, token, :, None])
            shared = np.repeat(state, self.q_num_heads // heads, axis=1)
            outputs[:, token] = np.einsum("bhkv,bhk->bhv", shared, q[:, token])
        outputs *= self.scale or 1 / math.sqrt(q.shape[3])
        state_type = (query if past_state is None else past_state).dtype
        return outputs.reshape(*q.shape[:2], -1).astype(query.dtype), state.astype(state_type)

    def _rule(self, decay: Any, beta: Any) -> tuple[bool, bool]:
        name = self.update_rule
        if name not in _RULES:
            raise UnsupportedOperation(f"update_rule {name!r}", where="LinearAttention", hint=f"choose from {', '.join(_RULES)}")
        is_gated, is_delta = _RULES[name]
        if (is_gated and decay is None) or (is_delta and beta is None):
            raise ShapeError(f"update_rule {name!r} without its decay or beta", where="LinearAttention")
        return is_gated, is_delta


def _heads(x: Any, count: int) -> Any:
    """[batch, tokens, heads * size] in float64 as [batch, tokens, heads, size]."""
    if np.ndim(x) != 3 or count < 1 or x.shape[2] % count:
        raise ShapeError(f"{count} heads of shape {np.shape(x)}", where="LinearAttention")
    return np.asarray(x, np.float64).reshape(*x.shape[:2], count, -1)


@onnx_operator("RotaryEmbedding", since=23)
class RotaryEmbedding(SchemaAttributes):
    """x with the first columns of every head turned: (batch, heads, length, width), or packed (batch, length, heads * width)."""

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
    places = (axis("s"), number(1) - axis("s"))
    column, partner = (axis("j") * 2 + place if interleaved else axis("j") + place * half for place in places)
    elements = (Access(x.name, _position(is_packed, width, at)) for at in (column, partner))
    reads = (*elements, *(Access(cache.name, (axis("b"), axis("t"), axis("j"))) for cache in (cos, sin)))
    sign = apply("subtract", apply("multiply", AxisValue("s"), Literal(2.0)), Literal(1.0))
    across = apply("multiply", apply("multiply", Load(1), Load(3)), sign)
    body = apply("add", apply("multiply", Load(0), Load(2)), across)
    order = [axes[i] for i in (*((0, 2, 1) if is_packed else (0, 1, 2)), *((3, 4) if interleaved else (4, 3)))]
    write = Access(result, _position(is_packed, width, column))
    operator = Operator(name, "rotation", tuple(order), reads, write, body, accumulator=accumulator_of(x.dtype))
    return operator, Tensor(result, x.shape, x.dtype)


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
