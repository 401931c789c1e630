"""ReduceSum, ReduceMean, ReduceMax, ...: with axes as an attribute, and in later versions as an operand.

L1 = sum |x|,  L2 = sqrt(sum x^2),  SumSquare = sum x^2,  LogSum = log(sum x),  LogSumExp = m + log(sum exp(x - m)), m = max x
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders import elementwise
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Point, State, apply
from tilewright.graph.shapes import normalize_axes
from tilewright.graph.types import Operator, Reduction, StateVariable, Tensor

_DISTANCE = apply("subtract", Point(), State("largest"))
_SHARE = apply("where", apply("equal", Point(), State("largest")), Literal(1.0), apply("exp", _DISTANCE))
LOG_SUM_EXP = Reduction(
    (StateVariable("largest", float("-inf"), Point(), "maximum"), StateVariable("total", 0.0, _SHARE, "add")),
    apply("add", State("largest"), apply("log", State("total"))),
)
"""The share of the largest element is 1, an infinite one too."""


@dataclass(frozen=True, slots=True)
class Formula:
    """What is computed of the elements: `after(reduction(before(x)))`."""

    numpy: Callable[[Any, Sequence[int], bool], Any]
    """(elements, axes, keepdims) -> result, in any precision."""
    reduction: str = "sum"
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
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
        return np.asarray(FORMULAS[self.name].numpy(wide, chosen, bool(self.keepdims))).astype(x.dtype)

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
        if self.name == "ReduceLogSumExp" and axes:
            return builder.record(_log_sum_exp_operator, x, axes, keepdims, kind="log_sum_exp")
        result = builder.map(formula.before, x) if formula.before else x
        result = builder.reduce(formula.reduction, result, axes, keepdims=keepdims) if axes else result
        return builder.map(formula.after, result) if formula.after else result


def _log_sum_exp_operator(x: Tensor, axes: Sequence[int], keepdims: bool, *, name: str, result: str) -> tuple[Operator, Tensor]:
    operator, tensor = elementwise.reduce("sum", x, axes, keepdims, name=name, result=result)
    return replace(operator, kind="log_sum_exp", reduction=LOG_SUM_EXP), tensor


def _log_sum_exp(x: Any, axis: Sequence[int], keepdims: bool) -> Any:
    x = x.astype(np.float64) if np.issubdtype(x.dtype, np.integer) else x
    with np.errstate(all="ignore"):
        largest = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
        anchor = np.where(np.isfinite(largest), largest, 0).astype(x.dtype)
        total = np.log(np.sum(np.exp(x - anchor), axis=axis, keepdims=True)) + anchor
    return total if keepdims else total.reshape([extent for d, extent in enumerate(total.shape) if d not in axis])


def _extreme(function: Callable[..., Any], sign: int) -> Callable[..., Any]:
    def evaluate(x: Any, axis: Sequence[int], keepdims: bool) -> Any:
        return function(x, axis=axis, keepdims=keepdims, initial=_least(x.dtype, sign))

    return evaluate


def _least(dtype: np.dtype[Any], sign: int) -> Any:
    """What the maximum (sign -1) or the minimum (sign 1) of nothing is."""
    if dtype.kind == "b":
        return sign > 0
    if np.issubdtype(dtype, np.integer):
        return np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min
    return dtype.type(sign * np.inf)


def _by(
    function: Callable[..., Any], before: Callable[..., Any] | None = None, after: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    def evaluate(x: Any, axis: Sequence[int], keepdims: bool) -> Any:
        with np.errstate(all="ignore"):
            total = function(x if before is None else before(x), axis=axis, keepdims=keepdims)
            return total if after is None else after(total)

    return evaluate


def _mean(x: Any, axis: Sequence[int], keepdims: bool) -> Any:
    """NaN where there are no elements, without a warning."""
    count = math.prod(x.shape[d] for d in axis)
    with np.errstate(all="ignore"):
        return np.divide(np.sum(x, axis=axis, keepdims=keepdims, dtype=None if x.dtype.kind == "f" else np.float64), count)


FORMULAS: Mapping[str, Formula] = {
    "ReduceSum": Formula(_by(np.sum)),
    "ReduceMean": Formula(_mean, "mean"),
    "ReduceProd": Formula(_by(np.prod), "prod"),
    "ReduceMax": Formula(_extreme(np.max, -1), "max"),
    "ReduceMin": Formula(_extreme(np.min, 1), "min"),
    "ReduceL1": Formula(_by(np.sum, np.abs), before="abs"),
    "ReduceL2": Formula(_by(np.sum, np.square, np.sqrt), before="square", after="sqrt"),
    "ReduceSumSquare": Formula(_by(np.sum, np.square), before="square"),
    "ReduceLogSum": Formula(_by(np.sum, None, np.log), after="log"),
    "ReduceLogSumExp": Formula(_log_sum_exp, before="exp", after="log"),
}

for _name in FORMULAS:
    define(_name, Reduce, _name, by_attribute={"axes": None})
    define(_name, Reduce, _name, since=13 if _name == "ReduceSum" else 18)
