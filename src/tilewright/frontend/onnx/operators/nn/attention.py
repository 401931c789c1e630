"""Attention: heads apart or packed side by side, past keys, masks, windows, and the scores on request.

Source: the ONNX operator schemas, opsets 23 to 25. The softmax is computed in float32, or in the operands' type where that is
wider, whatever `softmax_precision` says: its results are rounded to the operands' type in any case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.operands import completed
from tilewright.frontend.onnx.operators.tensor.concat import Concat
from tilewright.graph.builders.attention import Participation, attend, attention_shape, check_mask
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.softmax import numpy_reference as softmax
from tilewright.graph.numpy_types import widened
from tilewright.graph.shapes import Shape, shape_text
from tilewright.graph.types import Extent, Tensor

STAGES = ("scores", "capped", "biased", "shares")
"""What `qk_matmul_output_mode` asks for by number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """The attended values, and if they are asked for the keys and values with the past ones, and a stage of the scores."""

    is_causal: int = 0
    kv_num_heads: int = 0
    left_window_size: int = -1
    q_num_heads: int = 0
    qk_matmul_output_mode: int = 0
    right_window_size: int = -1
    scale: float | None = None
    softcap: float = 0.0
    softmax_precision: int | None = None
    output_count: int = 1

    def reference(self, *operands: Any) -> Any:
        q, k, v, attn_mask, past_key, past_value, nonpad_kv_seqlen = completed(operands, 7)
        self._check_forms(past_key, past_value)
        dtype, is_packed = q.dtype, q.ndim == 3
        q, k, v = _apart(q, self.q_num_heads), _apart(k, self.kv_num_heads), _apart(v, self.kv_num_heads)
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
        heads = (self.q_num_heads, self.kv_num_heads, self.kv_num_heads)
        q, k, v = (_unpacked(builder, x, count) for x, count in zip((q, k, v), heads, strict=True))
        present = k, v = _behind(builder, past_key, k), _behind(builder, past_value, v)
        if attn_mask is not None:
            k, v = _as_masked(builder, attn_mask, k, v, self.output_count)
        shape = attention_shape(q.shape, k.shape, v.shape, grouped=True, name="Attention")
        if attn_mask is not None:
            check_mask(shape, attn_mask.shape)
        left, right = self._window()
        taken = Participation(nonpad_kv_seqlen, left, right, _first(past_key, nonpad_kv_seqlen))
        attended = attend(builder, shape, q, k, v, scale=self.scale, softcap=self.softcap, mask=attn_mask, taken=taken)
        result = attended.result
        if packed is not None:
            width = _times(q.shape[1], v.shape[3])
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

    def _window(self) -> tuple[int | None, int | None]:
        """How many keys before and behind its own a query takes; None: all."""
        behind = [size for size in (self.right_window_size, 0 if self.is_causal else -1) if size >= 0]
        return (self.left_window_size if self.left_window_size >= 0 else None), min(behind, default=None)


def _apart(x: Any, heads: int) -> Any:
    """Packed heads (batch, length, heads * width) as (batch, heads, length, width)."""
    if x.ndim != 3:
        return x
    _check_heads(x.shape, heads)
    return x.reshape(*x.shape[:2], heads, x.shape[2] // heads).swapaxes(1, 2)


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


def _unpacked(builder: Builder, x: Tensor, heads: int) -> Tensor:
    """Packed heads (batch, length, heads * width) as (batch, heads, length, width)."""
    if len(x.shape) != 3:
        return x
    _check_heads(x.shape, heads)
    width = x.shape[2]
    if not isinstance(width, int):
        raise UnsupportedOperation(f"Attention with packed heads of a width {width} that is known at run time")
    return builder.transpose(builder.reshape(x, (*x.shape[:2], heads, width // heads)), (0, 2, 1, 3))


def _check_heads(shape: Shape, heads: int) -> None:
    if heads < 1 or (isinstance(shape[2], int) and shape[2] % heads):
        why = f"{heads} heads do not divide {shape[2]} columns"
        raise ShapeError(
            f"Attention of packed heads in {shape_text(shape)}", why=why, hint="q_num_heads, kv_num_heads say how many"
        )


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


def _first(past_key: Tensor | None, lengths: Tensor | None) -> Extent | None:
    """The position of the first query: behind past keys, or such that the last query has the last of the keys that count."""
    if past_key is None:
        return 0 if lengths is None else None
    return past_key.shape[2]


def _times(left: Extent, right: Extent) -> int:
    if not isinstance(left, int) or not isinstance(right, int):
        raise UnsupportedOperation("Attention with heads known at run time")
    return left * right


define("Attention", Attention, since=23)
