"""What combines the elements along an axis: ArgMax, ArgMin, TopK, CumSum and CumProd.

ArgMax and ArgMin: the position of the largest or smallest element along an axis, the first or the last of equal ones.

A reduction with two states: the extreme, then the least (or greatest) position at which it stands. A NaN is an extreme.

TopK: the largest or smallest elements along an axis and their positions; of equal ones the first come first.

CumSum and CumProd: of every element and those before it along an axis.

Generated code reduces, for every position, the elements up to it behind a guard. That is quadratic work, so only short axes are
compiled.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, MISSING, dataclass, replace
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import REDUCTIONS, combined, map_of, points
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.extents import largest_extent
from tilewright.graph.index import Index
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import AxisValue, Literal, Load, Point, State, apply
from tilewright.graph.shapes import normalize_axis, shape_text
from tilewright.graph.types import Access, Axis, AxisKind, Guard, Operator, Reduction, StateVariable, Tensor


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
        if largest_extent(extent) > LARGEST_WHOLE:
            raise UnsupportedOperation(f"ArgMax or ArgMin along {extent} elements in generated code")
        reduction = _extreme_and_position(self.function, f"d{axis}", largest_extent(extent), bool(self.select_last_index))
        return builder.record(combined, "position", x, (axis,), bool(self.keepdims), reduction, "int64", kind="position")


def _extreme_and_position(function: str, axis: str, extent: int, last: bool) -> Reduction:
    start = float("-inf") if function == "maximum" else float("inf")
    is_nan = apply("not_equal", Point(), Point())
    is_extreme = apply("logical_or", apply("equal", Point(), State("extreme")), is_nan)
    nowhere = 0.0 if last else float(extent)
    place = apply("where", is_extreme, AxisValue(axis), Literal(nowhere))
    position = StateVariable("position", nowhere, place, "maximum" if last else "minimum")
    return Reduction((StateVariable("extreme", start, Point(), function), position), State("position"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TopK:
    """Values and positions, always sorted."""

    axis: int = -1
    largest: int = 1
    sorted: int = 1

    def reference(self, x: Any, k: Any) -> Any:
        axis, count = normalize_axis(self.axis, x.ndim, "TopK"), int(np.asarray(k).reshape(-1)[0])
        if not 0 <= count <= x.shape[axis]:
            raise ShapeError(f"the top {count} of {x.shape[axis]} elements", where=f"TopK of {x.shape} along axis {axis}")
        if self.largest:
            backwards = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
            order = x.shape[axis] - 1 - np.flip(backwards, axis)
        else:
            order = np.argsort(x, axis=axis, kind="stable")
        chosen = np.take(order, np.arange(count), axis=axis)
        return np.take_along_axis(x, chosen, axis), chosen.astype(np.int64)


LONGEST = 64
"""Elements along the axis up to which every sum is made anew."""


@dataclass(frozen=True, slots=True)
class Cumulate:
    """The sums or products up to each position, or from it on; without its own element if `exclusive`."""

    function: str
    """`sum` or `prod`."""
    _: KW_ONLY
    exclusive: int = 0
    reverse: int = 0

    def reference(self, x: Any, axis: Any) -> Any:
        along = normalize_axis(int(np.asarray(axis).reshape(-1)[0]), x.ndim, "CumSum")
        x = np.flip(x, along) if self.reverse else x
        if self.exclusive and x.shape[along]:
            first = np.full_like(np.take(x, [0], axis=along), REDUCTIONS[self.function].states[0].identity)
            x = np.concatenate([first, np.take(x, np.arange(x.shape[along] - 1), axis=along)], axis=along)
        total = np.asarray((np.cumsum if self.function == "sum" else np.cumprod)(x, axis=along, dtype=x.dtype))
        return np.flip(total, along) if self.reverse else total

    def lower(self, builder: Builder, x: Tensor, axis: Tensor) -> Tensor:
        """A reduction behind a guard."""
        kind = f"cum{self.function}"
        along = normalize_axis(int(builder.constant_value(axis).reshape(-1)[0]), len(x.shape), kind)
        extent = x.shape[along]
        if not isinstance(extent, int) or extent > LONGEST:
            raise UnsupportedOperation(f"{kind} along {extent} elements in generated code", why=f"at most {LONGEST} are")
        return builder.record(_cumulated, self.function, x, along, bool(self.exclusive), bool(self.reverse), kind=kind)


def _cumulated(
    function: str, x: Tensor, axis: int, exclusive: bool, reverse: bool, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    outputs, taken = points(len(x.shape)), axis_index("k")
    ahead: Index = taken - outputs[axis] if reverse else outputs[axis] - taken
    indices = tuple(taken if d == axis else index for d, index in enumerate(outputs))
    guard = Guard((ahead - 1 if exclusive else ahead,), 0.0 if function == "sum" else 1.0)
    operator, tensor = map_of(f"cum{function}", x.shape, [Access(x.name, indices, guard)], Load(0), x.dtype, name, result)
    axes = (*operator.axes, Axis("k", x.shape[axis], AxisKind.REDUCTION))
    return replace(operator, axes=axes, reduction=REDUCTIONS[function]), tensor


define("ArgMax", ArgExtreme, "maximum")
define("ArgMin", ArgExtreme, "minimum")
define("TopK", TopK, by_attribute={"k": MISSING})
define("TopK", TopK, since=10)
define("CumSum", Cumulate, "sum", since=11)
define("CumProd", Cumulate, "prod", since=26)
