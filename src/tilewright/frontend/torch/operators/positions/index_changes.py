"""Elements in another order or shape: reshapes, permutations, slices and repetitions, as index maps.

Shapes are torch's: it knows more of extents at run time than their normal forms say.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders import slicing
from tilewright.graph.builders.concatenate import concatenated
from tilewright.graph.builders.elementwise import broadcast
from tilewright.graph.builders.reshape import Place, Position, read_at
from tilewright.graph.builders.tiling import tile
from tilewright.graph.expressions.extents import exact_quotient, plus
from tilewright.graph.expressions.index import axis
from tilewright.graph.expressions.scalar import AxisValue, apply, scalar_of
from tilewright.graph.shapes import Shape, are_known
from tilewright.graph.types import Extent, Tensor


def dimension(number: int, rank: int) -> int:
    """A dimension that may count from the end; a tensor without dimensions counts as one with one."""
    return number % max(rank, 1)


def known(call: Call, extents: Sequence[Extent]) -> list[int]:
    """Extents as integers. Raises `UnsupportedOperation` where one is known at run time only."""
    found = [extent for extent in extents if isinstance(extent, int)]
    if len(found) < len(extents):
        raise call.refuse("extents or strides are known at run time")
    return found


@lowers(
    *("aten.view.default", "aten.view_copy.default", "aten._unsafe_view.default", "aten._reshape_alias.default"),
    *("aten.reshape.default", "aten.flatten.using_ints", "aten.unflatten.int", "aten.unsqueeze.default"),
    *("aten.unsqueeze_copy.default", "aten.squeeze.default", "aten.squeeze.dim", "aten.squeeze.dims"),
    *(
        "aten.squeeze_copy.default",
        "aten.squeeze_copy.dim",
        "aten.squeeze_copy.dims",
    ),
    "aten.lift_fresh.default",
)
def reshaped(call: Call) -> Tensor:
    """The elements row by row in the result's shape."""
    return call.builder.reshape(call.tensor("self"), call.result.shape)


@lowers("aten.expand.default", "aten.expand_copy.default")
def expanded(call: Call) -> Tensor:
    """Dimensions of one element, and new ones in front, repeated."""
    return repeated_to(call, call.tensor("self"), call.result.shape)


def repeated_to(call: Call, x: Tensor, shape: Shape) -> Tensor:
    """A tensor broadcast to a shape."""
    return x if x.shape == shape else call.builder.record(broadcast, x, shape, kind="broadcast")


@lowers("aten.permute.default", "aten.permute_copy.default")
def permuted(call: Call) -> Tensor:
    """The dimensions in another order."""
    x = call.tensor("self")
    return _in_order(call, x, [dimension(d, len(x.shape)) for d in call["dims"]])


@lowers("aten.transpose.int", "aten.transpose_copy.int", "aten.swapaxes.default")
def transposed(call: Call) -> Tensor:
    """Two dimensions exchanged."""
    x = call.tensor("self")
    first, second = ("axis0", "axis1") if call.has("axis0") else ("dim0", "dim1")
    return exchanged(call, x, call[first], call[second])


def exchanged(call: Call, x: Tensor, first: int, second: int) -> Tensor:
    """Two dimensions of a tensor exchanged."""
    order = list(range(len(x.shape)))
    if order:
        order[first], order[second] = order[second], order[first]
    return _in_order(call, x, order)


@lowers("aten.t.default", "aten.t_copy.default")
def matrix_transposed(call: Call) -> Tensor:
    """A matrix transposed; what has fewer dimensions as it is."""
    x = call.tensor("self")
    return call.builder.transpose(x, (1, 0)) if len(x.shape) == 2 else x


def _in_order(call: Call, x: Tensor, order: Sequence[int]) -> Tensor:
    return x if list(order) == sorted(order) else call.builder.transpose(x, order)


# Parts


@lowers("aten.select.int", "aten.select_copy.int")
def selected(call: Call) -> Tensor:
    """One position along a dimension."""
    x = call.tensor("self")
    key = (slice(None),) * dimension(call["dim"], len(x.shape))
    return call.builder.slice(x, (*key, call["index"]))


@lowers("aten.slice.Tensor", "aten.slice_copy.Tensor")
def sliced(call: Call) -> Tensor:
    """A range along a dimension, its ends held to it."""
    x = call.tensor("self")
    if x.shape == call.result.shape:
        return x
    key = (slice(None),) * dimension(call["dim"], len(x.shape))
    _, places = slicing.places(x, (*key, slice(call["start"], call["end"], call["step"])))
    return read_at(call.builder.record, x, call.result.shape, places, "slice")


@lowers("aten.narrow_copy.default", "aten.narrow.default")
def narrowed(call: Call) -> Tensor:
    """So many positions along a dimension from one on."""
    x = call.tensor("self")
    along = dimension(call["dim"], len(x.shape))
    start = call["start"]
    if isinstance(start, int) and start < 0:
        start = plus(x.shape[along], start)
    return part(call, x, along, start, call.result.shape[along])


def part(call: Call, x: Tensor, along: int, start: Extent, length: Extent, step: int = 1) -> Tensor:
    """So many positions along a dimension, from one on, that are there."""
    if step == 1 and length == x.shape[along]:
        return x
    places: list[Place] = [axis(f"d{d}") for d in range(len(x.shape))]
    places[along] = slicing.walked(along, start, step)
    shape = (*x.shape[:along], length, *x.shape[along + 1 :])
    return read_at(call.builder.record, x, shape, places, "slice")


@lowers(
    *("aten.split.Tensor", "aten.split_copy.Tensor", "aten.split_with_sizes.default", "aten.split_with_sizes_copy.default"),
    *("aten.unsafe_split.Tensor", "aten.unsafe_split_with_sizes.default", "aten.chunk.default", "aten.unsafe_chunk.default"),
)
def split(call: Call) -> tuple[Tensor | None, ...]:
    """Parts one behind the other along a dimension."""
    x = call.tensor("self")
    along = dimension(call["dim"], len(x.shape))
    parts: list[Tensor | None] = []
    start: Extent = 0
    for result in call.results:
        parts.append(part(call, x, along, start, result.shape[along]) if result.is_used else None)
        start = plus(start, result.shape[along])
    return tuple(parts)


@lowers("aten.unbind.int", "aten.unbind_copy.int")
def unbound(call: Call) -> tuple[Tensor | None, ...]:
    """All positions along a dimension."""
    x = call.tensor("self")
    key = (slice(None),) * dimension(call["dim"], len(x.shape))
    return tuple(call.builder.slice(x, (*key, number)) if result.is_used else None for number, result in enumerate(call.results))


@lowers("aten.diagonal.default", "aten.diagonal_copy.default")
def diagonal(call: Call) -> Tensor:
    """The elements at equal positions along two dimensions, but for an offset, in a last dimension."""
    x, offset = call.tensor("self"), call["offset"]
    first, second = dimension(call["dim1"], len(x.shape)), dimension(call["dim2"], len(x.shape))
    rest = iter(range(len(x.shape) - 2))
    along = axis(f"d{len(x.shape) - 2}")
    ahead = {first: along + max(-offset, 0), second: along + max(offset, 0)}
    places = [ahead[d] if d in ahead else axis(f"d{next(rest)}") for d in range(len(x.shape))]
    return read_at(call.builder.record, x, call.result.shape, places, "diagonal")


@lowers("aten.unfold.default", "aten.unfold_copy.default")
def unfolded(call: Call) -> Tensor:
    """All parts of a size along a dimension that begin at multiples of a step; the size is a last dimension."""
    x = call.tensor("self")
    if not x.shape:
        return call.builder.reshape(x, call.result.shape)
    along = dimension(call["dimension"], len(x.shape))
    places = [axis(f"d{d}") for d in range(len(x.shape))]
    places[along] = places[along] * call["step"] + axis(f"d{len(x.shape)}")
    return read_at(call.builder.record, x, call.result.shape, places, "unfold")


# Order


@lowers("aten.flip.default")
def flipped(call: Call) -> Tensor:
    """Dimensions in reverse."""
    x = call.tensor("self")
    return _reversed(call, x, call["dims"])


def _reversed(call: Call, x: Tensor, dims: Sequence[int]) -> Tensor:
    chosen = {dimension(d, len(x.shape)) for d in dims}
    if not x.shape or not chosen:
        return x
    return call.builder.slice(x, tuple(slice(None, None, -1 if d in chosen else None) for d in range(len(x.shape))))


@lowers("aten.rot90.default")
def rotated(call: Call) -> Tensor:
    """Quarter turns from the first towards the second of two dimensions."""
    x, (first, second) = call.tensor("self"), call["dims"]
    turns = call["k"] % 4
    if turns == 2:
        return _reversed(call, x, (first, second))
    if turns == 0:
        return x
    return exchanged(call, _reversed(call, x, (second if turns == 1 else first,)), first, second)


@lowers("aten.roll.default")
def rolled(call: Call) -> Tensor:
    """Elements moved along dimensions, those beyond the end to the begin; without dimensions in the order of rows."""
    x, shifts, dims = call.tensor("self"), call["shifts"], call["dims"]
    if dims:
        for shift, d in zip(shifts, dims, strict=True):
            x = _rolled(call, x, shift, dimension(d, len(x.shape)))
        return x
    flat = call.builder.reshape(x, (-1,)) if 0 not in x.shape else x
    return call.builder.reshape(_rolled(call, flat, shifts[0], 0), x.shape)


def _rolled(call: Call, x: Tensor, shift: Extent, along: int) -> Tensor:
    extent = x.shape[along] if x.shape else 1
    if not isinstance(extent, int) or not isinstance(shift, int):
        places: list[Place] = [axis(f"d{d}") for d in range(len(x.shape))]
        behind = apply("subtract", AxisValue(f"d{along}"), scalar_of(shift))
        places[along] = Position(apply("mod", behind, scalar_of(extent)), (along,))
        return read_at(call.builder.record, x, x.shape, places, "roll")
    if 0 in x.shape or shift % extent == 0:
        return x
    cut = extent - shift % extent
    return concatenated(call.builder, [part(call, x, along, cut, extent - cut), part(call, x, along, 0, cut)], along)


# Repetition


@lowers("aten.repeat.default")
def repeated(call: Call) -> Tensor:
    """The tensor so many times along every dimension, of which new ones are in front."""
    x, counts = call.tensor("self"), call["repeats"]
    x = call.builder.reshape(x, (*(1,) * (len(counts) - len(x.shape)), *x.shape))
    if are_known((*x.shape, *counts)):
        return x if all(count == 1 for count in counts) else call.builder.record(tile, x, counts, kind="tile")
    pairs = list(zip(counts, x.shape, strict=True))
    apart = call.builder.reshape(x, tuple(extent for _, own in pairs for extent in (1, own)))
    full = repeated_to(call, apart, tuple(extent for pair in pairs for extent in pair))
    return call.builder.reshape(full, call.result.shape)


@lowers("aten.repeat_interleave.self_int")
def repeated_each(call: Call) -> Tensor:
    """Every element so many times in a row along a dimension, or in the order of rows."""
    x, count = call.tensor("self"), call["repeats"]
    along = 0 if call["dim"] is None else dimension(call["dim"], len(x.shape))
    if call["dim"] is None or not x.shape:
        extent = exact_quotient(call.result.shape[0], count)
        if extent is None:
            raise UnsupportedOperation("a repetition of extents at run time")
        x = call.builder.reshape(x, (extent,))
    apart = call.builder.reshape(x, (*x.shape[: along + 1], 1, *x.shape[along + 1 :]))
    full = repeated_to(call, apart, (*x.shape[: along + 1], count, *x.shape[along + 1 :]))
    return call.builder.reshape(full, call.result.shape)
