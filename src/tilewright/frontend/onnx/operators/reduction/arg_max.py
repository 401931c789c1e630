"""ArgMax and ArgMin: the position of the largest or smallest element along an axis, the first or the last of equal ones.

A reduction with two states: the extreme, then the least (or greatest) position at which it stands. A NaN is an extreme.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.index import axis as axis_index
from tilewright.graph.index import constant
from tilewright.graph.scalar import AxisValue, Literal, Load, Point, State, apply
from tilewright.graph.shapes import normalize_axis, shape_text
from tilewright.graph.types import Access, Axis, AxisKind, Operator, Reduction, StateVariable, Tensor


@dataclass(frozen=True, slots=True)
class ArgExtreme:
    """The position of the extreme of every row."""

    function: str
    """`maximum` or `minimum`."""
    _: KW_ONLY
    axis: int = 0
    keepdims: int = 1
    select_last_index: int = 0

    def reference(self, x: Any) -> Any:
        axis = normalize_axis(self.axis, x.ndim, "ArgMax")
        if x.shape[axis] == 0:
            raise ShapeError("the extreme of no elements", where=f"ArgMax or ArgMin of {x.shape} along axis {axis}")
        position_of = np.argmax if self.function == "maximum" else np.argmin
        positions = position_of(np.flip(x, axis) if self.select_last_index else x, axis=axis)
        positions = x.shape[axis] - 1 - positions if self.select_last_index else positions
        return np.asarray(np.expand_dims(positions, axis) if self.keepdims else positions, np.int64)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        axis = normalize_axis(self.axis, len(x.shape), "ArgMax")
        extent = x.shape[axis]
        if extent == 0:
            raise ShapeError("the extreme of no elements", where=f"ArgMax or ArgMin of {shape_text(x.shape)} along axis {axis}")
        if (extent if isinstance(extent, int) else extent.high) > LARGEST_WHOLE:
            raise UnsupportedOperation(f"ArgMax or ArgMin along {extent} elements in generated code")
        is_last = bool(self.select_last_index)
        return builder.record(_position_of, self.function, x, axis, bool(self.keepdims), is_last, kind="position")


def _position_of(
    function: str, x: Tensor, axis: int, keepdims: bool, last: bool, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """The position of the `maximum` or `minimum` along `axis`."""
    axes = tuple(
        Axis(f"d{d}", extent, AxisKind.REDUCTION if d == axis else AxisKind.PARALLEL) for d, extent in enumerate(x.shape)
    )
    indices = tuple(axis_index(a.name) for a in axes)
    kept = [(constant(0), 1) if d == axis else (index, x.shape[d]) for d, index in enumerate(indices)]
    kept = kept if keepdims else [pair for d, pair in enumerate(kept) if d != axis]
    extent = x.shape[axis]
    reduction = _extreme_and_position(function, f"d{axis}", extent if isinstance(extent, int) else extent.high, last)
    write = Access(result, tuple(index for index, _ in kept))
    operator = Operator(name, "position", axes, (Access(x.name, indices),), write, Load(0), reduction, accumulator_of(x.dtype))
    return operator, Tensor(result, tuple(extent for _, extent in kept), "int64")


def _extreme_and_position(function: str, axis: str, extent: int, last: bool) -> Reduction:
    start = float("-inf") if function == "maximum" else float("inf")
    is_nan = apply("not_equal", Point(), Point())
    is_extreme = apply("logical_or", apply("equal", Point(), State("extreme")), is_nan)
    nowhere = 0.0 if last else float(extent)
    position = StateVariable(
        "position",
        nowhere,
        apply("where", is_extreme, AxisValue(axis), Literal(nowhere)),
        "maximum" if last else "minimum",
    )
    return Reduction((StateVariable("extreme", start, Point(), function), position), State("position"))


define("ArgMax", ArgExtreme, "maximum")
define("ArgMin", ArgExtreme, "minimum")
