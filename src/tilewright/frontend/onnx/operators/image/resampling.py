"""Tensors resized along several axes: by NumPy, and as canonical operators."""

from __future__ import annotations

from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.operators.image.interpolation import (
    Mode,
    Resampling,
    is_identity,
    nearest_positions,
    positions,
    taps,
)
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import copy_of, map_of, points
from tilewright.graph.builders.reshape import gather
from tilewright.graph.index import Index, axis, constant, floordiv
from tilewright.graph.scalar import Load, Scalar, apply
from tilewright.graph.types import Access, Operator, Tensor


def resized(x: Any, found: dict[int, Resampling], how: Mode, outside: float) -> Any:
    """The resized array; elements outside a part that is resized are `outside`."""
    y = x
    are_cut_off = x.dtype.kind in "iu" and how.mode == "linear" and not how.antialias
    if are_cut_off:
        y = _between_corners(x, found, how)
    for d, resampling in () if are_cut_off else found.items():
        if how.mode == "nearest":
            y = np.take(y, nearest_positions(resampling, how), axis=d)
        elif not is_identity(resampling):
            y = _interpolated(y, d, *taps(resampling, how))
    if how.transformation == "tf_crop_and_resize":
        for d, resampling in found.items():
            places = positions(resampling, how.transformation)
            beyond = (places < 0) | (places > resampling.extent - 1)
            y = np.where(beyond.reshape(-1, *(1,) * (y.ndim - 1 - d)), outside, y)
    if x.dtype.kind in "iu" and how.mode != "nearest":
        y = np.clip(np.trunc(y), np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
    return np.asarray(y, x.dtype)


def _between_corners(x: Any, found: dict[int, Resampling], how: Mode) -> Any:
    """Integers between the corners of squares or cubes of elements: in float32, by onnxruntime's operations in its order.

    They are cut off behind, so that one rounding more or less may change a result by 1.
    """
    ends = {d: _ends(found[d], how) for d in _dimensions_of_corners(x.ndim, found)}
    total: Any = np.float32(0)
    for corner in product((0, 1), repeat=len(ends)):
        weight, element = np.float32(1), x.astype(np.float32)
        for d, side in reversed([*zip(ends, corner, strict=True)]):
            place, share = ends[d][side]
            weight = weight * share.reshape(-1, *(1,) * (x.ndim - 1 - d))
            element = np.take(element, place, axis=d)
        total = total + weight * element
    return total


def _dimensions_of_corners(rank: int, found: dict[int, Resampling]) -> list[int]:
    """onnxruntime's: images with two dimensions or, of odd rank, three, though one of them stays; else those that are resized."""
    inner = [d for d in range(rank)[-2 - rank % 2 :] if d in found]
    changed = [d for d, resampling in found.items() if not is_identity(resampling)]
    return inner if set(changed) <= set(inner) else sorted(changed)


def _ends(resampling: Resampling, how: Mode) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The elements before and behind every output, and their shares; halves of one that is both."""
    last = resampling.extent - 1
    places = positions(resampling, how.transformation) if not is_identity(resampling) else np.arange(last + 1)
    places = np.clip(places.astype(np.float32), 0, last)
    low = np.floor(places).astype(np.int64)
    high = np.minimum(low + 1, last)
    shares = (np.where(low == high, 0.5, np.abs(places - end)).astype(np.float32) for end in (high, low))
    before, behind = zip((low, high), shares, strict=True)
    return before, behind


def _interpolated(x: Any, d: int, places: Any, weights: Any) -> Any:
    along = (-1, *(1,) * (x.ndim - 1 - d))
    with np.errstate(invalid="ignore"):
        return sum(np.take(x, place, axis=d) * weight.reshape(along) for place, weight in zip(places, weights, strict=True))


def lowered(builder: Builder, x: Tensor, found: dict[int, Resampling], how: Mode) -> Tensor:
    """The resized tensor: index changes and gathers for the nearest elements, else a map of the taps per axis."""
    changed = {d: resampling for d, resampling in found.items() if not is_identity(resampling)}
    if how.mode == "nearest":
        return _lowered_nearest(builder, x, changed, how)
    if "float" not in x.dtype:
        raise UnsupportedOperation(f"Resize by {how.mode} of {x.dtype} in generated code", where="Resize")
    for d in sorted(changed, key=lambda d: _turn(d, changed[d])):
        places, weights = taps(changed[d], how)
        operands = (builder.constant(places, "taps"), builder.constant(weights.astype(x.dtype), "weights"))
        x = builder.record(_weighted, x, *operands, d, kind="resize")
    return x


def _turn(d: int, resampling: Resampling) -> tuple[int, int]:
    """The order of the axes: the inner ones, whose taps do not lie side by side, while there are fewest elements."""
    return (0, d) if resampling.output < resampling.extent else (1, -d)


def _weighted(x: Tensor, places: Tensor, weights: Tensor, d: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The sum over k of `weights[k, o] x[.., places[k, o], ..]` at every output o of dimension d."""
    count, output = weights.shape
    shape = (*x.shape[:d], output, *x.shape[d + 1 :])
    along = axis(f"d{d}")
    indices = tuple(constant(0) if dimension == d else index for dimension, index in enumerate(points(len(shape))))
    reads: list[Access] = []
    terms: list[Scalar] = []
    for k in range(int(str(count))):
        place, weight, element = (len(reads) + i for i in range(3))
        reads += [Access(places.name, (constant(k), along)), Access(weights.name, (constant(k), along))]
        reads.append(Access(x.name, indices, lookups=((d, place),)))
        terms.append(apply("multiply", Load(weight), Load(element)))
    body = reduce(lambda left, right: apply("add", left, right), terms)
    return map_of("resize", shape, reads, body, x.dtype, name, result)


def _lowered_nearest(builder: Builder, x: Tensor, found: dict[int, Resampling], how: Mode) -> Tensor:
    """Positions at irregular steps are looked up."""
    regular = {d: resampling for d, resampling in found.items() if _step(axis(f"d{d}"), resampling, how) is not None}
    x = builder.record(_nearest, x, regular, how, kind="resize")
    for d in sorted(found.keys() - regular.keys()):
        x = builder.record(gather, x, builder.constant(nearest_positions(found[d], how), "nearest"), d, kind="gather")
    return x


def _nearest(x: Tensor, found: dict[int, Resampling], how: Mode, *, name: str, result: str) -> tuple[Operator, Tensor]:
    shape = tuple(found[d].output if d in found else extent for d, extent in enumerate(x.shape))
    steps = {d: _step(axis(f"d{d}"), resampling, how) for d, resampling in found.items()}
    indices = [steps.get(d) or index for d, index in enumerate(points(len(shape)))]
    return copy_of("resize", x, shape, indices, name, result)


def _step(place: Index, resampling: Resampling, how: Mode) -> Index | None:
    """The nearest element as an index: a quotient, or a multiple and an offset; None if it is neither."""
    nearest = nearest_positions(resampling, how)
    if resampling.output == 0:
        return place
    places, first = np.arange(resampling.output), int(nearest[0])
    factor = resampling.output // resampling.extent
    if factor and resampling.output == factor * resampling.extent and np.array_equal(nearest, places // factor):
        return floordiv(place, factor)
    step = int(nearest[1]) - first if resampling.output > 1 else 1
    if np.array_equal(nearest, places * step + first):
        return place * step + first
    return None
