"""ReduceSum, ReduceMean, ReduceMax, ... of ONNX: with axes as an attribute, and later as an operand.

L1 = sum |x|,  L2 = sqrt(sum x^2),  SumSquare = sum x^2,  LogSum = log(sum x),  LogSumExp = m + log(sum exp(x - m)), m = max x
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.operators import reduce as reduce_operator
from tilewright.graph.scalar import Literal, Point, State, apply
from tilewright.graph.shapes import normalize_axes
from tilewright.graph.types import Reduction, StateVariable, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

AXES_AS_OPERAND = 18
"""The version from which on axes are an operand; of ReduceSum it is 13."""

_DISTANCE = apply("subtract", Point(), State("largest"))
_SHARE = apply("where", apply("equal", Point(), State("largest")), Literal(1.0), apply("exp", _DISTANCE))
LOG_SUM_EXP = Reduction(
    (
        StateVariable("largest", float("-inf"), Point(), "maximum"),
        StateVariable("total", 0.0, _SHARE, "add"),
    ),
    apply("add", State("largest"), apply("log", State("total"))),
)
"""The share of the largest element is 1, an infinite one too."""


def _log_sum_exp(x: Any, axis: Any, keepdims: bool) -> Any:
    x = x.astype(np.float64) if np.issubdtype(x.dtype, np.integer) else x
    with np.errstate(all="ignore"):
        largest = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
        anchor = np.where(np.isfinite(largest), largest, 0).astype(x.dtype)
        total = np.log(np.sum(np.exp(x - anchor), axis=axis, keepdims=True)) + anchor
    return total if keepdims else total.reshape(_without(total.shape, axis))


def _without(shape: Sequence[int], axis: Sequence[int]) -> tuple[int, ...]:
    return tuple(extent for d, extent in enumerate(shape) if d not in axis)


def _extreme(function: Callable[..., Any], sign: int) -> Callable[..., Any]:
    def evaluate(x: Any, axis: Any, keepdims: bool) -> Any:
        return function(x, axis=axis, keepdims=keepdims, initial=_least(x.dtype, sign))

    return evaluate


def _least(dtype: np.dtype[Any], sign: int) -> Any:
    """What the maximum (sign -1) or the minimum (sign 1) of nothing is."""
    if dtype.kind == "b":
        return sign > 0
    if np.issubdtype(dtype, np.integer):
        return np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min
    return dtype.type(sign * np.inf)


def _by(function: Callable[..., Any], before: Callable[..., Any] | None = None, after: Callable[..., Any] | None = None) -> Any:
    def evaluate(x: Any, axis: Any, keepdims: bool) -> Any:
        with np.errstate(all="ignore"):
            total = function(x if before is None else before(x), axis=axis, keepdims=keepdims)
            return total if after is None else after(total)

    return evaluate


def _mean(x: Any, axis: Sequence[int], keepdims: bool) -> Any:
    """NaN where there are no elements, without a warning."""
    count = math.prod(x.shape[d] for d in axis)
    with np.errstate(all="ignore"):
        return np.divide(np.sum(x, axis=axis, keepdims=keepdims, dtype=None if x.dtype.kind == "f" else np.float64), count)


NUMPY = {
    "Sum": _by(np.sum),
    "Mean": _mean,
    "Prod": _by(np.prod),
    "Max": _extreme(np.max, -1),
    "Min": _extreme(np.min, 1),
    "L1": _by(np.sum, np.abs),
    "L2": _by(np.sum, np.square, np.sqrt),
    "SumSquare": _by(np.sum, np.square),
    "LogSum": _by(np.sum, None, np.log),
    "LogSumExp": _log_sum_exp,
}
"""(elements, axes, keepdims) -> result, in any precision."""


def _chosen(name: str, axes: Sequence[int] | None, rank: int, noop_with_empty_axes: int) -> tuple[int, ...]:
    """The dimensions to reduce: where none is named all of them, or none."""
    if not axes:
        return () if noop_with_empty_axes else tuple(range(rank))
    return normalize_axes(list(axes), rank, f"Reduce{name}")


def evaluated(name: str, x: Any, axes: Sequence[int] | None, keepdims: int, noop_with_empty_axes: int) -> Any:
    """A reduction by NumPy; integers and float16 stay what they are."""
    chosen = _chosen(name, axes, x.ndim, noop_with_empty_axes)
    wide = x.astype(np.float32) if x.dtype.name in ("float16", "bfloat16") else x
    return np.asarray(NUMPY[name](wide, chosen, bool(keepdims))).astype(x.dtype)


def lowered(
    builder: Builder, name: str, x: Tensor, axes: Sequence[int] | None, keepdims: int, noop_with_empty_axes: int
) -> Tensor:
    """A reduction, with maps before and behind it."""
    chosen = _chosen(name, axes, len(x.shape), noop_with_empty_axes)
    if name in ("L2", "LogSum", "LogSumExp") and "float" not in x.dtype:
        raise UnsupportedOperation(f"Reduce{name} of {x.dtype} in generated code")
    if any(x.shape[axis] == 0 for axis in chosen):
        raise UnsupportedOperation(f"Reduce{name} of no elements in generated code")
    if x.dtype == "bool":
        whole = lowered(builder, name, builder.cast(x, "int32"), axes, keepdims, noop_with_empty_axes)
        return builder.map("not_equal", whole, 0.0, dtype="bool")
    if name in ("Sum", "Mean", "Prod", "Max", "Min"):
        return builder.reduce(name.lower(), x, chosen, keepdims=bool(keepdims)) if chosen else x
    if name == "LogSumExp" and chosen:
        return builder.record(_log_sum_exp_operator, x, chosen, bool(keepdims), kind="log_sum_exp")
    before = {"L1": "abs", "L2": "square", "SumSquare": "square", "LogSumExp": "exp"}.get(name)
    after = {"L2": "sqrt", "LogSum": "log", "LogSumExp": "log"}.get(name)
    result = builder.map(before, x) if before else x
    result = builder.reduce("sum", result, chosen, keepdims=bool(keepdims)) if chosen else result
    return builder.map(after, result) if after else result


def _log_sum_exp_operator(x: Tensor, axes: Sequence[int], keepdims: bool, *, name: str, result: str) -> Any:
    from dataclasses import replace

    operator, tensor = reduce_operator.reduce("sum", x, axes, keepdims, name=name, result=result)
    return replace(operator, kind="log_sum_exp", reduction=LOG_SUM_EXP), tensor


def _list(axes: Any) -> list[int] | None:
    return None if axes is None else [int(axis) for axis in np.asarray(axes).reshape(-1)]


def _define(name: str, since: int) -> None:
    """Both forms of one reduction."""

    def attribute_meaning(x: Any, *, axes: Any = None, keepdims: int = 1) -> Any:
        """Over the dimensions that an attribute names, or all."""
        return evaluated(name, x, _list(axes), keepdims, 0)

    def attribute_lower(builder: Builder, x: Tensor, *, axes: Any = None, keepdims: int = 1) -> Tensor:
        return lowered(builder, name, x, _list(axes), keepdims, 0)

    def meaning(x: Any, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Any:
        """Over the dimensions that an operand names, or all; or none, if that is said."""
        return evaluated(name, x, _list(axes), keepdims, noop_with_empty_axes)

    def lower(
        builder: Builder, x: Tensor, axes: Tensor | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Tensor:
        chosen = None if axes is None else _list(builder.contents(axes))
        return lowered(builder, name, x, chosen, keepdims, noop_with_empty_axes)

    define(f"Reduce{name}", attribute_meaning, attribute_lower)
    define(f"Reduce{name}", meaning, lower, since=since)


for _name in NUMPY:
    _define(_name, 13 if _name == "Sum" else AXES_AS_OPERAND)
