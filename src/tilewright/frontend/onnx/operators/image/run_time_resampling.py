"""Tensors resized along dimensions that are known at run time only: positions are computed by kernels, and looked up.

Positions are float32 as those of `interpolation.positions`, by the same operations in the same order: nearest elements are the
same. Extents below 2^24 are exact in float32, and so are quotients of two of them but for one rounding. The weights of linear
taps differ by a rounding of the position, where a division by a number is a product with its reciprocal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.operators.image.interpolation import TIE, Mode, Resampling, nearest_mode, nearest_positions
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import copy_of, map_of, points
from tilewright.graph.builders.reshape import gather
from tilewright.graph.expressions.extents import Extent, exact_quotient, largest_extent, minus, quotient, times
from tilewright.graph.expressions.index import floordiv
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, Scalar, apply, scalar_of
from tilewright.graph.types import Operator, Tensor

MOST_OUTPUTS = 1 << 24
"""Positions of longer results are no exact numbers in float32."""
HALF = Literal(0.5)


@dataclass(frozen=True, slots=True)
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
        return cls(extent, quotient(times(extent, numerator), denominator), float(scale))

    @property
    def is_identity(self) -> bool:
        """Whether results are the elements themselves."""
        return self.extent == self.output and self.scale in (None, 1.0)

    def factor(self) -> int | None:
        """The whole number of outputs of every element; None where it is none, or not known."""
        found = exact_quotient(self.output, self.extent)
        is_scale = self.scale is None or self.scale == found
        return found if isinstance(found, int) and is_scale else None


def run_time_lowered(builder: Builder, x: Tensor, found: Mapping[int, RunTimeResampling], how: Mode) -> Tensor:
    """The resized tensor. Raises `UnsupportedOperation` for what needs extents: cubic taps, antialiasing, symmetric positions."""
    if how.mode not in ("nearest", "linear") or how.antialias:
        raise UnsupportedOperation(f"Resize by {how.mode} taps of dimensions known at run time only", where="Resize")
    for d, resampling in found.items():
        if largest_extent(resampling.output) > MOST_OUTPUTS:
            raise UnsupportedOperation(
                f"Resize to {resampling.output} elements", where="Resize", why="they are too many to count"
            )
        if not resampling.is_identity:
            x = (_nearest if how.mode == "nearest" else _linear)(builder, x, d, resampling, how)
    return x


def _nearest(builder: Builder, x: Tensor, d: int, resampling: RunTimeResampling, how: Mode) -> Tensor:
    factor = resampling.factor()
    if factor is not None and _repeats(factor, largest_extent(resampling.extent), how):
        return builder.record(_repeated, x, d, factor, resampling.output, kind="resize")
    rounded = _ROUNDED.get(nearest_mode(how.nearest_mode, resampling.scale))
    if rounded is None:
        raise UnsupportedOperation(f"Resize with nearest_mode {how.nearest_mode!r}", where="Resize")
    places = _held(rounded(_position(resampling, how.coordinate_transformation_mode)), resampling.extent)
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


def _nearer(place: Scalar, beside: float) -> Scalar:
    """The nearer element; so many behind the lower one at ties, as `nearest_positions` says."""
    low = apply("floor", place)
    distance = apply("abs", apply("subtract", apply("subtract", place, low), HALF))
    is_tie = apply("less_equal", distance, Literal(float(TIE)))
    return apply("where", is_tie, apply("add", low, Literal(beside)), apply("floor", apply("add", place, HALF)))


_ROUNDED: Mapping[str, Callable[[Scalar], Scalar]] = {
    "round_prefer_floor": lambda place: _nearer(place, 0.0),
    "round_prefer_ceil": lambda place: _nearer(place, 1.0),
    "floor": lambda place: apply("floor", place),
    "ceil": lambda place: apply("ceil", place),
}


@cache
def _repeats(factor: int, most: int, how: Mode) -> bool:
    """Whether output o is element o // factor, of all images of at most so many elements.

    Assumption: positions depend on the scale alone, so that a prefix of the longest image's has those of a shorter image.
    """
    if how.coordinate_transformation_mode not in ("asymmetric", "half_pixel", "pytorch_half_pixel"):
        return False
    nearest = nearest_positions(Resampling(most, most * factor, float(factor)), how)
    return bool(np.array_equal(nearest, np.arange(most * factor) // factor))


def _repeated(x: Tensor, d: int, factor: int, output: Extent, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Every element of a dimension `factor` times."""
    shape = (*x.shape[:d], output, *x.shape[d + 1 :])
    places = [floordiv(index, factor) if dimension == d else index for dimension, index in enumerate(points(len(shape)))]
    return copy_of("resize", x, shape, places, name, result)
