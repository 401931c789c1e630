"""Reductions along dimensions: sums, products, extremes and where they are, truth values, moments, vector norms.

Halves are summed in float32 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.element_types import wide_type
from tilewright.frontend.torch.filled import filled
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.elementwise import IS_TRUE, combined, has_simple_power, power_body
from tilewright.graph.builders.reductions import log_sum_exp, position_of_extreme, variance
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.expressions.extents import largest_extent, times
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.shapes import normalize_axes, normalize_axis
from tilewright.graph.types import Tensor

OF_NOTHING = {"sum": 0.0, "prod": 1.0, "mean": math.nan, "variance": math.nan, "log_sum_exp": -math.inf}
"""Reductions of no elements; extremes of none are errors."""


def dimensions(given: Any, rank: int, *, empty_is_all: bool = True) -> tuple[int, ...]:
    """The dimensions that an operand names: a number, a list, or None for all.

    >>> dimensions([-1], 3), dimensions(None, 2), dimensions([], 2, empty_is_all=False), dimensions(-1, 0)
    ((2,), (0, 1), (), ())
    """
    if rank == 0:
        return ()
    if given is None or (empty_is_all and isinstance(given, Sequence) and not given):
        return tuple(range(rank))
    return normalize_axes(given if isinstance(given, int) else tuple(given), rank)


def named_axis(call: Call, x: Tensor) -> int:
    """The dimension that a call names, from the front; 0 of a tensor without any."""
    return normalize_axis(int(call["dim"]), max(len(x.shape), 1))


def reduced(call: Call, function: str, x: Tensor, axes: tuple[int, ...], keepdims: bool = False) -> Tensor:
    """`sum`, `prod`, `max`, `min` or `mean`, of no elements, too."""
    if is_empty(x, axes):
        return nothing(call, function, x, axes, keepdims)
    return call.builder.reduce(function, x, axes, keepdims=keepdims) if axes else x


def is_empty(x: Tensor, axes: tuple[int, ...]) -> bool:
    """Whether there are no elements to reduce."""
    return any(x.shape[axis] == 0 for axis in axes)


def nothing(call: Call, function: str, x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """A reduction of no elements. Raises `UnsupportedOperation` where that has no value."""
    if function not in OF_NOTHING:
        raise call.refuse("no elements have no extreme")
    shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(x.shape) if keepdims or axis not in axes)
    return filled(call.builder, OF_NOTHING[function], shape, x.dtype)


def _given(call: Call, name: str, default: Any = None) -> Any:
    return call[name] if call.has(name) else default


def _axes(call: Call, x: Tensor) -> tuple[int, ...]:
    return dimensions(_given(call, "dim"), len(x.shape))


def _keepdims(call: Call) -> bool:
    return bool(_given(call, "keepdim", False))


@lowers(
    "aten.sum.default", "aten.sum.dim_IntList", "aten.mean.default", "aten.mean.dim", "aten.prod.default", "aten.prod.dim_int"
)
def total(call: Call) -> Tensor:
    """A sum, a mean or a product in the result's type."""
    x = call.tensor("self", call.result.dtype)
    if call.result.dtype != "bool":
        return reduced(call, call.operator, x, _axes(call, x), _keepdims(call))
    function = "max" if call.operator == "sum" else "min"
    return _truth(call, function, x, _axes(call, x))


@lowers("aten.nansum.default")
def nansum(call: Call) -> Tensor:
    """The sum of what is not NaN."""
    x = call.tensor("self", call.result.dtype)
    if "float" in x.dtype:
        x = call.builder.body(apply("where", apply("isnan", Load(0)), Literal(0.0), Load(0)), x, dtype=x.dtype, kind="numbers")
    return reduced(call, "sum", x, _axes(call, x), _keepdims(call))


@lowers("aten.count_nonzero.default", "aten.count_nonzero.dim_IntList")
def count_nonzero(call: Call) -> Tensor:
    """How many elements are not 0."""
    x = call.cast(call.tensor("self", "bool"), "int64")
    return reduced(call, "sum", x, _axes(call, x))


# Extremes


@lowers("aten.amax.default", "aten.amin.default", "aten.max.default", "aten.min.default")
def extreme(call: Call) -> Tensor:
    """The largest or smallest elements; NaN where there is one."""
    x = call.tensor("self")
    return _extreme(call, call.operator[-3:], x, _axes(call, x), _keepdims(call))


def _extreme(call: Call, function: str, x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if x.dtype != "bool":
        return reduced(call, function, x, axes, keepdims)
    return call.cast(reduced(call, function, call.cast(x, "int32"), axes, keepdims), "bool")


@lowers("aten.max.dim", "aten.min.dim")
def extreme_and_position(call: Call) -> tuple[Tensor, Tensor | None]:
    """The extremes along a dimension, and the first positions at which they are; the first NaN is one."""
    x, function, keepdims = call.tensor("self"), call.operator, _keepdims(call)
    axes = _axes(call, x)
    return _extreme(call, function, x, axes, keepdims), (
        _position(call, function, x, axes, keepdims) if call.results[1].is_used else None
    )


@lowers("aten.argmax.default", "aten.argmin.default")
def position(call: Call) -> Tensor:
    """The first position of the extreme along a dimension, or of all elements row by row."""
    x, function, keepdims = call.tensor("self"), call.operator[-3:], _keepdims(call)
    if call["dim"] is not None:
        return _position(call, function, x, _axes(call, x), keepdims)
    flat = call.builder.reshape(x, (times(*x.shape),))
    found = _position(call, function, flat, (0,), False)
    return call.builder.reshape(found, call.result.shape) if keepdims else found


def _position(call: Call, function: str, x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if not axes:
        return filled(call.builder, 0, (), "int64")
    (axis,) = axes
    if is_empty(x, axes):
        return nothing(call, function, x, axes, keepdims)
    if largest_extent(x.shape[axis]) > LARGEST_WHOLE:
        raise call.refuse(f"positions along {x.shape[axis]} elements")
    if x.dtype == "bool":
        x = call.cast(x, "int32")
    reduction = position_of_extreme(f"{function}imum", f"d{axis}", largest_extent(x.shape[axis]), False)
    return call.builder.record(combined, "position", x, axes, keepdims, reduction, "int64", kind="position")


@lowers("aten.aminmax.default")
def aminmax(call: Call) -> tuple[Tensor, Tensor]:
    """The smallest and the largest elements."""
    x, keepdims = call.tensor("self"), _keepdims(call)
    axes = _axes(call, x)
    smallest, largest = (_extreme(call, function, x, axes, keepdims) for function in ("min", "max"))
    return smallest, largest


@lowers("aten.any.default", "aten.any.dim", "aten.any.dims", "aten.all.default", "aten.all.dim", "aten.all.dims")
def truth(call: Call) -> Tensor:
    """Whether any element, or all, is not 0. An empty list of dimensions reduces none."""
    x, function = call.tensor("self"), "max" if call.operator == "any" else "min"
    is_list = call.overload.endswith(".dims")
    axes = dimensions(_given(call, "dim"), len(x.shape), empty_is_all=not is_list)
    return call.cast(_truth(call, function, x, axes), call.result.dtype)


def _truth(call: Call, function: str, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    x = call.builder.cast(call.cast(x, "bool"), "int32")
    if is_empty(x, axes):
        shape = call.result.shape
        return filled(call.builder, function == "min", shape, "bool")
    found = call.builder.reduce(function, x, axes, keepdims=_keepdims(call)) if axes else x
    return call.builder.body(IS_TRUE, found, dtype="bool", kind="is_true")


# Moments


@lowers("aten.var.correction", "aten.std.correction", "aten.var.default", "aten.std.default", "aten.var.dim", "aten.std.dim")
def spread(call: Call) -> Tensor:
    """The variance, or the standard deviation."""
    x = call.tensor("self")
    return _spread(call, x, _axes(call, x))


@lowers(
    *("aten.var_mean.correction", "aten.std_mean.correction", "aten.var_mean.default", "aten.std_mean.default"),
    *("aten.var_mean.dim", "aten.std_mean.dim"),
)
def spread_and_mean(call: Call) -> tuple[Tensor, Tensor]:
    """The same, and the mean."""
    x = call.tensor("self")
    axes = _axes(call, x)
    return _spread(call, x, axes), reduced(call, "mean", x, axes, _keepdims(call))


def _spread(call: Call, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    correction = _number(_given(call, "correction", float(_given(call, "unbiased", True))))
    root, keepdims = call.operator.startswith("std"), _keepdims(call)
    if is_empty(x, axes):
        return nothing(call, "variance", x, axes, keepdims)
    if not axes:
        x, axes, keepdims = call.builder.reshape(x, (1,)), (0,), False
    return call.builder.record(variance, x, axes, correction, keepdims, root=root, kind="variance")


def _number(correction: Any) -> float:
    return 1.0 if correction is None else float(correction)


@lowers("aten.logsumexp.default", "aten.special_logsumexp.default")
def logsumexp(call: Call) -> Tensor:
    """The logarithm of the sum of exponentials."""
    x = call.tensor("self", call.result.dtype)
    axes = _axes(call, x)
    if is_empty(x, axes):
        return nothing(call, "log_sum_exp", x, axes, _keepdims(call))
    return call.builder.record(log_sum_exp, x, axes, _keepdims(call), kind="log_sum_exp") if axes else x


# Vector norms


@lowers(
    *("aten.linalg_vector_norm.default", "aten.norm.Scalar", "aten.norm.ScalarOpt_dim", "aten.norm.ScalarOpt_dim_dtype"),
    "aten.norm.ScalarOpt_dtype",
)
def vector_norm(call: Call) -> Tensor:
    """`(sum |x|^p)^(1 / p)`, and its limits: how many are not 0, and the largest and the smallest |x|."""
    power = _given(call, "p", _given(call, "ord", 2))
    dtype = wide_type(call.result.dtype)
    x = call.cast(call.tensor("self", call.result.dtype), dtype)
    found = norm_of(call, x, 2.0 if power is None else float(power), _axes(call, x), keepdims=_keepdims(call))
    return call.cast(found, call.result.dtype)


def norm_of(call: Call, x: Tensor, power: float, axes: tuple[int, ...], *, keepdims: bool = False) -> Tensor:
    """The norm along some dimensions."""
    builder = call.builder
    if power == 0:
        return reduced(call, "sum", call.cast(call.cast(x, "bool"), x.dtype), axes, keepdims)
    sizes = builder.map("abs", x)
    if math.isinf(power) or all(x.shape[axis] == 1 for axis in axes):
        return reduced(call, "min" if power < 0 else "max", sizes, axes, keepdims)
    if power == 1:
        return reduced(call, "sum", sizes, axes, keepdims)
    if power == 2:
        return builder.map("sqrt", reduced(call, "sum", builder.map("square", x), axes, keepdims))
    total = reduced(call, "sum", power_of(call, sizes, power), axes, keepdims)
    return power_of(call, total, 1.0 / power)


def power_of(call: Call, x: Tensor, exponent: float) -> Tensor:
    if has_simple_power(exponent):
        return call.builder.body(power_body(exponent), x, dtype=x.dtype, kind="pow")
    return call.builder.map("pow", x, exponent, dtype=x.dtype)


# Diagonals


@lowers("aten.trace.default")
def trace(call: Call) -> Tensor:
    """The sum of the diagonal."""
    x = call.tensor("self", call.result.dtype)
    rows, columns = x.shape
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise call.refuse("the length of the diagonal is not known")
    length = min(rows, columns)
    if not length:
        return filled(call.builder, 0, (), x.dtype)
    flat = call.builder.reshape(x, (rows * columns,))
    diagonal = call.builder.slice(flat, (slice(0, (length - 1) * (columns + 1) + 1, columns + 1),))
    return call.builder.reduce("sum", diagonal, (0,))
