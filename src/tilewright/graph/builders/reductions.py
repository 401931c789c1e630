"""Reductions with several states, and of all elements up to each one.

    log(sum exp(x)) = m + log(sum exp(x - m)),    m = max x

Positions of extremes: two states, the extreme, then the least (or greatest) position at which it stands. A NaN is an extreme.

Moments: the sum of all points, then that of their squared deviations from the mean (`norms`).

Sums, products and extremes of every element and those before it along an axis: a reduction behind a guard, over all elements of
a short axis. Over a long axis it is made of few steps, each of which combines every `stride`-th element before each one (W. D.
Hillis, G. L. Steele, "Data Parallel Algorithms", Communications of the ACM 29 (1986), with more than two elements a step).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.graph.builders.elementwise import REDUCTIONS, accumulator_of, combined, map_of, point_count, points, reduce
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, Point, Scalar, State, apply
from tilewright.graph.types import Access, Axis, AxisKind, Guard, Operator, Reduction, StateVariable, Tensor

_DISTANCE = apply("subtract", Point(), State("largest"))
_SHARE = apply("where", apply("equal", Point(), State("largest")), Literal(1.0), apply("exp", _DISTANCE))
LOG_SUM_EXP = Reduction(
    (StateVariable("largest", float("-inf"), Point(), "maximum"), StateVariable("total", 0.0, _SHARE, "add")),
    apply("add", State("largest"), apply("log", State("total"))),
)
"""The share of the largest element is 1, an infinite one too."""


def log_sum_exp(x: Tensor, axes: Sequence[int], keepdims: bool, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The logarithm of the sum of exponentials along these dimensions.

    >>> log_sum_exp(Tensor("x", (4, 3)), (1,), False, name="log_sum_exp", result="y")[1].shape
    (4,)
    """
    operator, tensor = reduce("sum", x, axes, keepdims, name=name, result=result)
    return replace(operator, kind="log_sum_exp", reduction=LOG_SUM_EXP), tensor


def position_of_extreme(function: str, axis: str, extent: int, last: bool) -> Reduction:
    """The first or the last position along an axis of the `maximum` or `minimum`."""
    start = float("-inf") if function == "maximum" else float("inf")
    is_nan = apply("not_equal", Point(), Point())
    is_extreme = apply("logical_or", apply("equal", Point(), State("extreme")), is_nan)
    nowhere = 0.0 if last else float(extent)
    place = apply("where", is_extreme, AxisValue(axis), Literal(nowhere))
    position = StateVariable("position", nowhere, place, "maximum" if last else "minimum")
    return Reduction((StateVariable("extreme", start, Point(), function), position), State("position"))


def variance(
    x: Tensor, axes: Sequence[int], correction: float, keepdims: bool, *, root: bool, name: str, result: str
) -> tuple[Operator, Tensor]:
    """The squared deviations from the mean along these dimensions, over their number less `correction`, or over 0; or its `root`.

    >>> variance(Tensor("x", (4, 3)), (1,), 1, False, root=False, name="variance", result="y")[1].shape
    (4,)
    """
    count = point_count([x.shape[axis] for axis in axes])
    divisor: Scalar = apply("maximum", apply("subtract", count, Literal(float(correction))), Literal(0.0))
    if isinstance(count, Literal):
        divisor = Literal(max(count.value - correction, 0.0))
    deviation = apply("subtract", Point(), apply("divide", State("total"), count))
    states = (StateVariable("total", 0.0, Point(), "add"), StateVariable("squares", 0.0, apply("square", deviation), "add"))
    spread = apply("divide", State("squares"), divisor)
    reduction = Reduction(states, apply("sqrt", spread) if root else spread)
    return combined("variance", x, axes, keepdims, reduction, x.dtype, name, result)


def cumulated(
    function: str, x: Tensor, axis: int, exclusive: bool = False, reverse: bool = False, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """The sums or products of the elements up to each one along an axis of known extent; or from it on, or without its own."""
    outputs, taken = points(len(x.shape)), axis_index("k")
    ahead: Index = taken - outputs[axis] if reverse else outputs[axis] - taken
    indices = tuple(taken if d == axis else index for d, index in enumerate(outputs))
    guard = Guard((ahead - 1 if exclusive else ahead,), 0.0 if function == "sum" else 1.0)
    operator, tensor = map_of(f"cum{function}", x.shape, [Access(x.name, indices, guard)], Load(0), x.dtype, name, result)
    axes = (*operator.axes, Axis("k", x.shape[axis], AxisKind.REDUCTION))
    return replace(operator, axes=axes, reduction=REDUCTIONS[function]), tensor


def elements_before(
    x: Tensor, axis: int, count: int, stride: int, reduction: Reduction, otherwise: float, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """A reduction of each element and of those that lie `stride`, 2 `stride`, ... before it along an axis: `count` in all.

    In the place of those before the first is `otherwise`.

    >>> operator, _ = elements_before(Tensor("x", (4, 9)), 1, 4, 2, REDUCTIONS["sum"], 0.0, name="sums", result="y")
    >>> str(operator.reads[0].indices[1])
    'd1 + -2*k'
    """
    outputs = points(len(x.shape))
    before = outputs[axis] - axis_index("k") * stride
    indices = tuple(before if d == axis else index for d, index in enumerate(outputs))
    read = Access(x.name, indices, Guard((before,), otherwise))
    operator, tensor = map_of("elements_before", x.shape, [read], Load(0), x.dtype, name, result)
    return replace(operator, axes=(*operator.axes, Axis("k", count, AxisKind.REDUCTION)), reduction=reduction), tensor


def last_extremes(function: str, x: Tensor, axis: int, otherwise: float, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The last position of the `maximum` or `minimum` of the elements up to each one along an axis of known extent.

    A NaN is an extreme. No element is beyond `otherwise`.
    """
    outputs, taken = points(len(x.shape)), axis_index("k")
    indices = tuple(taken if d == axis else index for d, index in enumerate(outputs))
    read = Access(x.name, indices, Guard((outputs[axis] - taken,), otherwise))
    operator, tensor = map_of("position", x.shape, [read], Load(0), "int64", name, result, accumulator_of(x.dtype))
    is_nan = apply("not_equal", Point(), Point())
    is_extreme = apply("logical_or", apply("equal", Point(), State("extreme")), is_nan)
    is_real = apply("less_equal", AxisValue("k"), AxisValue(f"d{axis}"))
    place = apply("where", apply("logical_and", is_extreme, is_real), AxisValue("k"), Literal(0.0))
    states = (StateVariable("extreme", otherwise, Point(), function), StateVariable("position", 0.0, place, "maximum"))
    axes = (*operator.axes, Axis("k", x.shape[axis], AxisKind.REDUCTION))
    return replace(operator, axes=axes, reduction=Reduction(states, State("position"))), tensor
