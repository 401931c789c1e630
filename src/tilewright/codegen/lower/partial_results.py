"""Buffers of partial results of a split: for every part the output, undivided, and the states of all rows.

Parts of a plain sum have no states.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.codegen import names
from tilewright.codegen.expressions import Value, ceil_divide, divide, multiply
from tilewright.codegen.lower.storage import Stored, dense_strides
from tilewright.errors import InternalError
from tilewright.graph.types import Extent, Operator, SymbolicExtent
from tilewright.plan.regions.online_reductions import SoftmaxWeights, row_axes, softmax_weights, weights_read
from tilewright.plan.schedule import Loop
from tilewright.plan.types import Plan


def extent_value(extent: Extent) -> Value:
    """An extent as a value of generated code."""
    return names.extent(extent.name) if isinstance(extent, SymbolicExtent) else extent


def sums_weights(plan: Plan) -> bool:
    """Whether the last operator of a split sums weights of rows, not products alone."""
    return weights_read(plan.chain, plan.chain.operators[-1]) is not None


def split_rows(plan: Plan) -> tuple[Operator, SoftmaxWeights]:
    """The row-wise reduction whose weights the last operator of a split sums, with its rescaling rule."""
    rows = weights_read(plan.chain, plan.chain.operators[-1])
    weights = softmax_weights(rows) if rows is not None else None
    if rows is None or weights is None:
        raise InternalError(f"{plan.chain.name} is split, but its last operator sums no weights")
    return rows, weights


def part_tile(plan: Plan) -> int:
    """Points of the split axis in one part."""
    loop = plan.schedule.body[0]
    assert isinstance(loop, Loop)
    assert loop.axis == plan.schedule.split
    return loop.tile


def part_count(plan: Plan) -> Value:
    """How many parts there are."""
    return ceil_divide(extent_value(plan.chain.extents[plan.schedule.split]), part_tile(plan))


def stored_part(plan: Plan, tensor: str, shape: tuple[Extent, ...], start: Value, state: str = "") -> Stored:
    """The place of one part, which starts at this point of the split axis."""
    sizes = tuple(extent_value(extent) for extent in shape)
    number = divide(start, part_tile(plan))
    strides = dense_strides(sizes)
    return Stored(names.partial(tensor, state), strides, (0,) * len(sizes), multiply(number, *sizes))


def part_axis(plan: Plan) -> str:
    """A name for the axis of parts, which no axis of the chain has."""
    part = f"{plan.schedule.split}_part"
    while part in plan.chain.extents:
        part += "_"
    return part


def row_shape(plan: Plan, rows: Operator) -> tuple[Extent, ...]:
    """The extents of all rows."""
    return tuple(plan.chain.extents[axis] for axis in row_axes(rows))


def partial_buffers(plan: Plan) -> Iterator[tuple[str, Value]]:
    """(name, elements) of every buffer between the parts and their combination; none without a split."""
    if not plan.schedule.split:
        return
    count, output = part_count(plan), plan.chain.tensor(plan.chain.output)
    yield names.partial(output.name), multiply(count, *map(extent_value, output.shape))
    if not sums_weights(plan):
        return
    rows, weights = split_rows(plan)
    for name, _ in weights.factors:
        yield names.partial(rows.write.tensor, name), multiply(count, *map(extent_value, row_shape(plan, rows)))
