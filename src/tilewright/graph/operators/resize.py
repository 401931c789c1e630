"""Resize and Upsample: a tensor at other positions along its axes, interpolated.

Interpolation is linear in the elements and goes axis by axis: an output is the weighted sum of its taps, the two elements around
a position (a triangle) or four (R. Keys, "Cubic convolution interpolation for digital image processing", IEEE TASSP 29, 1981);
with antialias these are as many as a step is wide. Taps alone are read: in a product with a matrix of all weights, most of them
0, a NaN or an infinity would be in every output, since 0 times it is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import ceil, floor, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.builders.gather import gather
from tilewright.graph.definition import define
from tilewright.graph.element_types import MOST_ELEMENTS
from tilewright.graph.index import Index, axis, constant, floordiv
from tilewright.graph.scalar import Load, Scalar, apply
from tilewright.graph.shapes import normalize_axis, shape_text
from tilewright.graph.types import Access, Axis, Operator, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


@dataclass(frozen=True, slots=True)
class Resampling:
    """How one axis is resized."""

    extent: int
    output: int
    scale: float
    crop: tuple[float, float] = (0.0, 1.0)
    """The part of the axis that is resized, for `tf_crop_and_resize`."""


@dataclass(frozen=True, slots=True)
class Mode:
    """The attributes that say what is interpolated, and where."""

    mode: str = "nearest"
    transformation: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    cubic_a: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False


def meaning(
    x: Any,
    roi: Any = None,
    scales: Any = None,
    sizes: Any = None,
    *,
    antialias: int = 0,
    axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Any:
    """The same by NumPy."""
    how = Mode(mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a, bool(exclude_outside), bool(antialias))
    own = tuple(None if one is None or not np.size(one) else np.reshape(one, -1).tolist() for one in (scales, sizes, roi))
    return _resized(x, resamplings(x.shape, axes, own, keep_aspect_ratio_policy, how), how, extrapolation_value)


def lower(
    builder: Builder,
    x: Tensor,
    roi: Tensor | None = None,
    scales: Tensor | None = None,
    sizes: Tensor | None = None,
    *,
    antialias: int = 0,
    axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Tensor:
    """Index changes and look-ups where the nearest elements are wanted, else one map of the taps per axis."""
    how = Mode(mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a, bool(exclude_outside), bool(antialias))
    known = (None if one is None else builder.contents(one).reshape(-1).tolist() or None for one in (scales, sizes))
    if coordinate_transformation_mode == "tf_crop_and_resize":
        raise UnsupportedOperation(
            "Resize of a part of a tensor", where="Resize", why="elements outside have a value of their own"
        )
    return _lowered(builder, x, resamplings(x.shape, axes, (*known, None), keep_aspect_ratio_policy, how), how)


def upsample_meaning(x: Any, scales: Any, *, mode: str = "nearest") -> Any:
    """The same by NumPy, at the positions o / scale."""
    how = _plain(mode)
    return _resized(x, resamplings(x.shape, None, (np.reshape(scales, -1).tolist(), None, None), "stretch", how), how, 0.0)


def upsample_lower(builder: Builder, x: Tensor, scales: Tensor, *, mode: str = "nearest") -> Tensor:
    """As for Resize."""
    how, known = _plain(mode), builder.contents(scales).reshape(-1).tolist()
    return _lowered(builder, x, resamplings(x.shape, None, (known, None, None), "stretch", how), how)


def fixed_meaning(x: Any, *, mode: str = "nearest", scales: Sequence[float] = ()) -> Any:
    """The same by NumPy, with scales that are attributes."""
    return upsample_meaning(x, np.asarray(scales), mode=mode)


def fixed_lower(builder: Builder, x: Tensor, *, mode: str = "nearest", scales: Sequence[float] = ()) -> Tensor:
    """As for Resize."""
    how = _plain(mode)
    return _lowered(builder, x, resamplings(x.shape, None, (list(scales), None, None), "stretch", how), how)


def _plain(mode: str) -> Mode:
    return Mode(mode, "asymmetric", "floor")


def resamplings(
    shape: Sequence[Any], axes: Sequence[int] | None, given: tuple[Any, ...], policy: str, how: Mode
) -> dict[int, Resampling]:
    """How every axis is resized that is named, by `given` scales or sizes, and regions; raises `ShapeError`."""
    scales, sizes, roi = given
    rank = len(shape)
    along = list(range(rank)) if axes is None else [normalize_axis(one, rank, where="Resize") for one in axes]
    wanted = sizes if scales is None else scales
    text = f"Resize of {shape_text(shape)} to {wanted}"
    if wanted is None or len(wanted) != len(along) or (scales is not None and sizes is not None):
        raise ShapeError(text, where="Resize", why="either scales or sizes are given, one for every axis")
    if not all(isinstance(shape[d], int) for d in along):
        raise UnsupportedOperation(f"{text}: extents are known at run time only", where="Resize")
    if not all(number > 0 for number in wanted) or any(shape[d] < 1 for d in along):
        raise ShapeError(text, where="Resize", why="scales, sizes and extents are positive")
    extents = [int(shape[d]) for d in along]
    factors, outputs = _factors(extents, scales, sizes, policy)
    if prod(outputs) > MOST_ELEMENTS:
        raise UnsupportedOperation(text, where="Resize", why="it is absurdly large")
    half = len(along)
    crops = [(roi[i], roi[i + half]) if roi and how.transformation == "tf_crop_and_resize" else (0.0, 1.0) for i in range(half)]
    found = zip(along, extents, outputs, factors, crops, strict=True)
    return {d: Resampling(extent, output, factor, crop) for d, extent, output, factor, crop in found}


def _factors(extents: Sequence[int], scales: Any, sizes: Any, policy: str) -> tuple[list[float], list[int]]:
    if scales is not None:
        return [float(s) for s in scales], [floor(e * float(np.float32(s))) for e, s in zip(extents, scales, strict=True)]
    factors = [int(s) / e for e, s in zip(extents, sizes, strict=True)]
    if policy == "stretch":
        return factors, [int(s) for s in sizes]
    one = min(factors) if policy == "not_larger" else max(factors)
    return [one] * len(factors), [floor(one * e + 0.5) for e in extents]


def _resized(x: Any, found: dict[int, Resampling], how: Mode, outside: float) -> Any:
    y = x
    for d, one in found.items():
        if how.mode == "nearest":
            y = np.take(y, nearest_positions(one, how), axis=d)
        elif how.transformation == "tf_crop_and_resize" or not _is_identity(one):
            y = _interpolated(y, d, *taps(one, how))
    if how.transformation == "tf_crop_and_resize":
        for d, one in found.items():
            places = positions(one, how.transformation)
            beyond = (places < 0) | (places > one.extent - 1)
            y = np.where(beyond.reshape(-1, *(1,) * (y.ndim - 1 - d)), outside, y)
    if x.dtype.kind in "iu" and how.mode != "nearest":
        y = np.clip(np.trunc(y), np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
    return np.asarray(y, x.dtype)


def _interpolated(x: Any, d: int, places: Any, weights: Any) -> Any:
    along = (-1, *(1,) * (x.ndim - 1 - d))
    with np.errstate(invalid="ignore"):
        return sum(np.take(x, own, axis=d) * weight.reshape(along) for own, weight in zip(places, weights, strict=True))


def _is_identity(one: Resampling) -> bool:
    return one.extent == one.output and one.scale == 1.0


def _lowered(builder: Builder, x: Tensor, found: dict[int, Resampling], how: Mode) -> Tensor:
    changed = {d: one for d, one in found.items() if not _is_identity(one)}
    if how.mode == "nearest":
        return _lowered_nearest(builder, x, changed, how)
    if "float" not in x.dtype:
        raise UnsupportedOperation(f"Resize by {how.mode} of {x.dtype} in generated code", where="Resize")
    for d in sorted(changed, key=lambda d: _turn(d, changed[d])):
        places, weights = taps(changed[d], how)
        operands = (builder.constant(places, "taps"), builder.constant(weights.astype(x.dtype), "weights"))
        x = builder.record(_weighted, x, *operands, d, kind="resize")
    return x


def _turn(d: int, one: Resampling) -> tuple[int, int]:
    """The order of the axes: the inner ones, whose taps do not lie side by side, while there are fewest elements."""
    return (0, d) if one.output < one.extent else (1, -d)


def _weighted(x: Tensor, places: Tensor, weights: Tensor, d: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The sum over k of `weights[k, o] x[.., places[k, o], ..]` at every output o of dimension d."""
    count, output = weights.shape
    shape = (*x.shape[:d], output, *x.shape[d + 1 :])
    own = axis(f"d{d}")
    indices = tuple(constant(0) if one == d else axis(f"d{one}") for one in range(len(shape)))
    reads: list[Access] = []
    terms: list[Scalar] = []
    for k in range(int(str(count))):
        place, weight, element = (len(reads) + i for i in range(3))
        reads += [Access(places.name, (constant(k), own)), Access(weights.name, (constant(k), own))]
        reads.append(Access(x.name, indices, lookups=((d, place),)))
        terms.append(apply("multiply", Load(weight), Load(element)))
    axes = tuple(Axis(f"d{one}", extent) for one, extent in enumerate(shape))
    write = Access(result, tuple(axis(one.name) for one in axes))
    body = reduce(lambda left, right: apply("add", left, right), terms)
    operator = Operator(name, "resize", axes, tuple(reads), write, body, accumulator=accumulator_of(x.dtype))
    return operator, Tensor(result, shape, x.dtype)


def _lowered_nearest(builder: Builder, x: Tensor, found: dict[int, Resampling], how: Mode) -> Tensor:
    """Positions at irregular steps are looked up."""
    regular = {d: one for d, one in found.items() if _step(axis(f"d{d}"), one, how) is not None}
    x = builder.record(_nearest, x, regular, how, kind="resize")
    for d in sorted(found.keys() - regular.keys()):
        x = builder.record(gather, x, builder.constant(nearest_positions(found[d], how), "nearest"), d, kind="gather")
    return x


def _nearest(x: Tensor, found: dict[int, Resampling], how: Mode, *, name: str, result: str) -> tuple[Operator, Tensor]:
    shape = tuple(found[d].output if d in found else extent for d, extent in enumerate(x.shape))
    steps = {d: _step(axis(f"d{d}"), one, how) for d, one in found.items()}
    indices = tuple(steps.get(d) or axis(f"d{d}") for d in range(len(shape)))
    axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(shape))
    write = Access(result, tuple(axis(one.name) for one in axes))
    operator = Operator(name, "resize", axes, (Access(x.name, indices),), write, Load(0), accumulator=accumulator_of(x.dtype))
    return operator, Tensor(result, shape, x.dtype)


def _step(place: Index, one: Resampling, how: Mode) -> Index | None:
    """The nearest element as an index: a quotient, or a multiple and an offset; None if it is neither."""
    nearest = nearest_positions(one, how)
    if one.output == 0:
        return place
    places, first = np.arange(one.output), int(nearest[0])
    factor = one.output // one.extent
    if factor and one.output == factor * one.extent and np.array_equal(nearest, places // factor):
        return floordiv(place, factor)
    step = int(nearest[1]) - first if one.output > 1 else 1
    if np.array_equal(nearest, places * step + first):
        return place * step + first
    return None


def positions(one: Resampling, transformation: str) -> Any:
    """Where every output lies in the input, in float32 as scales are: 0.7 * 5 is 3.5 there, half way between two elements."""
    outputs, scale = np.arange(one.output, dtype=np.float32), np.float32(one.scale)
    half = np.float32(0.5)
    first, last = one.crop
    match transformation:
        case "align_corners":
            last_output = one.scale * one.extent - 1
            return outputs * (one.extent - 1) / np.float32(last_output) if last_output > 0 else outputs * 0
        case "asymmetric":
            return outputs / scale
        case "tf_half_pixel_for_nn":
            return (outputs + half) / scale
        case "pytorch_half_pixel":
            return (outputs + half) / scale - half if one.output > 1 else outputs
        case "half_pixel":
            return (outputs + half) / scale - half
        case "half_pixel_symmetric":
            shift = np.float32(one.extent / 2) * (1 - np.float32(one.output) / (scale * np.float32(one.extent)))
            return shift + (outputs + half) / scale - half
        case "tf_crop_and_resize":
            if one.output == 1:
                return outputs + 0.5 * (first + last) * (one.extent - 1)
            return first * (one.extent - 1) + outputs * (last - first) * (one.extent - 1) / (one.output - 1)
    raise UnsupportedOperation(f"Resize by {transformation!r}", where="Resize", why="there is no such transformation")


def nearest_positions(one: Resampling, how: Mode) -> Any:
    """The element that is nearest to every output."""
    places = positions(one, how.transformation)
    rounded = {
        "round_prefer_floor": np.ceil(places - 0.5),
        "round_prefer_ceil": np.floor(places + 0.5),
        "floor": np.floor(places),
        "ceil": np.ceil(places),
    }
    if how.nearest not in rounded:
        raise UnsupportedOperation(f"Resize with nearest_mode {how.nearest!r}", where="Resize")
    return np.clip(rounded[how.nearest], 0, one.extent - 1).astype(np.int64)


def taps(one: Resampling, how: Mode) -> tuple[Any, Any]:
    """The elements that every output is made of, and their weights, both (taps, outputs). The last element inside stands for
    those outside.

    >>> places, weights = taps(Resampling(2, 4, 2.0), Mode("linear"))
    >>> places.tolist(), weights.tolist()
    ([[0, 0, 0, 1], [1, 1, 1, 1]], [[1.0, 0.75, 0.25, 1.0], [0.0, 0.25, 0.75, 0.0]])
    """
    if how.mode not in ("linear", "cubic"):
        raise UnsupportedOperation(f"Resize by {how.mode!r}", where="Resize", hint="nearest, linear or cubic")
    step = min(one.scale, 1.0) if how.antialias else 1.0
    reach = (1 if how.mode == "linear" else 2) / step
    centres = np.asarray(positions(one, how.transformation), np.float64)
    if how.mode == "linear" and not how.antialias:
        centres = np.clip(centres, 0, one.extent - 1)
    places = np.floor(centres) + np.arange(1 - ceil(reach), 1 + ceil(reach))[:, None]
    weights = _kernel((places - centres) * step, how)
    weights = weights * ((places >= 0) & (places < one.extent)) if how.exclude_outside else weights
    if how.antialias:  # what is beyond the reach is no tap
        is_tap = (places > centres - reach) & (places <= centres + reach)
        places = np.where(is_tap, places, np.floor(centres))
    return np.clip(places, 0, one.extent - 1).astype(np.int64), weights / weights.sum(axis=0)


def _kernel(distance: Any, how: Mode) -> Any:
    t, a = np.abs(distance), how.cubic_a
    if how.mode == "linear":
        return np.clip(1 - t, 0, None)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((t - 5) * t + 8) * t * a - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


define("Resize", upsample_meaning, upsample_lower, since=10)
define("Resize", meaning, lower, since=11)
define("Upsample", fixed_meaning, fixed_lower, since=7)
define("Upsample", upsample_meaning, upsample_lower, since=9)
