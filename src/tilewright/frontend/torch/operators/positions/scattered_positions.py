"""Copies in which elements are others, or combined with others, where a mask holds and at positions that tensors give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.element_types import wide_type
from tilewright.frontend.torch.operators.positions.creation import number_in
from tilewright.frontend.torch.operators.positions.gathers import checked_positions, common_shape, first_place, positions_of
from tilewright.frontend.torch.operators.positions.index_changes import dimension, known, part, repeated_to
from tilewright.frontend.torch.operators.positions.searched_positions import (
    as_vector,
    combined_at,
    copied_at,
    inside,
    is_among,
    number_of_points,
)
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.concatenate import pad
from tilewright.graph.builders.elementwise import map_of
from tilewright.graph.expressions.extents import times
from tilewright.graph.expressions.scalar import Literal
from tilewright.graph.types import Tensor

FUNCTIONS = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}
"""Of two numbers, by that of many."""
NAMES = {"add": "sum", "multiply": "prod", "amax": "max", "amin": "min"}
"""Of functions of many numbers, by torch's."""
Combine: TypeAlias = Callable[[Tensor, Tensor, Tensor, int], Tensor]
"""Of a tensor, positions, what stands there, and the dimension."""


@lowers("aten.index_put.default")
def put(call: Call) -> Tensor:
    """A tensor with other values at an index: where a mask holds, or at positions of neighbouring dimensions."""
    x, values = call.tensor("self"), call.tensor("values", call.result.dtype)
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
    if call["accumulate"]:
        values = call.map("logical_or" if x.dtype == "bool" else "add", x, values)
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
    along = [inside(call, ids[first + d], extent) for d, extent in enumerate(extents)]
    places = number_of_points(call, [as_vector(call, each, common) for each in along], extents)
    flat = call.builder.reshape(x, (*x.shape[:first], times(*extents), *rest))
    full = repeated_to(call, values, (*x.shape[:first], *common, *rest))
    source = call.builder.reshape(full, (*x.shape[:first], places.shape[0], *rest))
    found = added_at(call, flat, places, source, first) if call["accumulate"] else copied_at(call, flat, places, source, first)
    return call.builder.reshape(found, x.shape)


@lowers("aten.put.default")
def put_in_rows(call: Call) -> Tensor:
    """A tensor with other elements, or with more added, at positions in the order of rows."""
    x, source = call.tensor("self"), call.tensor("source", call.result.dtype)
    ids = call.tensor("index")
    if 0 in x.shape or 0 in ids.shape:
        return x
    flat = call.builder.reshape(x, (-1,))
    where = checked_positions(call, as_vector(call, ids, ids.shape), flat.shape[0], takes_negative=True)
    places, values = inside(call, where, flat.shape[0]), call.builder.reshape(source, (times(*ids.shape),))
    found = added_at(call, flat, places, values, 0) if call["accumulate"] else copied_at(call, flat, places, values, 0)
    return call.builder.reshape(found, x.shape)


# Slices along a dimension at the positions of a vector


@lowers("aten.index_copy.default")
def copied_along(call: Call) -> Tensor:
    """A tensor with other slices."""
    x, source = call.tensor("self"), call.tensor("source", call.result.dtype)
    return _along(call, x, source, lambda x, places, source, along: copied_at(call, x, places, source, along))


@lowers("aten.index_add.default")
def added_along(call: Call) -> Tensor:
    """A tensor with multiples of slices added."""
    x, source = call.tensor("self"), call.tensor("source", call.result.dtype)
    if call["alpha"] != 1:
        source = call.map("multiply", source, call.as_operand(call["alpha"], x.dtype))
    return _along(call, x, source, lambda x, places, source, along: added_at(call, x, places, source, along))


@lowers("aten.index_reduce.default")
def combined_along(call: Call) -> Tensor:
    """A tensor whose slices are combined with others."""
    x, source = call.tensor("self"), call.tensor("source", call.result.dtype)
    return _along(call, x, source, lambda x, places, source, along: _combined(call, x, places, source, along, call["reduce"]))


def _along(call: Call, x: Tensor, source: Tensor, combine: Combine) -> Tensor:
    ids = call.tensor("index")
    if 0 in x.shape or 0 in ids.shape or 0 in source.shape:
        return x
    along = dimension(call["dim"], len(x.shape))
    one = x if x.shape else call.builder.reshape(x, (1,))
    slices = source if len(source.shape) == len(one.shape) else call.builder.reshape(source, (1,))
    where = checked_positions(call, as_vector(call, ids, ids.shape), one.shape[along], takes_negative=False)
    return call.builder.reshape(combine(one, inside(call, where, one.shape[along]), slices, along), x.shape)


@lowers("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor")
def filled_along(call: Call) -> Tensor:
    """A tensor with one value in slices."""
    x, ids = call.tensor("self"), call.tensor("index")
    if 0 in x.shape or 0 in ids.shape:
        return x
    along, extent = dimension(call["dim"], len(x.shape)), x.shape[dimension(call["dim"], len(x.shape))] if x.shape else 1
    where = checked_positions(call, as_vector(call, ids, ids.shape), extent, takes_negative=True)
    mask = is_among(call, inside(call, where, extent), 0, extent)
    over = call.builder.reshape(mask, (extent, *(1,) * (len(x.shape) - along - 1)) if x.shape else ())
    return call.map("where", over, value_of(call), x)


def value_of(call: Call) -> Tensor | float:
    """The number or the tensor of one element that fills."""
    value = call["value"]
    if isinstance(value, bool | int | float):
        return call.as_operand(number_in(call, value, call.result.dtype), call.result.dtype)
    return call.operand("value", call.result.dtype)


# Elements at positions along a dimension that stand beside elements of the others


@lowers("aten.scatter.src", "aten.scatter.value")
def scattered(call: Call) -> Tensor:
    """A tensor with other elements."""
    return _beside(call, lambda x, places, source, along: copied_at(call, x, places, source, along))


@lowers("aten.scatter_add.default")
def scattered_sum(call: Call) -> Tensor:
    """A tensor with others added."""
    return _beside(call, lambda x, places, source, along: added_at(call, x, places, source, along))


@lowers("aten.scatter.reduce", "aten.scatter.value_reduce", "aten.scatter_reduce.two")
def scattered_combination(call: Call) -> Tensor:
    """A tensor whose elements are combined with others."""
    return _beside(call, lambda x, places, source, along: _combined(call, x, places, source, along, call["reduce"]))


def _beside(call: Call, combine: Combine) -> Tensor:
    """Elements beside which there is no position get one outside."""
    x, ids = call.tensor("self"), call.tensor("index")
    if 0 in x.shape or 0 in ids.shape:
        return x
    along = dimension(call["dim"], len(x.shape))
    one, ids = (each if each.shape else call.builder.reshape(each, (1,)) for each in (x, ids))
    where = checked_positions(call, ids, one.shape[along], takes_negative=False)
    missing = tuple((0, 0) if d == along else (0, extent) for d, extent in enumerate(_missing(call, one, ids, along)))
    places = _padded(call, inside(call, where, one.shape[along]), missing, -1.0)
    source = _padded(call, _source(call, ids), missing, 0.0)
    return call.builder.reshape(combine(one, places, source, along), x.shape)


def _missing(call: Call, x: Tensor, ids: Tensor, along: int) -> list[int]:
    """By dimension, how many elements there are behind the positions."""
    pairs = [(0, 0) if d == along or a == b else (a, b) for d, (a, b) in enumerate(zip(x.shape, ids.shape, strict=True))]
    return [a - b for a, b in zip(known(call, [a for a, _ in pairs]), known(call, [b for _, b in pairs]), strict=True)]


def _padded(call: Call, x: Tensor, missing: tuple[tuple[int, int], ...], value: float) -> Tensor:
    return call.builder.record(pad, x, missing, value, kind="pad") if any(behind for _, behind in missing) else x


def _source(call: Call, ids: Tensor) -> Tensor:
    """What is scattered, as far as there are positions."""
    if not call.has("src"):
        value = number_in(call, call["value"], call.result.dtype)
        return call.builder.record(map_of, "full", ids.shape, (), Literal(float(value)), call.result.dtype, kind="full")
    source = call.tensor("src", call.result.dtype)
    source = source if source.shape else call.builder.reshape(source, (1,))
    for d, extent in enumerate(ids.shape):
        source = part(call, source, d, 0, extent)
    return source


# Combinations


def added_at(call: Call, x: Tensor, places: Tensor, source: Tensor, along: int) -> Tensor:
    """`x` with the slices of `source` added at the positions of a vector, or at those beside each element."""
    return _combined(call, x, places, source, along, "sum")


def _combined(call: Call, x: Tensor, places: Tensor, source: Tensor, along: int, reduction: str) -> Tensor:
    """Short floating-point numbers are combined in float32."""
    function, dtype = NAMES.get(reduction, reduction), x.dtype
    is_mean, wide = function == "mean", wide_type(dtype)
    if dtype == "bool":
        raise call.refuse(f"{reduction} of {dtype}")
    given = call.cast(source, wide)
    total, count = combined_at(call, x, places, given, along, "sum" if is_mean else function)
    is_with_self = not call.has("include_self") or call["include_self"]
    own = call.cast(x, wide)
    both = call.map(FUNCTIONS["sum" if is_mean else function], own, total, dtype=wide) if is_with_self else total
    if is_mean:
        number = call.cast(call.map("add", count, 1.0, dtype="int64") if is_with_self else count, wide)
        if "float" in wide:
            both = call.map("divide", both, number, dtype=wide)
        else:
            both = call.map("floor_divide", both, call.map("maximum", number, 1.0, dtype=wide), dtype=wide)
    is_there = call.map("greater", count, 0.0, dtype="bool")
    return call.cast(call.map("where", is_there, both, own, dtype=wide), dtype)
