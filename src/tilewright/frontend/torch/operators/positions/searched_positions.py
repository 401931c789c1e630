"""Positions that tensors give, searched for every element of a result: graphs read and do not scatter.

That takes as many steps as there are positions, so that only few are searched. Where positions are equal torch leaves open which
one wins: here it is the last.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.operators.positions.index_changes import repeated_to
from tilewright.graph.builders.elementwise import REDUCTIONS, accumulator_of, arange, axes_of, map_of, points, reduce
from tilewright.graph.builders.reshape import gather
from tilewright.graph.expressions.extents import times
from tilewright.graph.expressions.index import axis, constant
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.types import Access, Extent, Operator, Tensor

MOST_POSITIONS = 64
"""That are searched for every element."""


def inside(call: Call, ids: Tensor, extent: Extent) -> Tensor:
    """Positions from the front; those that lead outside are errors when the graph runs."""
    every = call.builder.record(arange, extent, 0, 1, "int64", kind="arange")
    return call.builder.record(gather, every, ids, 0, kind="positions")


def as_vector(call: Call, ids: Tensor, common: tuple[Extent, ...]) -> Tensor:
    """Positions broadcast to a shape, row by row."""
    return call.builder.reshape(repeated_to(call, ids, common), (times(*common),))


def number_of_points(call: Call, places: list[Tensor], extents: tuple[Extent, ...]) -> Tensor:
    """The number of points in the order of rows."""
    number = places[0]
    for place, extent in zip(places[1:], extents[1:], strict=True):
        scaled = call.map("multiply", number, call.as_operand(extent, "int64"), dtype="int64")
        number = call.map("add", scaled, place, dtype="int64")
    return number


def copied_at(call: Call, x: Tensor, places: Tensor, source: Tensor, along: int) -> Tensor:
    """`x` with the slices of `source` along a dimension at the positions of a vector, or at those beside each element."""
    count = source.shape[along]
    last = _last_places(call, places, 0 if len(places.shape) == 1 else along, x.shape[along], searched(call, count))
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


def is_among(call: Call, places: Tensor, along: int, extent: Extent) -> Tensor:
    """Whether a position along a dimension is one of `places`."""
    last = _last_places(call, places, along, extent, searched(call, places.shape[along]))
    return call.map("greater", last, 0.0, dtype="bool")


def searched(call: Call, count: Extent) -> int:
    """How many positions are searched. Raises `UnsupportedOperation` for too many, and where that is known at run time."""
    if not isinstance(count, int) or count > MOST_POSITIONS:
        raise call.refuse(f"{count} positions are too many to search")
    return count


def _identity(function: str, dtype: str) -> np.ndarray[Any, Any]:
    """What changes nothing: of extremes an infinity, of integers the last number."""
    if function in ("sum", "prod"):
        return np.array(function == "prod", dtype)
    if "float" in dtype:
        return np.array(-np.inf if function == "max" else np.inf, dtype)
    return np.array(np.iinfo(dtype).min if function == "max" else np.iinfo(dtype).max, dtype)


def combined_at(call: Call, x: Tensor, places: Tensor, source: Tensor, along: int, function: str) -> tuple[Tensor, Tensor]:
    """For every element of `x` the slices of `source` at its position combined by a function, and how many there are."""
    at = 0 if len(places.shape) == 1 else along
    found = call.builder.record(_matches, places, at, x.shape[along], searched(call, source.shape[along]), kind="matches")
    is_there = call.map("greater", found, 0.0, dtype="bool")
    count = call.builder.reduce("sum", call.cast(is_there, "int64"), (len(found.shape) - 1,))
    identity = call.builder.literal(_identity(function, source.dtype))
    total = call.builder.record(_combined, x, is_there, source, identity, along, function, kind="scatter")
    beside = (
        count
        if len(count.shape) == len(x.shape)
        else call.builder.reshape(count, (*count.shape, *(1,) * (len(x.shape) - along - 1)))
    )
    return total, beside


def _combined(
    x: Tensor, is_there: Tensor, source: Tensor, identity: Tensor, along: int, function: str, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    rank, everywhere = len(x.shape), points(len(x.shape))
    step = axis(f"d{rank}")
    beside = everywhere if len(is_there.shape) == rank + 1 and rank > 1 else (everywhere[along],)
    from_source = tuple(step if d == along else index for d, index in enumerate(everywhere))
    reads = (Access(is_there.name, (*beside, step)), Access(source.name, from_source), Access(identity.name, ()))
    axes = axes_of((*x.shape, source.shape[along]), (rank,))
    body = apply("where", Load(0), Load(1), Load(2))
    write, accumulator = Access(result, everywhere), accumulator_of(source.dtype)
    operator = Operator(name, "scatter", axes, reads, write, body, REDUCTIONS[function], accumulator)
    return operator, Tensor(result, x.shape, source.dtype)
