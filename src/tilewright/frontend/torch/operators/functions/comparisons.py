"""Comparisons, choices and bounds: equal to greater, logic, where, extremes of two, clamping."""

from __future__ import annotations

from math import isnan, nan

from tilewright.frontend.torch.bodies import X, Y, Z, both, either, equal, greater, is_nan, maximum, minimum, no, one_of, where
from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.numbers import as_operand, held_operand, operand
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.elementwise import CHOSEN_TRUTH
from tilewright.graph.numpy_types import is_float, numbers_of
from tilewright.graph.types import Tensor

COMPARISONS = {
    "eq": ("equal", no(one_of(X, Y))),
    "ne": ("not_equal", one_of(X, Y)),
    "lt": ("less", both(no(X), Y)),
    "le": ("less_equal", either(no(X), Y)),
    "gt": ("greater", both(X, no(Y))),
    "ge": ("greater_equal", either(X, no(Y))),
}
"""By ATen's name, the function of numbers, and what it is of truth values."""


@lowers(*(f"aten.{name}.{overload}" for name in COMPARISONS for overload in ("Tensor", "Scalar")))
def compared(call: Call) -> Tensor:
    """A comparison in the common type of both."""
    dtype = call.common_type("self", "other")
    numbers, truths = COMPARISONS[call.operator]
    left, right = operand(call, "self", dtype), operand(call, "other", dtype)
    return call.body(truths, left, right) if dtype == "bool" else call.map(numbers, left, right)


@lowers(*(f"aten.logical_{name}.default" for name in ("and", "or", "xor", "not")))
def logic(call: Call) -> Tensor:
    """Logic of truth values; numbers are true where they are not 0."""
    operands = [call.tensor(name, "bool") for name in ("self", "other") if call.has(name)]
    return call.map(call.operator, *operands)


# Choices


@lowers("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar")
def chosen(call: Call) -> Tensor:
    """`self` where the condition is true, else `other`."""
    dtype = call.result.dtype
    return _chosen(call, "condition", held_operand(call, "self", dtype), held_operand(call, "other", dtype))


@lowers("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(call: Call) -> Tensor:
    """The value where the mask is true, else the element."""
    dtype = call.result.dtype
    return _chosen(call, "mask", held_operand(call, "value", dtype), call.tensor("self", dtype))


def _chosen(call: Call, condition: str, yes: Tensor | float, other: Tensor | float) -> Tensor:
    body = CHOSEN_TRUTH if call.result.dtype == "bool" else where(X, Y, Z)
    return call.body(body, call.tensor(condition, "bool"), yes, other)


@lowers("aten.nan_to_num.default")
def without_nan(call: Call) -> Tensor:
    """Numbers in place of NaN and infinities: 0 and the largest unless given."""
    x = call.tensor("self")
    if not is_float(x.dtype):
        return x
    largest = numbers_of(x.dtype).largest
    numbers = [call["nan"], call["posinf"], call["neginf"]]
    of_nan, above, below = (n if n is not None else d for n, d in zip(numbers, (0.0, largest, -largest), strict=True))
    finite = where(equal(X, float("inf")), above, where(equal(X, float("-inf")), below, X))
    return call.body(where(is_nan(X), of_nan, finite), x)


@lowers("aten.heaviside.default")
def step(call: Call) -> Tensor:
    """1 above 0, 0 below it and of NaN, and at 0 another operand."""
    dtype = call.result.dtype
    values, x = call.tensor("values", dtype), call.tensor("self", dtype)
    if dtype == "bool":
        return call.map("logical_or", x, values)
    return call.body(where(equal(X, 0), Y, where(greater(X, 0), 1, 0)), x, values)


# Extremes


@lowers("aten.maximum.default", "aten.minimum.default")
def extreme(call: Call) -> Tensor:
    """The larger or smaller one; NaN where either is."""
    of_truths = {"maximum": "logical_or", "minimum": "logical_and"}
    function = of_truths[call.operator] if call.result.dtype == "bool" else call.operator
    return call.map(function, call.tensor("self", call.result.dtype), call.tensor("other", call.result.dtype))


@lowers("aten.fmax.default", "aten.fmin.default")
def extreme_number(call: Call) -> Tensor:
    """The larger or smaller one of those that are not NaN."""
    dtype = call.result.dtype
    left, right = call.tensor("self", dtype), call.tensor("other", dtype)
    combine = maximum if call.operator == "fmax" else minimum
    if dtype == "bool":
        return call.map("logical_or" if call.operator == "fmax" else "logical_and", left, right)
    if not is_float(dtype):
        return call.body(combine(X, Y), left, right)
    return call.body(where(is_nan(X), Y, where(is_nan(Y), X, combine(X, Y))), left, right)


@lowers("aten.clamp.default", "aten.clamp.Tensor")
def clamped(call: Call) -> Tensor:
    """Not below `min`, then not above `max`; a bound that is NaN makes all NaN."""
    return _clamped(call, "min", "max")


@lowers("aten.clamp_min.default", "aten.clamp_min.Tensor")
def not_below(call: Call) -> Tensor:
    """Not below `min`."""
    return _clamped(call, "min", None)


@lowers("aten.clamp_max.default", "aten.clamp_max.Tensor")
def not_above(call: Call) -> Tensor:
    """Not above `max`."""
    return _clamped(call, None, "max")


@lowers("aten.hardtanh.default")
def hardtanh(call: Call) -> Tensor:
    """Between two numbers."""
    return _clamped(call, "min_val", "max_val")


def _clamped(call: Call, least: str | None, largest: str | None) -> Tensor:
    x = call.tensor("self", call.result.dtype)
    low, high = _bound(call, least), _bound(call, largest)
    if any(isinstance(bound, float) and isnan(bound) for bound in (low, high)):
        return call.map("maximum", x, nan)
    if low is not None and high is not None:
        return call.map("clip", x, low, high)
    x = x if low is None else call.map("maximum", x, low)
    return x if high is None else call.map("minimum", x, high)


def _bound(call: Call, name: str | None) -> Tensor | float | None:
    return None if name is None or call[name] is None else held_operand(call, name, call.result.dtype)


# Membership


@lowers("aten.isin.Tensor_Tensor", "aten.isin.Tensor_Scalar", "aten.isin.Scalar_Tensor")
def is_in(call: Call) -> Tensor:
    """Whether an element is among others, or with `invert` is not."""
    names = [
        next(name for name in options if call.has(name))
        for options in (("elements", "element"), ("test_elements", "test_element"))
    ]
    dtype = call.common_type(*names)
    elements, tests = (as_operand(call, call[name], dtype) for name in names)
    if dtype == "bool":
        raise call.refuse("sets of truth values")
    if isinstance(tests, Tensor):
        return _among(call, elements, tests)
    return call.body(no(equal(X, Y)) if call["invert"] else equal(X, Y), elements, tests)


def _among(call: Call, elements: Tensor | float, tests: Tensor) -> Tensor:
    """The largest of comparisons with all."""
    count = 1
    for extent in tests.shape:
        if not isinstance(extent, int) or not extent:
            raise call.refuse("a set whose size is not known, or an empty one")
        count *= extent
    row = call.builder.reshape(tests, (count,))
    column = call.builder.reshape(elements, (*elements.shape, 1)) if isinstance(elements, Tensor) else elements
    same = call.body(
        where(equal(X, Y), 1, 0), column, row, dtype="float32", accumulator=None if is_float(tests.dtype) else tests.dtype
    )
    largest = call.builder.reduce("max", same, (-1,))
    return call.body(equal(X, 0) if call["invert"] else equal(X, 1), largest)
