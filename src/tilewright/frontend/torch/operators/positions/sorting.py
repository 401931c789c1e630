"""Sorting along short dimensions, by rank: how many elements come before each one.

NaN is above all numbers. Equal elements keep their order, which ATen promises of sort and leaves open for the others: of integers
and halves, which often are equal, the positions that topk, kthvalue and median give stay ATen's.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.filled import filled
from tilewright.frontend.torch.operators.rows.reductions import named_axis
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.elementwise import accumulator_of, map_of, points
from tilewright.graph.builders.reshape import gather_elements
from tilewright.graph.expressions.extents import times
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, Scalar, apply
from tilewright.graph.types import SUM, Access, Axis, AxisKind, Operator, Tensor
from tilewright.records import record

LONGEST = 256
"""Elements along the dimension: the work is quadratic."""
DISTINCT = ("float32", "float64")
"""Types whose elements are seldom equal."""


@lowers("aten.sort.default", "aten.sort.stable")
def sort(call: Call) -> tuple[Tensor, Tensor]:
    """All elements in order, and their positions."""
    x = call.tensor("self")
    return _sorted(call, x, x.shape[named_axis(call, x)] if x.shape else 1, call["descending"])


@lowers("aten.topk.default")
def topk(call: Call) -> tuple[Tensor, Tensor]:
    """The first elements in order, and their positions."""
    x = call.tensor("self")
    if call.results[1].is_used and x.dtype not in DISTINCT:
        raise call.refuse("positions of equal elements")
    return _sorted(call, x, call["k"], call["largest"])


def _sorted(call: Call, x: Tensor, count: object, descending: bool) -> tuple[Tensor, Tensor]:
    if not x.shape:
        return x, filled(call.builder, 0, (), "int64")
    axis = named_axis(call, x)
    length = x.shape[axis]
    if not isinstance(length, int) or not isinstance(count, int) or length > LONGEST:
        raise call.refuse(f"an order of {length} elements, of at most {LONGEST}")
    if 0 in x.shape or count == 0:
        shape = call.result.shape
        return filled(call.builder, 0, shape, x.dtype), filled(call.builder, 0, shape, "int64")
    keys = call.cast(x, "int32") if x.dtype == "bool" else x
    ranks = call.builder.record(_ranks, keys, axis, descending, kind="ranks")
    places = call.builder.record(_places, ranks, axis, count, kind="places")
    return call.builder.record(gather_elements, x, places, axis, kind="sorted"), places


@lowers("aten.kthvalue.default")
def kth_value(call: Call) -> tuple[Tensor, Tensor]:
    """The element that is the k-th from the smallest, and its position."""
    x = call.tensor("self")
    if not x.shape:
        return x, filled(call.builder, 0, (), "int64")
    order = _order(call, x, named_axis(call, x))
    wanted = filled(call.builder, call["k"] - 1, tuple(1 if d == order.axis else e for d, e in enumerate(x.shape)), "int64")
    return _chosen(call, order, wanted)


@lowers("aten.median.dim", "aten.nanmedian.dim")
def median_and_position(call: Call) -> tuple[Tensor, Tensor]:
    """The lower of the elements in the middle, and its position; the first NaN if there is one and these count."""
    x = call.tensor("self")
    if not x.shape:
        return x, filled(call.builder, 0, (), "int64")
    return _median(call, x, named_axis(call, x))


@lowers("aten.median.default", "aten.nanmedian.default")
def median(call: Call) -> Tensor:
    """That of all elements."""
    x = call.tensor("self")
    return _median(call, call.builder.reshape(x, (times(*x.shape),)), 0)[0] if x.shape else x


def _median(call: Call, x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    order = _order(call, x, axis)
    nans = call.cast(call.builder.body(_is_nan(Load(0)), x, dtype="bool", kind="is_nan"), "int64")
    count = call.builder.reduce("sum", nans, (axis,), keepdims=True)
    numbers = apply("subtract", Literal(float(order.length)), Load(0))
    before = apply("where", apply("greater", numbers, Literal(0.0)), numbers, Literal(float(order.length)))
    middle = apply("floor_divide", apply("subtract", before, Literal(1.0)), Literal(2.0))
    if call.operator == "median":
        middle = apply("where", apply("greater", Load(0), Literal(0.0)), numbers, middle)
    return _chosen(call, order, call.builder.body(middle, count, dtype="int64", kind="middle"))


@record
class Order:
    """A tensor, and how many elements along an axis come before each one."""

    x: Tensor
    ranks: Tensor
    axis: int
    length: int


def _order(call: Call, x: Tensor, axis: int) -> Order:
    length = x.shape[axis]
    if not isinstance(length, int) or not 0 < length <= LONGEST or 0 in x.shape:
        raise call.refuse(f"an order of {length} elements, of at most {LONGEST}")
    if len(call.results) > 1 and call.results[1].is_used and x.dtype not in DISTINCT:
        raise call.refuse("positions of equal elements")
    return Order(x, call.builder.record(_ranks, x, axis, False, kind="ranks"), axis, length)


def _chosen(call: Call, order: Order, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """The element of each row whose rank is wanted, and its position."""
    places = call.builder.record(_places_of, order.ranks, wanted, order.axis, kind="places")
    values = call.builder.record(gather_elements, order.x, places, order.axis, kind="sorted")
    shape = call.result.shape
    return call.builder.reshape(values, shape), call.builder.reshape(places, shape)


def _ranks(x: Tensor, axis: int, descending: bool, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """How many elements along an axis come before each one."""
    here = points(len(x.shape))
    there = tuple(axis_index("k") if d == axis else index for d, index in enumerate(here))
    other, own = Load(0), Load(1)
    first, second = (own, other) if descending else (other, own)
    is_tie = apply("logical_or", apply("equal", own, other), apply("logical_and", _is_nan(own), _is_nan(other)))
    is_earlier = apply("logical_and", is_tie, apply("less", AxisValue("k"), AxisValue(f"d{axis}")))
    before = apply("where", apply("logical_or", _is_below(first, second), is_earlier), Literal(1.0), Literal(0.0))
    reads = [Access(x.name, there), Access(x.name, here)]
    operator, tensor = map_of("ranks", x.shape, reads, before, "int64", name, result, accumulator_of(x.dtype))
    return replace(operator, axes=(*operator.axes, _along(x, axis)), reduction=SUM), tensor


def _is_nan(value: Scalar) -> Scalar:
    return apply("not_equal", value, value)


def _is_below(first: Scalar, second: Scalar) -> Scalar:
    nan_above = apply("logical_and", _is_nan(second), apply("equal", first, first))
    return apply("logical_or", apply("less", first, second), nan_above)


def _along(x: Tensor, axis: int) -> Axis:
    return Axis("k", x.shape[axis], AxisKind.REDUCTION)


def _places(ranks: Tensor, axis: int, count: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The positions of the first elements in order."""
    shape = tuple(count if d == axis else extent for d, extent in enumerate(ranks.shape))
    there = tuple(axis_index("k") if d == axis else index for d, index in enumerate(points(len(shape))))
    place = apply("where", apply("equal", Load(0), AxisValue(f"d{axis}")), AxisValue("k"), Literal(0.0))
    operator, tensor = map_of("places", shape, [Access(ranks.name, there)], place, "int64", name, result)
    return replace(operator, axes=(*operator.axes, _along(ranks, axis)), reduction=SUM), tensor


def _places_of(ranks: Tensor, wanted: Tensor, axis: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The positions of the elements with the ranks that are wanted, of one in each row."""
    shape = wanted.shape
    here = points(len(shape))
    there = tuple(axis_index("k") if d == axis else index for d, index in enumerate(here))
    place = apply("where", apply("equal", Load(0), Load(1)), AxisValue("k"), Literal(0.0))
    reads = [Access(ranks.name, there), Access(wanted.name, here)]
    operator, tensor = map_of("places", shape, reads, place, "int64", name, result)
    return replace(operator, axes=(*operator.axes, _along(ranks, axis)), reduction=SUM), tensor
