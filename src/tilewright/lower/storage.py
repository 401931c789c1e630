"""Storage of tensors while a chain runs: arguments with run-time strides, and scratch buffers of blocks or whole extents.

Partial results of a split have buffers, too: for every part the output, undivided, and the states of all rows. Parts of a plain
sum have no states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from tilewright.block.integers import IntegerExpression, Variable, VariableKind, ceil_divide, quotient, round_up
from tilewright.block.memory import Buffer, BufferName, Content, Gather, Lifetime, Range, View
from tilewright.errors import InternalError
from tilewright.graph.expressions.index import Index
from tilewright.graph.types import Access, Extent, Operator, SymbolicExtent
from tilewright.plan.layout import Layout, spread_padding
from tilewright.plan.regions.online_reductions import SoftmaxWeights, row_axes, softmax_weights, weights_read
from tilewright.plan.schedule import Loop
from tilewright.plan.types import Plan
from tilewright.records import record


@record
class Stored:
    """A tensor in memory: the stride of every dimension in elements, and the position at which the buffer starts.

    `offset` is where in the buffer that position lies.
    """

    buffer: BufferName
    strides: tuple[IntegerExpression, ...]
    origins: tuple[IntegerExpression, ...]
    offset: IntegerExpression = 0
    dtype: str = "float32"


def dense_strides(sizes: tuple[IntegerExpression, ...], padding: int = 0, multiple: int = 1) -> tuple[IntegerExpression, ...]:
    """Row-major strides; the innermost row is rounded up to `multiple` and then padded.

    >>> dense_strides((2, 3, 5))
    (15, 5, 1)
    >>> dense_strides((2, 3, 5), padding=16, multiple=16)
    (96, 32, 1)
    """
    strides: list[IntegerExpression] = []
    running: IntegerExpression = 1
    for position, size in enumerate(reversed(sizes)):
        strides.append(running)
        running *= round_up(size, multiple) + padding if position == 0 else size
    return tuple(reversed(strides))


def spread_strides(
    sizes: tuple[IntegerExpression, ...], element_bytes: int, period_bytes: int, line_bytes: int, multiple: int = 1
) -> tuple[IntegerExpression, ...]:
    """Row-major strides of a tensor whose blocks of rows spread over the sets of a cache: `Execution.set_period_bytes`.

    Rows that fill cache lines are padded as `spread_lines` says, those of run-time length by a line. One row, and rows that are
    no whole lines, are left alone.

    >>> [spread_strides(sizes, 4, 4096, 64) for sizes in ((4, 64), (4, 80), (4, 8), (64,))]
    [(80, 1), (80, 1), (8, 1), (1,)]
    """
    row = round_up(sizes[-1], multiple) if len(sizes) > 1 else 1
    padding = spread_padding(row if isinstance(row, int) else None, element_bytes, period_bytes, line_bytes)
    return dense_strides(sizes, padding, multiple)


def strides_of(layout: Layout, sizes: tuple[IntegerExpression, ...]) -> tuple[IntegerExpression, ...]:
    """Elements between neighbours along every dimension of a tensor whose dimensions are not cut into blocks.

    >>> strides_of(Layout((0, 2, 1)), (2, 3, 5)), strides_of(Layout((0, 1), row_padding=16), (4, 64))
    ((15, 1, 3), (80, 1))
    """
    if layout.blocks:
        raise InternalError(f"a tensor in {layout} has no strides: its dimensions lie in blocks")
    dense = dense_strides(tuple(sizes[dimension] for dimension in layout.order), layout.row_padding)
    return tuple(dense[layout.order.index(dimension)] for dimension in range(len(sizes)))


def elements_of(layout: Layout, sizes: tuple[IntegerExpression, ...]) -> IntegerExpression:
    """The elements that such a tensor takes."""
    strides, order = strides_of(layout, sizes), layout.order
    return elements(tuple(sizes[dimension] for dimension in order), tuple(strides[dimension] for dimension in order))


def elements(sizes: tuple[IntegerExpression, ...], strides: tuple[IntegerExpression, ...]) -> IntegerExpression:
    """The number of elements that a buffer with these sizes and row-major strides needs."""
    if not sizes:
        return 1
    return sizes[0] * strides[0] if len(sizes) > 1 else sizes[0]


def start_of(index: Index, box: Mapping[str, Range]) -> IntegerExpression:
    """The value of an affine index at the start of a box."""
    parts = (box[str(atom)].start * coefficient for atom, coefficient in index.terms)
    return sum(parts) + index.constant


def view(access: Access, stored: Stored, box: Mapping[str, Range]) -> View | Gather:
    """How the elements that an access addresses in a box lie in memory."""
    if not access.is_affine():
        return _gather(access, stored)
    offsets = []
    strides: dict[str, IntegerExpression] = {}
    for index, stride, origin in zip(access.indices, stored.strides, stored.origins, strict=True):
        offsets.append((start_of(index, box) - origin) * stride)
        for atom, coefficient in index.terms:
            strides[str(atom)] = strides.get(str(atom), 0) + stride * coefficient
    return View(stored.buffer, stored.offset + sum(offsets), tuple(strides.items()), stored.dtype)


def strided(access: Access, stored: Stored, box: Mapping[str, Range]) -> View:
    """The elements of an access that is affine."""
    found = view(access, stored, box)
    if isinstance(found, Gather):
        raise InternalError(f"an access to {access.tensor} is not affine")
    return found


def _gather(access: Access, stored: Stored) -> Gather:
    shifts = (origin * stride * -1 for origin, stride in zip(stored.origins, stored.strides, strict=True))
    return Gather(stored.buffer, sum(shifts), access.indices, stored.strides, access.guard, stored.dtype)


def extent_value(extent: Extent) -> IntegerExpression:
    """An extent as a value of generated code."""
    return Variable(VariableKind.EXTENT, extent.name) if isinstance(extent, SymbolicExtent) else extent


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


def part_count(plan: Plan) -> IntegerExpression:
    """How many parts there are."""
    return ceil_divide(extent_value(plan.chain.extents[plan.schedule.split]), part_tile(plan))


def stored_part(plan: Plan, tensor: str, shape: tuple[Extent, ...], start: IntegerExpression, state: str = "") -> Stored:
    """The place of one part, which starts at this point of the split axis."""
    sizes = tuple(extent_value(extent) for extent in shape)
    number = quotient(start, part_tile(plan))
    strides = dense_strides(sizes)
    return Stored(BufferName(tensor, Content.PARTIAL, state), strides, (0,) * len(sizes), number * prod(sizes))


def part_axis(plan: Plan) -> str:
    """A name for the axis of parts, which no axis of the chain has."""
    part = f"{plan.schedule.split}_part"
    while part in plan.chain.extents:
        part += "_"
    return part


def row_shape(plan: Plan, rows: Operator) -> tuple[Extent, ...]:
    """The extents of all rows."""
    return tuple(plan.chain.extents[axis] for axis in row_axes(rows))


def partial_buffers(plan: Plan) -> Iterator[Buffer]:
    """The buffers between the parts and their combination; none without a split."""
    if not plan.schedule.split:
        return
    count, output = part_count(plan), plan.chain.tensor(plan.chain.output)
    yield Buffer(BufferName(output.name, Content.PARTIAL), count * prod(map(extent_value, output.shape)), lifetime=Lifetime.CALL)
    if not sums_weights(plan):
        return
    rows, weights = split_rows(plan)
    for name, _ in weights.factors:
        elements = count * prod(map(extent_value, row_shape(plan, rows)))
        yield Buffer(BufferName(rows.write.tensor, Content.PARTIAL, name), elements, lifetime=Lifetime.CALL)
