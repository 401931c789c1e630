"""Sums, products and extremes of every element and all before it along a dimension.

ATen sums float32 in float64, and halves in float32 (`at::acc_type`); so do these. Extents may be known at run time.
"""

from __future__ import annotations

import math

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.filled import filled
from tilewright.frontend.torch.operators.rows.reductions import named_axis
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import REDUCTIONS
from tilewright.graph.builders.reductions import LOG_SUM_EXP, elements_before, last_extremes
from tilewright.graph.expressions.extents import largest_extent
from tilewright.graph.numpy_types import numbers_of
from tilewright.graph.types import Reduction, Tensor

AT_ONCE = 32
"""Elements along an axis that one step combines whole."""
A_STEP = 16
"""Elements that each of several steps combines."""
LONGEST = 64
"""Elements along an axis up to which every position is found anew."""
SUMMED_IN = {"float32": "float64", "float16": "float32", "bfloat16": "float32"}


@lowers("aten.cumsum.default", "aten.cumprod.default")
def cumulated(call: Call) -> Tensor:
    """Sums or products, in the result's type."""
    dtype, function = call.result.dtype, call.operator.removeprefix("cum")
    if dtype == "bool":
        raise call.refuse("truth values")
    x = call.cast(call.tensor("self", dtype), SUMMED_IN.get(dtype, dtype))
    return call.cast(_scanned(call, x, REDUCTIONS[function], 0.0 if function == "sum" else 1.0), dtype)


@lowers("aten.logcumsumexp.default")
def log_cumulated_exponentials(call: Call) -> Tensor:
    """Logarithms of sums of exponentials."""
    dtype = call.result.dtype
    x = call.cast(call.tensor("self", dtype), SUMMED_IN.get(dtype, dtype))
    return call.cast(_scanned(call, x, LOG_SUM_EXP, -math.inf), dtype)


def _scanned(call: Call, x: Tensor, reduction: Reduction, otherwise: float) -> Tensor:
    return x if not x.shape or 0 in x.shape else scan(call.builder, x, named_axis(call, x), reduction, otherwise)


def scan(builder: Builder, x: Tensor, axis: int, reduction: Reduction, otherwise: float) -> Tensor:
    """An associative reduction of all elements up to each one along an axis; `otherwise` changes nothing."""
    length = largest_extent(x.shape[axis])
    count = length if length <= AT_ONCE else A_STEP
    stride = 1
    while stride < length:
        x = builder.record(elements_before, x, axis, count, stride, reduction, otherwise, kind="elements_before")
        stride *= count
    return x


@lowers("aten.cummax.default", "aten.cummin.default")
def cumulated_extremes(call: Call) -> tuple[Tensor, Tensor | None]:
    """The largest or smallest elements, and the last positions at which they were; a NaN stays."""
    x, function = call.tensor("self"), call.operator.removeprefix("cum")
    if x.dtype == "bool":
        raise call.refuse("truth values")
    values = _scanned(call, x, REDUCTIONS[function], _least(x.dtype, function))
    return values, _last_positions(call, x, function) if call.results[1].is_used else None


def _least(dtype: str, function: str) -> float:
    """What no element is beyond."""
    numbers = numbers_of(dtype)
    if "float" in dtype:
        return -math.inf if function == "max" else math.inf
    return numbers.lowest if function == "max" else numbers.largest


def _last_positions(call: Call, x: Tensor, function: str) -> Tensor:
    """The last position of the extreme of all elements up to each one."""
    if not x.shape or 0 in x.shape:
        return filled(call.builder, 0, x.shape, "int64")
    axis = named_axis(call, x)
    length = x.shape[axis]
    if not isinstance(length, int) or length > LONGEST:
        raise call.refuse(f"positions of extremes up to each of {length} elements")
    return call.builder.record(last_extremes, f"{function}imum", x, axis, _least(x.dtype, function), kind="position")
