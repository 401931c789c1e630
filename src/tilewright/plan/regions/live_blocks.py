"""Live blocks of intermediates: what of each stays on chip while a schedule runs, in elements.

Chimera's memory use (Algorithm 1, line 20: the largest sum of one operator's tiles) leaves out what lives across operators:
an intermediate waits from the block that produces it to the last block that reads it, and a stationary tile of one operator
stays while another runs. Both are counted here.
"""

from __future__ import annotations

from functools import reduce

from tilewright.graph.types import Access, Chain, Operator
from tilewright.plan.chains import axis_names, derived_once, equal_axes, tensor_axes
from tilewright.plan.regions.required_regions import schedule_region_axes
from tilewright.plan.schedule import Loop, Schedule, Storage, common_path, largest_sizes, trip_counts


def live_blocks(chain: Chain, schedule: Schedule, tensor: str) -> tuple[tuple[str, Loop | None], ...]:
    """For every axis of an intermediate, in order of its dimensions: the loop whose current block is held, None for all of it.

    A loop around the producer and all consumers is a barrier if it has more than one trip and either side works through the
    tensor again, or only once, during them: loops of which only one side knows the axis. Recomputation takes the barrier away
    from loops that only consumers have. An axis is held by the block of its innermost common loop outside the first barrier. For
    a GEMM chain C[m, l] = A B, E = C D that is: m, l before k, n: one tile; m first and l inside k or n: T_M x L; k or n
    outermost: the whole of C. Axes along which the producer computes required regions of its consumers hold the region that
    consumers require (see `required_regions`), whatever is said here.
    """
    producer = chain.maker(tensor)
    equal = equal_axes(chain, tensor)
    common = reduce(common_path, (schedule.path(op.name) for op in (producer, *chain.consumers(tensor))))
    region_axes = schedule_region_axes(chain, schedule)
    held: dict[str, Loop] = {}
    for loop, trips in zip(common, trip_counts(common, largest_sizes(chain)), strict=True):
        if (producer.name, loop.axis) in region_axes:
            continue
        if loop.axis in equal:
            held[loop.axis] = loop
        elif trips > 1 and _is_barrier(chain, schedule, tensor, loop.axis):
            break
    return tuple((axis, held.get(axis)) for axis in tensor_axes(producer.write))


def buffer_blocks(chain: Chain, schedule: Schedule, tensor: str) -> tuple[tuple[str, Loop | None], ...]:
    """As `live_blocks`, for the buffer that an intermediate shares with others because maps work in place.

    Every axis is held by the outermost of the blocks that the members of its group need.
    """
    group = next(names for names in in_place_groups(chain) if tensor in names)
    members = [dict(live_blocks(chain, schedule, name)) for name in group]
    return tuple((axis, _larger([blocks[axis] for blocks in members])) for axis in tensor_axes(chain.maker(tensor).write))


@derived_once
def in_place_groups(chain: Chain) -> tuple[tuple[str, ...], ...]:
    """Intermediates that share one buffer: maps and row-wise reductions overwrite an input that nothing else reads.

    Input and result must be intermediates of the same type, with equal axes in equal dimensions.
    """
    groups: list[list[str]] = []
    for tensor in chain.intermediates:
        source = overwritten(chain, chain.maker(tensor))
        group = next((names for names in groups if source is not None and names[-1] == source), None)
        if group is None:
            groups.append([tensor])
        else:
            group.append(tensor)
    return tuple(tuple(group) for group in groups)


def overwritten(chain: Chain, operator: Operator) -> str | None:
    """The intermediate in whose place an operator may leave its result: of several the last one that is made."""
    able = {access.tensor for access in operator.reads if _overwrites(chain, operator, access)}
    return next((tensor for tensor in reversed(chain.intermediates) if tensor in able), None)


def _overwrites(chain: Chain, operator: Operator, access: Access) -> bool:
    same_type = chain.tensor(access.tensor).dtype == chain.tensor(operator.write.tensor).dtype
    return same_type and not operator.is_contraction() and lies_over(chain, operator, access)


def lies_over(chain: Chain, operator: Operator, access: Access) -> bool:
    """Whether an operator makes an element where one of an intermediate lies that nothing else reads."""
    if access.tensor not in chain.intermediates or access.guard is not None:
        return False
    reads = sum(read.tensor == access.tensor for reader in chain.operators for read in reader.reads)
    alike = access.indices == operator.write.indices == chain.maker(access.tensor).write.indices
    return reads == 1 and alike and all(index.is_axis() for index in access.indices)


def _larger(loops: list[Loop | None]) -> Loop | None:
    return None if None in loops else max((loop for loop in loops if loop is not None), key=lambda loop: loop.tile)


def _is_barrier(chain: Chain, schedule: Schedule, tensor: str, axis: str) -> bool:
    """Whether the tensor must outlive a trip of a loop over `axis`, which is not one of its equal axes."""
    producer = chain.maker(tensor)
    if axis in producer.axis_names:
        return True
    if axis in axis_names(chain.consumers(tensor)):
        return schedule.storage_of(tensor) is Storage.KEEP
    runs_once = axis in schedule.conditions(producer.name)
    return runs_once and any(axis not in schedule.conditions(c.name) for c in chain.consumers(tensor))
