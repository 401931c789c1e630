"""Resize: a tensor interpolated at other positions along its axes; Upsample, and Resize without attributes: at o / scale.

Along dimensions that are known at run time only, positions are computed by kernels, and looked up. They are float32 as those of
`interpolation.positions`, by the same operations in the same order: nearest elements are the same. Extents below 2^24 are exact
in float32, and so are quotients of two of them but for one rounding. The weights of linear taps differ by a rounding of the
position, where a division by a number is a product with its reciprocal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, replace
from functools import cache
from math import floor, prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import onnx_operator
from tilewright.frontend.onnx.operators.image import interpolation
from tilewright.frontend.onnx.operators.image.interpolation import BEFORE_11, Mode, Resampling
from tilewright.frontend.onnx.operators.operands import Call, Composed, Known
from tilewright.frontend.onnx.sizes import MOST_ELEMENTS
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import copy_of, map_of, points
from tilewright.graph.builders.reshape import gather
from tilewright.graph.expressions import extents as arithmetic
from tilewright.graph.expressions.extents import Extent, SymbolicExtent, largest_extent, least_extent, minus
from tilewright.graph.expressions.index import floordiv
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, Scalar, apply, scalar_of, with_loads
from tilewright.graph.shapes import are_known, normalize_axis, shape_text
from tilewright.graph.types import Operator, Tensor
from tilewright.records import record

MOST_OUTPUTS = 1 << 24
"""Positions of longer results are no exact numbers in float32."""
HALF = Literal(0.5)


@record
class RunTimeResampling:
    """How an axis is resized: its scale is a number, or the quotient of its extents where it is None."""

    extent: Extent
    output: Extent
    scale: float | None = None

    @classmethod
    def by(cls, extent: Extent, scale: float) -> RunTimeResampling:
        """By a scale, rounded to float32 as scales are: floor(extent * scale) outputs, exactly.

        >>> from tilewright.graph.expressions.extents import SymbolicExtent
        >>> str(RunTimeResampling.by(SymbolicExtent("s", 1, 64, 32), 1.5).output)
        '(3*s)//2'
        """
        numerator, denominator = float(np.float32(scale)).as_integer_ratio()
        return cls(extent, arithmetic.quotient(arithmetic.times(extent, numerator), denominator), float(scale))

    @property
    def is_identity(self) -> bool:
        """Whether results are the elements themselves."""
        return self.extent == self.output and self.scale in (None, 1.0)

    def factor(self) -> int | None:
        """The whole number of outputs of every element; None where it is none, or not known."""
        found = arithmetic.exact_quotient(self.output, self.extent)
        is_scale = self.scale is None or self.scale == found
        return found if isinstance(found, int) and is_scale else None


def run_time_lowered(builder: Builder, x: Tensor, found: Mapping[int, RunTimeResampling], how: Mode) -> Tensor:
    """The resized tensor. Raises `UnsupportedOperation` for what needs extents: cubic taps, antialiasing, symmetric positions."""
    if how.mode not in ("nearest", "linear") or how.antialias:
        raise UnsupportedOperation(f"Resize by {how.mode} taps of dimensions known at run time only", where="Resize")
    for d, resampling in found.items():
        if largest_extent(resampling.output) > MOST_OUTPUTS:
            text = f"Resize to {resampling.output} elements"
            raise UnsupportedOperation(text, where="Resize", why="they are too many to count")
        if not resampling.is_identity:
            x = (_nearest if how.mode == "nearest" else _linear)(builder, x, d, resampling, how)
    return x


def _nearest(builder: Builder, x: Tensor, d: int, resampling: RunTimeResampling, how: Mode) -> Tensor:
    factor = resampling.factor()
    if factor is not None and _repeats(factor, largest_extent(resampling.extent), how):
        return builder.record(_repeated, x, d, factor, resampling.output, kind="resize")
    rounded = interpolation.ROUNDED.get(interpolation.nearest_mode(how.nearest_mode, resampling.scale))
    if rounded is None:
        raise UnsupportedOperation(f"Resize with nearest_mode {how.nearest_mode!r}", where="Resize")
    position = _position(resampling, how.coordinate_transformation_mode)
    places = _held(with_loads(rounded, {0: position}), resampling.extent)
    nearest = builder.cast(builder.record(_along, places, resampling.output, kind="nearest"), "int64")
    return builder.record(gather, x, nearest, d, kind="gather")


def _linear(builder: Builder, x: Tensor, d: int, resampling: RunTimeResampling, how: Mode) -> Tensor:
    """y = x[p] + w (x[p + 1] - x[p]) written as (1 - w) x[p] + w x[p + 1]: NaN and infinities show where they are taps."""
    if "float" not in x.dtype:
        raise UnsupportedOperation(f"Resize by linear of {x.dtype} in generated code", where="Resize")
    centre = _held(_position(resampling, how.coordinate_transformation_mode), resampling.extent)
    first = apply("floor", centre)
    share = builder.record(_along, apply("subtract", centre, first), resampling.output, kind="share")
    share = builder.reshape(builder.cast(share, x.dtype), (resampling.output, *(1,) * (len(x.shape) - 1 - d)))
    taps = []
    for place in (first, _held(apply("add", first, Literal(1.0)), resampling.extent)):
        places = builder.cast(builder.record(_along, place, resampling.output, kind="taps"), "int64")
        taps.append(builder.record(gather, x, places, d, kind="gather"))
    near = apply("multiply", apply("subtract", Literal(1.0), Load(0)), Load(1))
    return builder.body(apply("add", near, apply("multiply", Load(0), Load(2))), share, *taps, kind="resize")


def _along(value: Scalar, extent: Extent, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """A number for every position of an axis d0."""
    return map_of("positions", (extent,), (), value, "float32", name, result)


def _position(resampling: RunTimeResampling, transformation: str) -> Scalar:
    """Where the output at position d0 lies in the input."""
    output = AxisValue("d0")
    if transformation == "align_corners":
        if resampling.scale is not None and not float(resampling.scale).is_integer():
            raise UnsupportedOperation(f"Resize by {resampling.scale} with aligned corners", where="Resize")
        last = apply("maximum", scalar_of(minus(resampling.output, 1)), Literal(1.0))
        return apply("divide", apply("multiply", output, scalar_of(minus(resampling.extent, 1))), last)
    scale = Literal(float(np.float32(resampling.scale))) if resampling.scale is not None else _ratio(resampling)
    centred = apply("divide", apply("add", output, HALF), scale)
    match transformation:
        case "asymmetric":
            return apply("divide", output, scale)
        case "tf_half_pixel_for_nn":
            return apply("where", apply("equal", scale, Literal(1.0)), output, centred)
        case "half_pixel":
            return apply("subtract", centred, HALF)
        case "pytorch_half_pixel":
            is_many = apply("less", Literal(1.0), scalar_of(resampling.output))
            return apply("where", is_many, apply("subtract", centred, HALF), output)
    why = "kernels compute positions of other transformations for extents that are known"
    raise UnsupportedOperation(f"Resize by {transformation!r} along a dimension known at run time only", where="Resize", why=why)


def _ratio(resampling: RunTimeResampling) -> Scalar:
    return apply("divide", scalar_of(resampling.output), scalar_of(resampling.extent))


def _held(position: Scalar, extent: Extent) -> Scalar:
    """A position inside of a dimension."""
    return apply("maximum", apply("minimum", position, scalar_of(minus(extent, 1))), Literal(0.0))


@cache
def _repeats(factor: int, most: int, how: Mode) -> bool:
    """Whether output o is element o // factor, of all images of at most so many elements.

    Assumption: positions depend on the scale alone, so that a prefix of the longest image's has those of a shorter image.
    """
    if how.coordinate_transformation_mode not in ("asymmetric", "half_pixel", "pytorch_half_pixel"):
        return False
    nearest = interpolation.nearest_positions(Resampling(most, most * factor, float(factor)), how)
    return bool(np.array_equal(nearest, np.arange(most * factor) // factor))


def _repeated(x: Tensor, d: int, factor: int, output: Extent, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Every element of a dimension `factor` times."""
    shape = (*x.shape[:d], output, *x.shape[d + 1 :])
    places = [floordiv(index, factor) if dimension == d else index for dimension, index in enumerate(points(len(shape)))]
    return copy_of("resize", x, shape, places, name, result)


@onnx_operator("Resize", since=11)
class Resize(Mode):
    """A tensor of `sizes`, or `scales` times as large, along `axes`."""

    axes: Sequence[int] | None = None
    extrapolation_value: float = 0.0
    keep_aspect_ratio_policy: str = "stretch"

    def reference(self, x: Any, roi: Any = None, scales: Any = None, sizes: Any = None) -> Any:
        given = (None if operand is None else np.reshape(operand, -1).tolist() or None for operand in (scales, sizes, roi))
        return interpolation.resized(x, self._resamplings(x.shape, *given), self, self.extrapolation_value)

    def lower(
        self, builder: Builder, x: Tensor, roi: Tensor | None = None, scales: Tensor | None = None, sizes: Tensor | None = None
    ) -> Tensor:
        """Index changes and look-ups where the nearest elements are wanted, else one map of the taps per axis.

        Axes of known extents and sizes are resized first.
        """
        given = (None if operand is None else builder.constant_value(operand) for operand in (scales, sizes))
        factors, extents = (None if values is None else values.reshape(-1).tolist() or None for values in given)
        if self.coordinate_transformation_mode == "tf_crop_and_resize":
            why = "elements outside have a value of their own"
            raise UnsupportedOperation("Resize of a part of a tensor", where="Resize", why=why)
        along, wanted = self._along(x.shape, factors, extents)
        known = [place for place, d in enumerate(along) if are_known((x.shape[d], wanted[place]))]
        if len(known) == len(along):
            return interpolation.lowered(builder, x, self._resamplings(x.shape, factors, extents), self)
        if self.keep_aspect_ratio_policy != "stretch":
            text = f"Resize of {shape_text(x.shape)} with the policy {self.keep_aspect_ratio_policy!r}"
            raise UnsupportedOperation(text, where="Resize")
        fixed, some = replace(self, axes=tuple(along[place] for place in known)), [wanted[place] for place in known]
        chosen = (some, None) if factors is not None else (None, some)
        y = interpolation.lowered(builder, x, fixed._resamplings(x.shape, *chosen), self)
        make = RunTimeResampling if factors is None else RunTimeResampling.by
        found = {d: make(x.shape[d], wanted[place]) for place, d in enumerate(along) if place not in known}
        return run_time_lowered(builder, y, found, self)

    def _along(self, shape: Sequence[Any], scales: Any, sizes: Any) -> tuple[list[int], Any]:
        """The axes, and the scale or size of each. Raises `ShapeError` where they do not fit."""
        rank, axes = len(shape), self.axes
        along = list(range(rank)) if axes is None else [normalize_axis(axis, rank, where="Resize") for axis in axes]
        wanted = sizes if scales is None else scales
        text = f"Resize of {shape_text(shape)} to {wanted}"
        if wanted is None or len(wanted) != len(along) or (scales is not None and sizes is not None):
            raise ShapeError(text, where="Resize", why="either scales or sizes are given, one for every axis")
        if not all(least_extent(n) > 0 if isinstance(n, SymbolicExtent) else n > 0 for n in wanted):
            raise ShapeError(text, where="Resize", why="scales, sizes and extents are positive")
        return along, wanted

    def _resamplings(self, shape: Sequence[Any], scales: Any, sizes: Any, roi: Any = None) -> dict[int, Resampling]:
        """How every axis is resized that is named; raises `ShapeError`."""
        along, wanted = self._along(shape, scales, sizes)
        text = f"Resize of {shape_text(shape)} to {wanted}"
        if any(shape[d] < 1 for d in along):
            raise ShapeError(text, where="Resize", why="scales, sizes and extents are positive")
        extents = [int(shape[d]) for d in along]
        factors, outputs = _factors(extents, scales, sizes, self.keep_aspect_ratio_policy)
        if prod(outputs) > MOST_ELEMENTS:
            raise UnsupportedOperation(text, where="Resize", why="it is absurdly large")
        half, is_cropped = len(along), roi and self.coordinate_transformation_mode == "tf_crop_and_resize"
        crops = [(roi[i], roi[i + half]) if is_cropped else (0.0, 1.0) for i in range(half)]
        found = zip(along, extents, outputs, factors, crops, strict=True)
        return {d: Resampling(extent, output, factor, crop) for d, extent, output, factor, crop in found}


def _factors(extents: Sequence[int], scales: Any, sizes: Any, policy: str) -> tuple[list[float], list[int]]:
    if scales is not None:
        return [float(s) for s in scales], [floor(e * float(np.float32(s))) for e, s in zip(extents, scales, strict=True)]
    factors = [int(s) / e for e, s in zip(extents, sizes, strict=True)]
    if policy == "stretch":
        return factors, [int(s) for s in sizes]
    common = min(factors) if policy == "not_larger" else max(factors)
    return [common] * len(factors), [floor(common * e + 0.5) for e in extents]


@onnx_operator("Resize", since=10)
@onnx_operator("Upsample", since=7, by_attribute={"scales": MISSING})
@onnx_operator("Upsample", since=9)
class ResizeBefore11(Composed):
    """A tensor `scales` times as large."""

    mode: str = "nearest"

    def composed(self, call: Call, known: Known, x: Any, scales: Any) -> Any:
        later = Resize(mode=self.mode, coordinate_transformation_mode="asymmetric", nearest_mode=BEFORE_11)
        return call(later)(x, scales=scales)
