"""Reductions over axes, and what else combines the elements along an axis.

ReduceSum, ReduceMean, ReduceMax, ...: with axes as an attribute, and in later versions as an operand.

L1 = sum |x|,  L2 = sqrt(sum x^2),  SumSquare = sum x^2,  LogSum = log(sum x),  LogSumExp = m + log(sum exp(x - m)), m = max x

ArgMax and ArgMin: the position of the largest or smallest element along an axis, the first or the last of equal ones.

TopK: the largest or smallest elements along an axis and their positions; of equal ones the first come first.

CumSum and CumProd: of every element and those before it along an axis.

Generated code reduces, for every position, the elements up to it behind a guard. That is quadratic work, so only short axes are
compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, define, onnx_operator
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import REDUCTIONS, combined
from tilewright.graph.builders.reductions import cumulated, log_sum_exp, position_of_extreme
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.expressions.extents import largest_extent
from tilewright.graph.expressions.scalar_functions import FUNCTIONS
from tilewright.graph.shapes import normalize_axes, normalize_axis, shape_text
from tilewright.graph.types import Tensor
from tilewright.records import record

LOG_SUM_EXP_NAME = "ReduceLogSumExp"


@record
class Formula:
    """What is computed of the elements: `after(reduction(before(x)))`."""

    reduction: str = "sum"
    before: str = ""
    after: str = ""

    def numpy(self, x: Any, axis: Sequence[int], keepdims: bool) -> Any:
        """Of arrays, in any precision."""
        with np.errstate(all="ignore"):
            elements = FUNCTIONS[self.before].numpy(x) if self.before else x
            total = _NUMPY[self.reduction](elements, axis=axis, keepdims=keepdims)
            return FUNCTIONS[self.after].numpy(total) if self.after else total


@record
class Reduce:
    """Over the dimensions that an operand names, or all; or none, if that is said."""

    name: str
    """Of a formula."""
    _: KW_ONLY
    keepdims: int = 1
    noop_with_empty_axes: int = 0

    def reference(self, x: Any, axes: Any = None) -> Any:
        """By NumPy; integers and float16 stay what they are."""
        wide = x.astype(np.float32) if x.dtype.name in ("float16", "bfloat16") else x
        chosen = self._chosen(axes, x.ndim)
        formula = _log_sum_exp if self.name == LOG_SUM_EXP_NAME else FORMULAS[self.name].numpy
        return np.asarray(formula(wide, chosen, bool(self.keepdims))).astype(x.dtype)

    def lower(self, builder: Builder, x: Tensor, axes: Tensor | None = None) -> Tensor:
        """A reduction, with maps before and behind it."""
        chosen = self._chosen(None if axes is None else builder.constant_value(axes), len(x.shape))
        if FORMULAS[self.name].after and "float" not in x.dtype:
            raise UnsupportedOperation(f"{self.name} of {x.dtype} in generated code")
        if any(x.shape[axis] == 0 for axis in chosen):
            raise UnsupportedOperation(f"{self.name} of no elements in generated code")
        if x.dtype != "bool":
            return self._lowered(builder, x, chosen)
        return builder.map("not_equal", self._lowered(builder, builder.cast(x, "int32"), chosen), 0.0, dtype="bool")

    def _chosen(self, axes: Any, rank: int) -> tuple[int, ...]:
        """The dimensions to reduce: where none is named all of them, or none."""
        named = [] if axes is None else [int(axis) for axis in np.asarray(axes).reshape(-1)]
        return () if self.noop_with_empty_axes and not named else normalize_axes(named or None, rank, self.name)

    def _lowered(self, builder: Builder, x: Tensor, axes: tuple[int, ...]) -> Tensor:
        formula, keepdims = FORMULAS[self.name], bool(self.keepdims)
        if self.name == LOG_SUM_EXP_NAME and axes:
            return builder.record(log_sum_exp, x, axes, keepdims, kind="log_sum_exp")
        result = builder.map(formula.before, x) if formula.before else x
        result = builder.reduce(formula.reduction, result, axes, keepdims=keepdims) if axes else result
        return builder.map(formula.after, result) if formula.after else result


def _log_sum_exp(x: Any, axis: Sequence[int], keepdims: bool) -> Any:
    x = x.astype(np.float64) if np.issubdtype(x.dtype, np.integer) else x
    with np.errstate(all="ignore"):
        largest = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
        anchor = np.where(np.isfinite(largest), largest, 0).astype(x.dtype)
        total = np.log(np.sum(np.exp(x - anchor), axis=axis, keepdims=True)) + anchor
    return total if keepdims else total.reshape([extent for d, extent in enumerate(total.shape) if d not in axis])


def _least(dtype: np.dtype[Any], sign: int) -> Any:
    """What the maximum (sign -1) or the minimum (sign 1) of nothing is."""
    if dtype.kind == "b":
        return sign > 0
    if np.issubdtype(dtype, np.integer):
        return np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min
    return dtype.type(sign * np.inf)


def _mean(x: Any, axis: Sequence[int], keepdims: bool) -> Any:
    """NaN where there are no elements, without a warning."""
    count = math.prod(x.shape[d] for d in axis)
    with np.errstate(all="ignore"):
        return np.divide(np.sum(x, axis=axis, keepdims=keepdims, dtype=None if x.dtype.kind == "f" else np.float64), count)


_NUMPY: Mapping[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": _mean,
    "prod": np.prod,
    "max": lambda x, **over: np.max(x, initial=_least(x.dtype, -1), **over),
    "min": lambda x, **over: np.min(x, initial=_least(x.dtype, 1), **over),
}
FORMULAS: Mapping[str, Formula] = {
    "ReduceSum": Formula(),
    "ReduceMean": Formula("mean"),
    "ReduceProd": Formula("prod"),
    "ReduceMax": Formula("max"),
    "ReduceMin": Formula("min"),
    "ReduceL1": Formula(before="abs"),
    "ReduceL2": Formula(before="square", after="sqrt"),
    "ReduceSumSquare": Formula(before="square"),
    "ReduceLogSum": Formula(after="log"),
    LOG_SUM_EXP_NAME: Formula(before="exp", after="log"),
}

for _name in FORMULAS:
    define(_name, Reduce, _name, by_attribute={"axes": None})
    define(_name, Reduce, _name, since=13 if _name == "ReduceSum" else 18)


@record
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
        reduction = position_of_extreme(self.function, f"d{axis}", largest_extent(extent), bool(self.select_last_index))
        return builder.record(combined, "position", x, (axis,), bool(self.keepdims), reduction, "int64", kind="position")


@onnx_operator("TopK", by_attribute={"k": MISSING})
@onnx_operator("TopK", since=10)
class TopK(SchemaAttributes):
    """Values and positions, always sorted."""

    largest = 1
    """Before opset 11."""

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


@record
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
        return builder.record(cumulated, self.function, x, along, bool(self.exclusive), bool(self.reverse), kind=kind)


define("ArgMax", ArgExtreme, "maximum")
define("ArgMin", ArgExtreme, "minimum")
define("CumSum", Cumulate, "sum", since=11)
define("CumProd", Cumulate, "prod", since=26)
