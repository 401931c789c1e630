"""Executability of schedules: every operator finds its operands complete, and nothing is summed twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilewright.graph.types import Chain, Operator, SymbolicExtent
from tilewright.plan.chains import equal_axes
from tilewright.plan.reasons import NotExecutable, Unplannable
from tilewright.plan.regions.epilogues import passed_in_tiles, why_not_in_tiles
from tilewright.plan.regions.live_blocks import in_place_groups
from tilewright.plan.regions.online_reductions import why_parts_cannot_combine, why_rows_must_be_whole
from tilewright.plan.regions.required_regions import (
    RegionAxes,
    line_buffer_axis,
    region_axes_of,
    schedule_region_axes,
    shared_loops,
)
from tilewright.plan.schedule import (
    Compute,
    Schedule,
    Storage,
    Trip,
    common_path,
    cutting,
    largest_sizes,
    storage_below,
)


def is_executable(chain: Chain, schedule: Schedule) -> bool:
    """Whether every operator finds its operands complete, and nothing is summed twice."""
    return not why_not_executable(chain, schedule)


def runs_below(chain: Chain, outer_loops: Sequence[str]) -> bool | None:
    """Whether every operator can run in loops that all of them share, one point a block: what `why_not_executable` says, without
    the schedule; None where only that tells (integers that no memory holds, rows that are cut).
    """
    largest = largest_sizes(chain)
    cut = [axis for axis in outer_loops if largest[axis] > 1]
    if passed_in_tiles(chain) or any(op.is_row_reduction() and _reduces(op, cut) for op in chain.operators):
        return None
    storage = storage_below(chain, outer_loops)
    if any(len({storage[tensor] for tensor in group}) > 1 for group in in_place_groups(chain)):
        return False
    region_axes = region_axes_of(chain, storage, outer_loops)
    symbolic = {axis for axis, extent in chain.extents.items() if isinstance(extent, SymbolicExtent)}
    if any(not symbolic.isdisjoint((axis, *region.slopes)) for (_, axis), region in region_axes.items()):
        return False
    return all(
        _runs_often_enough(op, storage, cut) and _reads_what_is_there(chain, op, region_axes, cut) for op in chain.operators
    )


def _reduces(operator: Operator, axes: Sequence[str]) -> bool:
    return any(axis.name in axes for axis in operator.reduction_axes())


def _runs_often_enough(operator: Operator, storage: Mapping[str, Storage], cut: Sequence[str]) -> bool:
    """See `_runs_the_right_number_of_times`."""
    is_kept = storage.get(operator.write.tensor, Storage.KEEP) is Storage.KEEP
    foreign = [axis not in operator.axis_names for axis in cut]
    summed = next((place for place, axis in enumerate(cut) if _reduces(operator, (axis,))), len(cut))
    return not any(foreign) if is_kept else not any(foreign[summed:])


def _reads_what_is_there(chain: Chain, operator: Operator, region_axes: RegionAxes, cut: Sequence[str]) -> bool:
    """See `_operands_are_complete`."""
    for access in operator.reads:
        producer = chain.producer(access.tensor)
        if producer is not None:
            alike = {*equal_axes(chain, access.tensor), *(axis for name, axis in region_axes if name == producer.name)}
            if any(axis in producer.axis_names and axis not in alike for axis in cut):
                return False
    return True


def check_executable(chain: Chain, schedule: Schedule) -> None:
    """Raise `Unplannable` unless a schedule can be executed."""
    if problem := why_not_executable(chain, schedule):
        reason = NotExecutable(tuple(operator.name for operator in chain.operators))
        raise Unplannable(f"no executable schedule for {chain.name}", reason=reason, where=chain.name, why=problem)


def why_not_executable(chain: Chain, schedule: Schedule) -> str:
    """The first reason why a schedule cannot be executed; empty if it can. Symbolic extents may have any allowed value."""
    leaves = {leaf.operator: loops for loops, leaf in schedule.leaves() if isinstance(leaf, Compute)}
    if tuple(leaves) != tuple(operator.name for operator in chain.operators):
        return "the operators do not run in topological order, each at one place"
    return next(filter(None, _problems(chain, schedule, schedule_region_axes(chain, schedule))), "")


def _problems(chain: Chain, schedule: Schedule, region_axes: RegionAxes) -> Iterator[str]:
    """The reasons, and empty texts."""
    for operator in chain.operators:
        yield why_rows_must_be_whole(chain, schedule, operator)
        yield why_not_in_tiles(chain, schedule, operator) if len(chain.operators) > 1 else ""
        yield _runs_the_right_number_of_times(chain, schedule, operator)
        yield _operands_are_complete(chain, schedule, operator, region_axes)
        yield _required_regions_exist(chain, schedule, operator, region_axes)
    yield _shared_buffers_agree(chain, schedule)
    yield why_parts_cannot_combine(chain, schedule)


def _runs_the_right_number_of_times(chain: Chain, schedule: Schedule, operator: Operator) -> str:
    """Along a loop over a foreign axis an operator runs once, or again and again from zero if it is recomputed."""
    conditions = schedule.conditions(operator.name)
    recomputed = schedule.storage_of(operator.write.tensor) is not Storage.KEEP
    reductions = {axis.name for axis in operator.reduction_axes()}
    operator_axes, summing = operator.axis_names, False
    for axis in (loop.axis for loop in cutting(chain, schedule.path(operator.name))):
        if axis not in operator_axes and axis not in conditions:
            if not recomputed:
                return f"{operator.name} would run again at every block of {axis}, which it does not have"
            if summing:
                return f"{operator.name} is recomputed along {axis} inside a loop that sums it: {axis} must come first"
        summing = summing or axis in reductions
    return ""


def _operands_are_complete(chain: Chain, schedule: Schedule, operator: Operator, region_axes: RegionAxes) -> str:
    """At every block a consumer finds the block of each intermediate that it reads finished."""
    for tensor in dict.fromkeys(access.tensor for access in operator.reads):
        producer = chain.producer(tensor)
        if producer is None:
            continue
        alike = {*equal_axes(chain, tensor), *(axis for name, axis in region_axes if name == producer.name)}
        shared = common_path(schedule.path(producer.name), schedule.path(operator.name))
        for axis in (loop.axis for loop in cutting(chain, shared)):
            if axis not in alike and not _in_time(schedule, producer, operator, axis):
                return f"{operator.name} would read {tensor} before {producer.name} has finished it along {axis}"
    return ""


def _required_regions_exist(chain: Chain, schedule: Schedule, operator: Operator, region_axes: RegionAxes) -> str:
    """An operator that works on required regions of its consumers' blocks shares all loops with them but its own."""
    tensor = operator.write.tensor
    regions = {axis: region for (name, axis), region in region_axes.items() if name == operator.name}
    is_line_buffered = schedule.storage_of(tensor) is Storage.LINE_BUFFER
    if not regions and not is_line_buffered:
        return ""
    shared = shared_loops(schedule)
    for axis, region_axis in regions.items():
        if any(isinstance(chain.extents[name], SymbolicExtent) for name in (axis, *region_axis.slopes)):
            return f"the regions of {operator.name} would move along {axis}, whose length is known at run time only"
    consumers = chain.consumers(tensor)
    if regions and any(len(common_path(schedule.path(operator.name), schedule.path(c.name))) > len(shared) for c in consumers):
        return f"the regions of {operator.name} move along {', '.join(regions)} inside loops that not all operators share"
    if is_line_buffered and not (shared and line_buffer_axis(chain, region_axes, tensor, shared[-1].axis)):
        return f"{tensor} cannot have a circular line buffer along the innermost shared loop"
    return ""


def _in_time(schedule: Schedule, producer: Operator, consumer: Operator, axis: str) -> bool:
    made, used = schedule.conditions(producer.name).get(axis), schedule.conditions(consumer.name).get(axis)
    if axis in producer.axis_names or made is Trip.LAST:
        return used is Trip.LAST
    return True


def _shared_buffers_agree(chain: Chain, schedule: Schedule) -> str:
    for group in in_place_groups(chain):
        if len({schedule.storage_of(tensor) for tensor in group}) > 1:
            return f"{', '.join(group)} share a buffer and must be kept, recomputed or line-buffered together"
    return ""
