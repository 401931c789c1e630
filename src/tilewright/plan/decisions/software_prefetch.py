"""Software prefetch of the next block: while a block is computed, its micro tiles prefetch what the next block reads.

Inputs that no cache up to the fusion level holds come in at the start of every block, rows at a time, and hardware prefetchers
foresee neither the first lines of a row nor the next matrix of a batch: with everything in L2, chains of Table IV take 4 to 13%
less time (Zen 5), of which fetching ahead wins most. It costs a few instructions a tile, moves nothing more, and changes no
result.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from tilewright.graph.types import Access, Operator
from tilewright.leaves.declaration import KernelWork
from tilewright.plan.chains import tensor_axes
from tilewright.plan.element_types import held_bytes
from tilewright.plan.model.cost import arithmetic_work
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.regions.loop_views import parallel_loops
from tilewright.plan.regions.required_regions import schedule_region_axes
from tilewright.plan.schedule import Schedule, planned_sizes

MOST_LINES = 32
"""That a micro tile may ask for: more fill the queues of the cache, and tiles of so long rows are foreseen by the hardware. 384
lines of rows of 4 KiB made 1632 x 36548 x 1024 a tenth slower, up to 24 gained."""
MOST_DIMENSIONS = 2
"""Of what a block reads, not counting those of one element: rows, and columns side by side."""


def inputs_to_prefetch(context: CostContext, schedule: Schedule, scratch_bytes: int) -> tuple[str, ...]:
    """The inputs whose next block is worth asking for, and fits the fusion level beside all else; in the order of their use.

    None where half of that level holds all tensors, where there is one block only, where blocks overlap,
    and where their number is known at run time only.
    """
    overlaps = schedule.split or schedule_region_axes(context.chain, schedule)
    parallel = parallel_loops(context.chain, schedule)
    is_fixed = all(isinstance(context.chain.extents[loop.axis], int) for loop in parallel)
    if not is_fixed or context.compulsory_bytes <= context.fusion_level.usable_bytes or overlaps:
        return ()
    blocks = {loop.axis: loop.tile for loop in parallel}
    packed_ahead = {(pack.operator, pack.read) for pack in schedule.ahead}
    found: dict[str, int] = {}
    for operator in context.chain.operators:
        for number, access in enumerate(operator.reads if operator.name in context.kernels else ()):
            is_cut_panel = (operator.name, number) in packed_ahead and _cuts_panels(context, operator, blocks)
            if access.tensor not in context.chain.inputs or is_cut_panel or not _moves_on(context, operator, access, blocks):
                continue
            if _lines_per_tile(context, access, blocks, context.kernels) <= MOST_LINES:
                found.setdefault(access.tensor, _block_bytes(context, access, blocks))
    room = context.fusion_level.size_bytes - scratch_bytes
    fitting = tuple(tensor for i, tensor in enumerate(found) if sum(list(found.values())[: i + 1]) <= room)
    return fitting if _pays(context, fitting) else ()


def operators_that_prefetch(context: CostContext, schedule: Schedule, tensors: tuple[str, ...]) -> tuple[str, ...]:
    """The contractions whose micro tiles ask: those that read these inputs, where their tiles need not ask for too many lines.

    Reads that are the same for all blocks do not count, such as that of y in y @ y[:k].T.

    A tile asks for about as much as it uses up: then all other tiles advance no cursors, and what was asked for has their time to
    come (MLPs of 6 layers, 32 wide: 2% less time than with all layers asking). Otherwise all contractions.
    """
    if not tensors:
        return ()
    blocks = {loop.axis: loop.tile for loop in parallel_loops(context.chain, schedule)}
    reads = {name: context.chain.operator(name).reads for name in context.kernels}
    moving = [(name, read) for name, all_reads in reads.items() for read in all_reads if not read.axes().isdisjoint(blocks)]
    asking = [(name, read) for name, read in moving if read.tensor in tensors]
    names = tuple(dict.fromkeys(name for name, _ in asking))
    lines = (_lines_per_tile(context, read, blocks, names) for _, read in asking)
    return names if max(lines) <= MOST_LINES else tuple(context.kernels)


def _pays(context: CostContext, tensors: tuple[str, ...]) -> bool:
    """Whether it takes longer to read these inputs once than to advance their cursors at every tile, and arithmetic can hide it.

    Where reading takes longer than computing, all that is asked for is late (a matrix-vector product took 1.5 times as long).
    """
    size_bytes = sum(_block_bytes(context, _read(context, tensor), {}) for tensor in tensors)
    reading_s = size_bytes / context.machine.levels[context.source_position].bandwidth_bytes_per_s
    works = _contractions(context, context.kernels)
    calls, computing_s = sum(work.calls for work in works), sum(work.seconds for work in works)
    return bool(calls * context.coefficients.cursor_cycles / context.machine.frequency_hz < reading_s < computing_s)


def _lines_per_tile(context: CostContext, access: Access, blocks: dict[str, int], names: Collection[str]) -> float:
    """What every micro tile of these contractions has to ask for: blocks that read the same share the work."""
    sizes = planned_sizes(context.chain)
    trips = {axis: -(-sizes[axis] // tile) for axis, tile in blocks.items()}
    last = max(i for i, axis in enumerate(trips) if axis in access.axes())
    sharing = prod(list(trips.values())[last + 1 :])
    tiles = float(sum(work.calls for work in _contractions(context, names))) / prod(trips.values())
    return _block_bytes(context, access, blocks) / context.fusion_level.line_bytes / (tiles * sharing)


def _contractions(context: CostContext, names: Collection[str]) -> list[KernelWork]:
    return [arithmetic_work(context, operator, context.sizes) for operator in context.chain.operators if operator.name in names]


def _read(context: CostContext, tensor: str) -> Access:
    return next(access for operator in context.chain.operators for access in operator.reads if access.tensor == tensor)


def _moves_on(context: CostContext, operator: Operator, access: Access, blocks: dict[str, int]) -> bool:
    """Whether blocks read different parts of an operand, and those are matrices of known size."""
    if not access.is_affine() or not all(isinstance(operator.axis(axis).extent, int) for axis in access.axes()):
        return False
    cut = any(axis in access.axes() and context.sizes[axis] > tile for axis, tile in blocks.items())
    sides = [side for side in _sides(context, access, blocks) if side > 1]
    return cut and len(sides) <= MOST_DIMENSIONS and all(index.is_axis() for index in access.indices)


def _cuts_panels(context: CostContext, operator: Operator, blocks: dict[str, int]) -> bool:
    """Whether a block reads some panels only, or parts of them."""
    roles = context.roles[operator.name]
    return any(axis in (roles.depth, roles.column) and context.sizes[axis] > tile for axis, tile in blocks.items())


def _sides(context: CostContext, access: Access, blocks: dict[str, int]) -> list[int]:
    sizes = planned_sizes(context.chain)
    return [min(blocks.get(axis, sizes[axis]), sizes[axis]) for axis in tensor_axes(access)]


def _block_bytes(context: CostContext, access: Access, blocks: dict[str, int]) -> int:
    return held_bytes(context.chain, access.tensor) * prod(_sides(context, access, blocks))
