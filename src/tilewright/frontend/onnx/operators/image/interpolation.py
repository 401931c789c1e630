"""Interpolation along axes: where results lie among the elements, of which taps each is made, and resized arrays and tensors.

Interpolation is linear in the elements and goes axis by axis: a result is the weighted sum of its taps, the two elements around
a position (a triangle) or four (R. Keys, "Cubic convolution interpolation for digital image processing", IEEE TASSP 29, 1981);
with antialias these are as many as a step is wide. Taps alone are read: in a product with a matrix of all weights, most of them
0, a NaN or an infinity would be in every result, since 0 times it is NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import ceil
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import computed
from tilewright.graph.builders.resampling import picked, weighted_sums
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import Tensor
from tilewright.records import record

TIE = np.float32(1e-6)
"""How far from the middle between two elements a position is a tie. Source: measured in onnxruntime 1.32, at float32 positions
around 0.5, 1.5 and 2.5: those 9.54e-7 away are ties, those 1.01e-6 away are none."""
BEFORE_11 = "before 11"
"""The nearest elements of Resize-10, whose only statement is its node test: those after a position where the axis shrinks
(0.6 of 1, 2, 3, 4 is 1, 3), else those before it."""


@record
class Resampling:
    """How one axis is resized."""

    extent: int
    output: int
    scale: float
    crop: tuple[float, float] = (0.0, 1.0)
    """The part of the axis that is resized, for `tf_crop_and_resize`."""


@record(kw_only=True)
class Mode:
    """The attributes that say what is interpolated, and where."""

    antialias: int = 0
    coordinate_transformation_mode: str = "half_pixel"
    cubic_coeff_a: float = -0.75
    exclude_outside: int = 0
    mode: str = "nearest"
    nearest_mode: str = "round_prefer_floor"


def is_identity(resampling: Resampling) -> bool:
    """Whether results are the elements themselves."""
    return resampling.extent == resampling.output and resampling.scale == 1.0 and resampling.crop == (0.0, 1.0)


def positions(resampling: Resampling, transformation: str) -> Any:
    """Where every output lies in the input, in float32 as scales are, by onnxruntime's operations in its order."""
    outputs, scale = np.arange(resampling.output, dtype=np.float32), np.float32(resampling.scale)
    half = np.float32(0.5)
    first, last = resampling.crop
    match transformation:
        case "align_corners":
            last_output = resampling.scale * resampling.extent - 1
            return outputs * (resampling.extent - 1) / np.float32(last_output) if last_output > 0 else outputs * 0
        case "asymmetric":
            return outputs / scale
        case "tf_half_pixel_for_nn":
            return (outputs + half) / scale
        case "pytorch_half_pixel":
            return (outputs + half) / scale - half if resampling.output > 1 else outputs
        case "half_pixel":
            return (outputs + half) / scale - half
        case "half_pixel_symmetric":
            adjustment = np.float32(resampling.output) / (scale * np.float32(resampling.extent))
            shift = np.float32(resampling.extent) / 2 * (1 - adjustment)
            centred = (outputs.astype(np.float64) + 0.5) / float(scale) - 0.5
            return (float(shift) + centred).astype(np.float32)
        case "tf_crop_and_resize":
            if resampling.output == 1:
                return outputs + 0.5 * np.float32(first + last) * (resampling.extent - 1)
            return first * (resampling.extent - 1) + outputs * (last - first) * (resampling.extent - 1) / (resampling.output - 1)
    raise UnsupportedOperation(f"Resize by {transformation!r}", where="Resize", why="there is no such transformation")


def nearest_mode(mode: str, scale: float | None) -> str:
    """The mode itself; of Resize-10 what it comes to for a scale, which is always given there."""
    if mode != BEFORE_11 or scale is None:
        return mode
    return "floor" if scale >= 1 else "ceil"


def _nearer(beside: float) -> Scalar:
    """The nearer element; so many behind the lower one at ties."""
    low = apply("floor", Load(0))
    distance = apply("abs", apply("subtract", apply("subtract", Load(0), low), Literal(0.5)))
    is_tie = apply("less_equal", distance, Literal(float(TIE)))
    return apply("where", is_tie, apply("add", low, Literal(beside)), apply("floor", apply("add", Load(0), Literal(0.5))))


ROUNDED: Mapping[str, Scalar] = {
    "round_prefer_floor": _nearer(0.0),
    "round_prefer_ceil": _nearer(1.0),
    "floor": apply("floor", Load(0)),
    "ceil": apply("ceil", Load(0)),
}
"""The element that is nearest to a position, by mode."""


def nearest_positions(resampling: Resampling, how: Mode) -> Any:
    """The element that is nearest to every output.

    A position within `TIE` of the middle between two elements counts as a tie, as in onnxruntime: the roundings of a float32
    position are smaller than that up to the 16th element. An axis that is not resized keeps its elements.

    >>> nearest_positions(Resampling(20, 6, 0.3), Mode(nearest_mode="round_prefer_ceil")).tolist()  # the fifth lies at 14.5
    [1, 5, 8, 11, 15, 18]
    """
    if is_identity(resampling):
        return np.arange(resampling.extent)
    places = positions(resampling, how.coordinate_transformation_mode)
    rounded = ROUNDED.get(nearest_mode(how.nearest_mode, resampling.scale))
    if rounded is None:
        raise UnsupportedOperation(f"Resize with nearest_mode {how.nearest_mode!r}", where="Resize")
    return np.clip(computed(rounded, [places]), 0, resampling.extent - 1).astype(np.int64)


def taps(resampling: Resampling, how: Mode) -> tuple[Any, Any]:
    """The elements that every output is made of, and their weights, both (taps, outputs). The last element inside stands for
    those outside.

    >>> places, weights = taps(Resampling(2, 4, 2.0), Mode(mode="linear"))
    >>> places.tolist(), weights.tolist()
    ([[0, 0, 0, 1], [1, 1, 1, 1]], [[1.0, 0.75, 0.25, 1.0], [0.0, 0.25, 0.75, 0.0]])
    """
    if how.mode not in ("linear", "cubic"):
        raise UnsupportedOperation(f"Resize by {how.mode!r}", where="Resize", hint="nearest, linear or cubic")
    step = min(resampling.scale, 1.0) if how.antialias else 1.0
    reach = (1 if how.mode == "linear" else 2) / step
    centres = np.asarray(positions(resampling, how.coordinate_transformation_mode), np.float64)
    if how.mode == "linear" and not how.antialias:
        centres = np.clip(centres, 0, resampling.extent - 1)
    places = np.floor(centres) + np.arange(1 - ceil(reach), 1 + ceil(reach))[:, None]
    weights = _kernel((places - centres) * step, how)
    weights = weights * ((places >= 0) & (places < resampling.extent)) if how.exclude_outside else weights
    if how.antialias:  # what is beyond the reach is no tap
        is_tap = (places > centres - reach) & (places <= centres + reach)
        places = np.where(is_tap, places, np.floor(centres))
    return np.clip(places, 0, resampling.extent - 1).astype(np.int64), weights / weights.sum(axis=0)


def _kernel(distance: Any, how: Mode) -> Any:
    t = np.abs(distance)
    return np.clip(1 - t, 0, None) if how.mode == "linear" else cubic(t, how.cubic_coeff_a)


def cubic(t: Any, a: float) -> Any:
    """The weight of a tap at a distance from 0 on."""
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((t - 5) * t + 8) * t * a - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


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
    if how.coordinate_transformation_mode == "tf_crop_and_resize":
        for d, resampling in found.items():
            places = positions(resampling, how.coordinate_transformation_mode)
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
    places = positions(resampling, how.coordinate_transformation_mode) if not is_identity(resampling) else np.arange(last + 1)
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
        return picked(builder, x, {d: nearest_positions(resampling, how) for d, resampling in changed.items()})
    if "float" not in x.dtype:
        raise UnsupportedOperation(f"Resize by {how.mode} of {x.dtype} in generated code", where="Resize")
    # inner axes, whose taps do not lie side by side, while there are fewest elements
    for d in sorted(changed, key=lambda d: (0, d) if changed[d].output < changed[d].extent else (1, -d)):
        x = weighted_sums(builder, x, d, *taps(changed[d], how))
    return x
