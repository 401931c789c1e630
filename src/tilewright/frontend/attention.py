"""`scaled_dot_product_attention`: two contractions, a map and a softmax, recorded as their natural formulation records them.

    out = safe_softmax(where(takes_part, softcap(scale * q k^T) + bias, -inf)) v

PyTorch 2.13, torch.nn.functional.scaled_dot_product_attention, is the source of the signature and of the meaning (the math
path, whose rows without keys give 0); what it cannot say follows Dao's FlashAttention 2.7 (`window_size`, `softcap`, alignment at
the bottom right, key lengths per batch).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError, TilewrightError
from tilewright.frontend import tracing_functions as tw
from tilewright.frontend.tracing_integers import wholes
from tilewright.frontend.tracing_location import user_location
from tilewright.frontend.tracing_types import extent
from tilewright.frontend.tracing_value import Traced
from tilewright.graph.shapes import Shape, shape_text
from tilewright.graph.types import Extent, SymbolicExtent

ALIGNMENTS = ("top-left", "bottom-right")
NAME = "scaled_dot_product_attention"
OPEN = 2**62
"""As many keys as no array has, and as int64 positions can still be added to."""
LETTERS = "uvwxybh"
"""Of the dimensions in front, the heads last."""


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
    q, k, v = map(_array, (q, k, v))
    shape = _attention_shape(wholes(q.shape), wholes(k.shape), wholes(v.shape), enable_gqa)
    _check_scalars(causal_alignment, softcap, scale)
    scores = tw.einsum(shape.subscripts("mk", "lk", "ml"), shape.grouped(q), k)
    scores = scores * (_usual_scale(q) if scale is None else scale)
    scores = _capped(scores, softcap) if softcap else scores
    lengths = None if key_lengths is None else _lengths(shape, _array(key_lengths))
    conditions = _positions(shape, lengths, _window(window, is_causal), causal_alignment)
    mask = None if attn_mask is None else shape.grouped(_checked_mask(shape, _array(attn_mask), q.dtype))
    if mask is not None and mask.dtype == np.bool_:
        conditions.append(mask)
    elif mask is not None:
        scores = scores + mask
    scores = tw.where(reduce(tw.logical_and, conditions), scores, -math.inf) if conditions else scores
    out = tw.einsum(shape.subscripts("ml", "ln", "mn"), tw.safe_softmax(scores), v)
    return tw.reshape(out, (*shape.front, shape.queries, v.shape[-1])) if shape.group > 1 else out


@dataclass(frozen=True, slots=True)
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
        own = f"{front}g" if self.group > 1 else front
        return f"{own}{left},{front}{right}->{own}{result}"

    def grouped(self, x: Any) -> Any:
        """An array (..., heads, m, k or l) with its heads in groups, (..., heads of k, group, m, k or l)."""
        if self.group == 1 or x.ndim < 3:
            return x
        *front, heads, rows, columns = wholes(x.shape)
        groups = (1, 1) if heads == 1 else (heads // self.group, self.group)
        return tw.reshape(x, (*front, *groups, rows, columns))


def _attention_shape(q: Shape, k: Shape, v: Shape, enable_gqa: bool) -> AttentionShape:
    """Raises `ShapeError` for shapes that do not fit."""
    shapes = f"q {shape_text(q)}, k {shape_text(k)}, v {shape_text(v)}"
    if not 2 <= len(q) == len(k) == len(v) <= 2 + len(LETTERS):
        raise _misfit(shapes, "q, k and v have as many dimensions, at least two", "add dimensions of extent 1")
    if q[-1] != k[-1]:
        raise _misfit(shapes, f"q is {q[-1]} wide and k {k[-1]}", "q is (..., m, k) and k is (..., l, k)")
    if k[:-1] != v[:-1]:
        raise _misfit(shapes, "k and v differ in more than their width", "k is (..., l, k) and v is (..., l, n)")
    group = _group(q, k, shapes) if enable_gqa and len(q) > 2 and q[-3] != k[-3] else 1
    front = (*q[:-3], q[-3] // group) if group > 1 and isinstance(q[-3], int) else q[:-2]
    if front != k[:-2]:
        hint = "enable_gqa=True lets heads of q share those of k and v" if q[:-3] == k[:-3] else "use broadcast_to"
        raise _misfit(shapes, f"q has {shape_text(q[:-2])} in front, k and v {shape_text(k[:-2])}", hint)
    return AttentionShape(q[:-2], q[-2], k[-2], group)


def _group(q: Shape, k: Shape, shapes: str) -> int:
    heads, shared = q[-3], k[-3]
    if isinstance(heads, int) and isinstance(shared, int) and shared > 0 and heads % shared == 0:
        return heads // shared
    raise _misfit(shapes, f"{heads} heads of q cannot share {shared} heads of k and v evenly", "give q a multiple of k's heads")


def _misfit(shapes: str, why: str, hint: str) -> ShapeError:
    return ShapeError(f"{NAME} of {shapes}", where=user_location(), why=why, hint=hint)


def _checked_mask(shape: AttentionShape, mask: Any, dtype: Any) -> Any:
    """Raises `DTypeError` and `ShapeError` for a mask that is neither truth values nor of q's type, or does not broadcast."""
    if mask.dtype not in (np.bool_, dtype):
        raise DTypeError(
            f"attn_mask has dtype {mask.dtype}",
            where=user_location(),
            why=f"a mask holds truth values (which keys take part), or {dtype} numbers as q does (which are added to the scores)",
            hint="compare it: attn_mask != 0, or convert it with astype",
        )
    scores = (*shape.front, shape.queries, shape.keys)
    extents = zip(reversed(wholes(mask.shape)), reversed(scores), strict=False)
    if mask.ndim > len(scores) or any(own not in (1, extent) for own, extent in extents):
        text = f"attn_mask has shape {shape_text(mask.shape)}, which does not broadcast to the scores' {shape_text(scores)}"
        raise ShapeError(text, where=user_location(), hint="the last two dimensions are queries and keys; each may be 1")
    return mask


def _lengths(shape: AttentionShape, lengths: Any) -> Any:
    """The number of keys, with the rank of the scores. Raises `DTypeError` and `ShapeError`."""
    if not np.issubdtype(lengths.dtype, np.integer) or not np.can_cast(lengths.dtype, np.int64):
        text = f"key_lengths has dtype {lengths.dtype}"
        hint = "convert the array with astype(numpy.int64) before the call"
        raise DTypeError(text, where=user_location(), why="lengths are integers that int64 can hold", hint=hint)
    if wholes(lengths.shape) != shape.front[:1] or not shape.front:
        text = f"key_lengths has shape {shape_text(lengths.shape)}"
        why = f"there is one length for each index of q's first dimension: {shape_text(shape.front[:1])}"
        raise ShapeError(text, where=user_location(), why=why, hint="for other numbers of keys use attn_mask")
    return shape.grouped(tw.reshape(tw.astype(lengths, np.int64), (*shape.front[:1], *[1] * (len(shape.front) + 1))))


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
        raise TilewrightError(
            text, where=user_location(), hint="use (left, right) with whole numbers >= 0, None for an open side"
        )
    left, right = (None if side is None or side >= OPEN else side for side in (left, right))
    return left, (0 if is_causal else right)


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 0


def _positions(shape: AttentionShape, lengths: Any, window: tuple[int | None, int | None], alignment: str) -> list[Any]:
    """What must hold of the positions of a query and of a key that takes part."""
    keys = tw.arange(shape.keys)[None, :]
    conditions = [] if lengths is None else [keys < lengths]
    left, right = window
    if left is None and right is None:
        return conditions
    own = tw.arange(shape.queries)[:, None]
    if alignment == "bottom-right":
        own = own + _past(shape, lengths)
    if right is not None:
        conditions.append(keys <= (own + right if right else own))
    if left is not None:
        conditions.append(keys >= own - left)
    return conditions


def _past(shape: AttentionShape, lengths: Any) -> Any:
    """The keys before that of the first query, if the last query's is the last."""
    last = extent(shape.keys) if lengths is None else lengths
    return last - extent(shape.queries)


def _usual_scale(q: Any) -> Any:
    """1 / sqrt(k), and 1 for the scores of width 0, which are 0; traced where the width of q has no value yet."""
    width = q.shape[-1]
    return 1.0 / (tw.sqrt(tw.astype(extent(width), q.dtype)) if isinstance(width, SymbolicExtent) else math.sqrt(width or 1))


def _capped(scores: Any, softcap: float) -> Any:
    """`c * tanh(scores / c)`."""
    return tw.tanh(scores / softcap) * softcap


def _array(x: Any) -> Any:
    return x if isinstance(x, Traced) else np.asanyarray(x)
