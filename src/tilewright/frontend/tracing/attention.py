"""`scaled_dot_product_attention`: two contractions, a map and a softmax, recorded as their natural formulation records them.

    out = safe_softmax(where(takes_part, softcap(scale * q k^T) + bias, -inf)) v

PyTorch 2.13, torch.nn.functional.scaled_dot_product_attention, is the source of the signature and of the meaning (the math
path, whose rows without keys give 0); what it cannot say follows Dao's FlashAttention 2.7 (`window_size`, `softcap`, alignment at
the bottom right, key lengths per batch).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError, TilewrightError
from tilewright.frontend.tracing.dynamic_dimensions import wholes
from tilewright.frontend.tracing.location import located_call, user_location
from tilewright.frontend.tracing.promotion import float_type
from tilewright.frontend.tracing.recording import array_of, converted, recorded
from tilewright.graph.builders.attention import AttentionShape, Participation, attend, attention_shape, check_mask
from tilewright.graph.builders.builder import Builder
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor

ALIGNMENTS = ("top-left", "bottom-right")
NAME = "scaled_dot_product_attention"
OPEN = 2**62
"""As many keys as no array has, and as int64 positions can still be added to."""


def scaled_dot_product_attention(
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    *,
    is_causal: bool = False,
    causal_alignment: str = "top-left",
    window: int | tuple[int | None, int | None] | None = None,
    softcap: float | None = None,
    key_lengths: Any = None,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Attention of q (..., m, k) to k (..., l, k) with values v (..., l, n): an array (..., m, n).

    There may be no, one (heads), two (batch, heads) or more dimensions in front; the batches must be equal, and so must the heads
    unless `enable_gqa` lets each head of k and v serve a group of heads of q. Views in any layout, as swapaxes gives them of
    (batch, length, heads, width), are read as they lie.

    - `attn_mask` broadcasts to (..., m, l): truth values say which keys take part, numbers are added to the scores (bias, ALiBi).
    - `is_causal`: query i takes keys up to i, counted from the first query and key ("top-left", as PyTorch does), or such that
      the last query takes the last key ("bottom-right": queries behind past keys). It combines with `attn_mask`, which PyTorch
      refuses.
    - `window` of (left, right): query i takes keys i - left to i + right, aligned as `causal_alignment` says; None leaves a side
      open, a number stands for both sides.
    - `softcap` c, finite: scores become c * tanh(scores / c) before anything is added to them.
    - `key_lengths`: integers, one for each index of q's first dimension: (batch,), or (heads,) of 3-D arrays. Only so many keys
      take part, and "bottom-right" means the last of these.
    - `scale` is 1/sqrt(k) unless given.

    Queries without keys give 0. What does not take part does not matter, but for NaN and infinities in v, which may show (0 times
    infinity is NaN); in PyTorch those of k show, too, and those of q in queries without keys. Raises `ShapeError`, `DTypeError`
    and `TilewrightError`.

    >>> import numpy as np
    >>> q, k, v = np.zeros((2, 4, 3, 8)), np.zeros((2, 2, 5, 8)), np.arange(100.0).reshape(2, 2, 5, 5)
    >>> out = scaled_dot_product_attention(q, k, v, is_causal=True, causal_alignment="bottom-right", enable_gqa=True)
    >>> out.shape, out[0, 0, 0].round(6).tolist()
    ((2, 4, 3, 5), [5.0, 6.0, 7.0, 8.0, 9.0])
    """
    q, k, v = map(array_of, (q, k, v))
    shape = located_call(attention_shape, *(wholes(x.shape) for x in (q, k, v)), grouped=enable_gqa, name=NAME)
    _check_scalars(causal_alignment, softcap, scale)
    lengths = None if key_lengths is None else _checked_lengths(shape, array_of(key_lengths))
    mask = None if attn_mask is None else _checked_mask(shape, array_of(attn_mask), q.dtype)
    left, right = _window(window, is_causal)
    first = None if causal_alignment == "bottom-right" else 0

    def record(builder: Builder, q: Any, k: Any, v: Any, lengths: Any, mask: Any) -> Tensor:
        taken = Participation(lengths, left, right, first)
        return attend(builder, shape, q, k, v, scale=scale, softcap=softcap or 0.0, mask=mask, taken=taken).result

    dtype = float_type(NAME, [operand.dtype for operand in (q, k, v)])
    return recorded(NAME, record, (*(converted(operand, dtype) for operand in (q, k, v)), lengths, mask))


def _checked_mask(shape: AttentionShape, mask: Any, dtype: Any) -> Any:
    """Raises `DTypeError` and `ShapeError` for a mask that is neither truth values nor of q's type, or does not broadcast."""
    if mask.dtype not in (np.bool_, dtype):
        why = f"a mask holds truth values (which keys take part), or {dtype} numbers as q does (which are added to the scores)"
        hint = "compare it: attn_mask != 0, or convert it with astype"
        raise DTypeError(f"attn_mask has dtype {mask.dtype}", where=user_location(), why=why, hint=hint)
    located_call(check_mask, shape, wholes(mask.shape))
    return mask


def _checked_lengths(shape: AttentionShape, lengths: Any) -> Any:
    """Raises `DTypeError` and `ShapeError`."""
    if not np.issubdtype(lengths.dtype, np.integer) or not np.can_cast(lengths.dtype, np.int64):
        text = f"key_lengths has dtype {lengths.dtype}"
        hint = "convert the array with astype(numpy.int64) before the call"
        raise DTypeError(text, where=user_location(), why="lengths are integers that int64 can hold", hint=hint)
    if wholes(lengths.shape) != shape.front[:1] or not shape.front:
        text = f"key_lengths has shape {shape_text(lengths.shape)}"
        why = f"there is one length for each index of q's first dimension: {shape_text(shape.front[:1])}"
        raise ShapeError(text, where=user_location(), why=why, hint="for other numbers of keys use attn_mask")
    return lengths


def _check_scalars(alignment: str, softcap: Any, scale: Any) -> None:
    if alignment not in ALIGNMENTS:
        text = f"causal_alignment={alignment!r} is not known"
        raise TilewrightError(text, where=user_location(), hint=f"choose from {', '.join(ALIGNMENTS)}")
    for name, value in (("softcap", softcap), ("scale", scale)):
        if value is not None and not isinstance(value, int | float | np.generic):
            text = f"{name}={value!r} is no number"
            raise DTypeError(text, where=user_location(), hint="numbers are static: name the argument in static_argnames")
    if softcap is not None and not 0 <= softcap < math.inf:
        text = f"softcap={softcap} bounds no scores"
        raise TilewrightError(text, where=user_location(), hint="use a positive finite number, or None")


def _window(window: Any, is_causal: bool) -> tuple[int | None, int | None]:
    """How many keys before and after its own a query takes; causal ones take none after it."""
    left, right = window if isinstance(window, tuple | list) and len(window) == 2 else (window, window)
    if not all(side is None or _is_count(side) for side in (left, right)):
        text = f"window={window!r} is no pair of numbers of keys"
        raise TilewrightError(text, where=user_location(), hint="use (left, right) with integers >= 0, None for an open side")
    left, right = (None if side is None or side >= OPEN else side for side in (left, right))
    return left, (0 if is_causal else right)


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 0
