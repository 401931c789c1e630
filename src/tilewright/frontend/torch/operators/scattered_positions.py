"""Copies in which elements are others where a mask holds, and at positions that tensors give.

Graphs read and do not scatter: for every element of the result the last one of the positions that is its own is searched for.
That takes as many steps as there are positions, so that only few are searched. Where positions are equal torch leaves open which
one wins.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.operators.creation import number_in
from tilewright.frontend.torch.operators.gathers import checked_positions, common_shape, first_place, positions_of
from tilewright.frontend.torch.operators.index_changes import dimension, part, repeated_to
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.elementwise import arange, map_of, points, reduce
from tilewright.graph.builders.reshape import gather
from tilewright.graph.expressions.extents import times
from tilewright.graph.expressions.index import axis, constant
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.types import Access, Extent, Operator, Tensor

MOST_POSITIONS = 64
"""That are searched for every element."""


# Masks


@lowers("aten.index_put.default")
def put(call: Call) -> Tensor:
    """A tensor with other values at an index: where a mask holds, or at positions of neighbouring dimensions."""
    x, values = call.tensor("self"), call.tensor("values", call.result.dtype)
    if call["accumulate"]:
        raise call.refuse("it adds up")
    given = {d: call.as_tensor(ids) for d, ids in enumerate(call["indices"]) if ids is not None}
    if 0 in x.shape or not given:
        raise call.refuse("there is nothing to index")
    if len(given) == 1 and next(iter(given.values())).dtype == "bool":
        ((first, mask),) = given.items()
        return _put_by_mask(call, x, first, mask, values)
    return _put_at_positions(call, x, positions_of(call, x), values)


def _put_by_mask(call: Call, x: Tensor, first: int, mask: Tensor, values: Tensor) -> Tensor:
    """Values that are the same for all positions where the mask holds."""
    behind = len(x.shape) - first - len(mask.shape)
    place = len(values.shape) - behind - 1
    if place >= 0 and values.shape[place] != 1:
        raise call.refuse("how many values there are follows from the mask")
    if place >= 0:
        shape = (*values.shape[:place], *(1,) * len(mask.shape), *values.shape[place + 1 :])
        values = call.builder.reshape(values, shape)
    over = call.builder.reshape(mask, (*mask.shape, *(1,) * behind))
    return call.map("where", over, values, x)


# Positions


def _put_at_positions(call: Call, x: Tensor, ids: Mapping[int, Tensor], values: Tensor) -> Tensor:
    """One position is the number of the point of neighbouring dimensions."""
    first, common = first_place(ids), common_shape(ids)
    extents = x.shape[first : first + len(ids)]
    if sorted(ids) != list(range(first, first + len(ids))):
        raise call.refuse("positions of dimensions that are no neighbours")
    if 0 in common:
        return x
    rest = x.shape[first + len(ids) :]
    inside = [_inside(call, ids[first + d], extent) for d, extent in enumerate(extents)]
    places = _number(call, [_as_vector(call, each, common) for each in inside], extents)
    flat = call.builder.reshape(x, (*x.shape[:first], times(*extents), *rest))
    full = repeated_to(call, values, (*x.shape[:first], *common, *rest))
    source = call.builder.reshape(full, (*x.shape[:first], places.shape[0], *rest))
    return call.builder.reshape(_copied_at(call, flat, places, source, first), x.shape)


def _inside(call: Call, ids: Tensor, extent: Extent) -> Tensor:
    """Positions from the front; those that lead outside are errors when the graph runs."""
    every = call.builder.record(arange, extent, 0, 1, "int64", kind="arange")
    return call.builder.record(gather, every, ids, 0, kind="positions")


def _as_vector(call: Call, ids: Tensor, common: tuple[Extent, ...]) -> Tensor:
    return call.builder.reshape(repeated_to(call, ids, common), (times(*common),))


def _number(call: Call, places: list[Tensor], extents: tuple[Extent, ...]) -> Tensor:
    """The number of points in the order of rows."""
    number = places[0]
    for place, extent in zip(places[1:], extents[1:], strict=True):
        scaled = call.map("multiply", number, call.as_operand(extent, "int64"), dtype="int64")
        number = call.map("add", scaled, place, dtype="int64")
    return number


def _copied_at(call: Call, x: Tensor, places: Tensor, source: Tensor, along: int) -> Tensor:
    """`x` with the slices of `source` along a dimension at the positions of a vector, or at those beside each element."""
    count = source.shape[along]
    last = _last_places(call, places, 0 if len(places.shape) == 1 else along, x.shape[along], _searched(call, count))
    mask = call.map("greater", last, 0.0, dtype="bool")
    ahead = apply("maximum", apply("subtract", Load(0), Literal(1.0)), Literal(0.0))
    chosen = call.builder.body(ahead, last, dtype="int64", kind="positions")
    return call.builder.record(_merged, x, mask, chosen, source, along, kind="scatter")


def _last_places(call: Call, places: Tensor, along: int, extent: Extent, count: int) -> Tensor:
    """For every position along a dimension, behind which of `places` it stands last: 0 for none, 1 for the first one."""
    found = call.builder.record(_matches, places, along, extent, count, kind="matches")
    return call.builder.record(reduce, "max", found, (len(found.shape) - 1,), kind="max")


def _matches(places: Tensor, along: int, extent: Extent, count: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """1 + the number of a place in the last dimension, where it is the position along `along`; else 0."""
    shape = (*places.shape[:along], extent, *places.shape[along + 1 :], count)
    indices = list(points(len(shape) - 1))
    indices[along] = axis(f"d{len(shape) - 1}")
    is_there = apply("equal", Load(0), AxisValue(f"d{along}"))
    number = apply("add", AxisValue(f"d{len(shape) - 1}"), Literal(1.0))
    body = apply("where", is_there, number, Literal(0.0))
    return map_of("matches", shape, [Access(places.name, tuple(indices))], body, "int64", name, result)


def _merged(
    x: Tensor, mask: Tensor, chosen: Tensor, source: Tensor, along: int, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    everywhere = points(len(x.shape))
    beside = everywhere if len(mask.shape) == len(x.shape) and len(x.shape) > 1 else (everywhere[along],)
    found = tuple(constant(0) if d == along else index for d, index in enumerate(everywhere))
    reads = [Access(mask.name, beside), Access(chosen.name, beside), Access(source.name, found, lookups=((along, 1),))]
    reads.append(Access(x.name, everywhere))
    return map_of("scatter", x.shape, reads, apply("where", Load(0), Load(2), Load(3)), x.dtype, name, result)


@lowers("aten.index_copy.default")
def copied_along(call: Call) -> Tensor:
    """A tensor with slices along a dimension at the positions of a vector."""
    x, ids, source = call.tensor("self"), call.tensor("index"), call.tensor("source", call.result.dtype)
    if not x.shape or not ids.shape:
        raise call.refuse("a tensor without dimensions")
    along = dimension(call["dim"], len(x.shape))
    if 0 in x.shape or 0 in source.shape:
        return x
    where = checked_positions(call, ids, x.shape[along], takes_negative=False)
    return _copied_at(call, x, _inside(call, where, x.shape[along]), source, along)


@lowers("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor")
def filled_along(call: Call) -> Tensor:
    """A tensor with one value at positions along a dimension."""
    x, ids = call.tensor("self"), call.tensor("index")
    if not x.shape or 0 in x.shape or 0 in ids.shape:
        raise call.refuse("no positions, or no dimensions")
    ids = ids if ids.shape else call.builder.reshape(ids, (1,))
    along = dimension(call["dim"], len(x.shape))
    mask = _is_among(call, _inside(call, ids, x.shape[along]), 0, x.shape[along])
    over = call.builder.reshape(mask, (mask.shape[0], *(1,) * (len(x.shape) - along - 1)))
    return call.map("where", over, value_of(call), x)


def value_of(call: Call) -> Tensor | float:
    """The number or the tensor of one element that fills."""
    value = call["value"]
    if isinstance(value, bool | int | float):
        return call.as_operand(number_in(call, value, call.result.dtype), call.result.dtype)
    return call.operand("value", call.result.dtype)


def _is_among(call: Call, places: Tensor, along: int, extent: Extent) -> Tensor:
    last = _last_places(call, places, along, extent, _searched(call, places.shape[along]))
    return call.map("greater", last, 0.0, dtype="bool")


def _searched(call: Call, count: Extent) -> int:
    if not isinstance(count, int) or count > MOST_POSITIONS:
        raise call.refuse(f"{count} positions are too many to search")
    return count


@lowers("aten.scatter.src", "aten.scatter.value")
def scattered(call: Call) -> Tensor:
    """A tensor with other elements at positions along a dimension, which stand beside every element of the others."""
    x, ids = call.tensor("self"), call.tensor("index")
    if not x.shape or 0 in x.shape or 0 in ids.shape:
        raise call.refuse("no positions, or no dimensions")
    along = dimension(call["dim"], len(x.shape))
    if any(ids.shape[d] != extent for d, extent in enumerate(x.shape) if d != along):
        raise call.refuse("there are no positions beside some elements")
    where = checked_positions(call, ids, x.shape[along], takes_negative=False)
    places = _inside(call, where, x.shape[along])
    if call.has("value"):
        return call.map("where", _is_among(call, places, along, x.shape[along]), value_of(call), x)
    source = call.tensor("src", call.result.dtype)
    for d, extent in enumerate(ids.shape):
        source = part(call, source, d, 0, extent)
    return _copied_at(call, x, places, source, along)
