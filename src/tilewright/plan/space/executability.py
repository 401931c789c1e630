"""Schedules from loop orders, and whether a schedule can be executed.

`permuted` gives the paper's schedules (Chimera, section IV-B): one nest of all loops. `prefixed` gives the space that is
searched: an ordered prefix of loops around all operators, and under it a nest of its own for each. It contains every
executable permutation's movement, and generalises to any number of operators.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby

from tilewright.graph.types import Chain, Operator, SymbolicExtent
from tilewright.plan.chains import axis_names, equal_axes, upstream
from tilewright.plan.regions.live_blocks import in_place_groups
from tilewright.plan.regions.online_reductions import why_parts_cannot_merge, why_rows_must_be_whole
from tilewright.plan.regions.required_regions import Follows, follows, rolled_axis, schedule_follows, shared_loops
from tilewright.plan.regions.trip_counts import largest_sizes, trip_counts
from tilewright.plan.schedule import Compute, Loop, Node, Schedule, Segment, Storage, Trip, When, common_path, segment_of


def permuted(
    chain: Chain, order: Sequence[str], tiles: Mapping[str, int], *, storage: Storage | Mapping[str, Storage] = Storage.KEEP
) -> Schedule:
    """One nest of loops in this order (outermost first) around all operators; axes left out have no loop.

    A producer runs at the first block of loops that only operators behind it have (at every block if its result is
    recomputed); a consumer runs at the last block of loops that only operators before it have. `storage` is one decision
    for all intermediates, or one for each by name. Whether the result can be executed, `is_executable` says.
    """
    decisions = {t: storage if isinstance(storage, Storage) else storage.get(t, Storage.KEEP) for t in chain.intermediates}
    body: tuple[Node, ...] = tuple(
        Compute(operator.name, _conditions(chain, operator, order, decisions)) for operator in chain.operators
    )
    return Schedule(nest(order, tiles, body), tuple(decisions.items()))


def prefixed(
    chain: Chain,
    prefix: Sequence[str],
    own_orders: Mapping[str, Sequence[str]],
    tiles: Mapping[str, int],
    own_tiles: Mapping[str, Mapping[str, int]] | None = None,
    rolled: Collection[str] = (),
    segments: Sequence[Segment] = (),
) -> Schedule:
    """Loops of the prefix around everything, then for every operator the nest of its own order (none if not named).

    The operators of a segment stand together in its loops.

    Intermediates whose producer lacks a loop of the prefix are recomputed, or rolled along the innermost loop, and so is all
    that they are computed from. `own_tiles` overrides `tiles` for the own loops of an operator.
    """
    own = own_tiles or {}
    body: list[Node] = []
    for segment, members in groupby((op.name for op in chain.operators), lambda name: segment_of(segments, name)):
        nests = [nest(own_orders.get(name, ()), {**tiles, **own.get(name, {})}, (Compute(name),)) for name in members]
        body += nest(segment.axes if segment else (), tiles, tuple(node for nodes in nests for node in nodes))
    return Schedule(nest(prefix, tiles, tuple(body)), tuple(prefix_storage(chain, prefix, rolled).items()))


def prefix_storage(chain: Chain, prefix: Sequence[str], rolled: Collection[str] = ()) -> dict[str, Storage]:
    """What a prefix makes of every intermediate: kept if producer and consumers walk alike along all loops, else recomputed
    or, where it is named in `rolled`, rolled."""
    return {tensor: _prefix_storage(chain, prefix, tensor, rolled) for tensor in chain.intermediates}


def may_roll(chain: Chain, prefix: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The intermediates that can be rolled along the last loop of a prefix; those that share a buffer together."""
    storage = prefix_storage(chain, prefix)
    follow = follows(chain, storage, prefix)
    able = {tensor for tensor in storage if prefix and rolled_axis(chain, follow, tensor, prefix[-1])}
    return tuple(group for group in in_place_groups(chain) if able.issuperset(group))


def _prefix_storage(chain: Chain, prefix: Sequence[str], tensor: str, rolled: Collection[str]) -> Storage:
    if set(prefix) <= equal_axes(chain, tensor):
        return Storage.KEEP
    return Storage.ROLL if tensor in rolled else Storage.RECOMPUTE


def nest(order: Sequence[str], tiles: Mapping[str, int], body: tuple[Node, ...]) -> tuple[Node, ...]:
    """The loops of an order, outermost first, around a body."""
    for axis in reversed(order):
        body = (Loop(axis, tiles[axis], body),)
    return body


def is_executable(chain: Chain, schedule: Schedule) -> bool:
    """Whether every operator finds its operands complete, and nothing is summed twice."""
    return not why_not_executable(chain, schedule)


def why_not_executable(chain: Chain, schedule: Schedule) -> str:
    """The first reason why a schedule cannot be executed; empty if it can. Symbolic extents may have any allowed value."""
    leaves = {leaf.operator: loops for loops, leaf in schedule.leaves() if isinstance(leaf, Compute)}
    if tuple(leaves) != tuple(operator.name for operator in chain.operators):
        return "the operators do not run in topological order, each at one place"
    follow = schedule_follows(chain, schedule)
    checks = (_rows_are_whole, _runs_the_right_number_of_times, _operands_are_complete, _images_are_found)
    problems = (check(chain, schedule, operator, follow) for operator in chain.operators for check in checks)
    return next(filter(None, problems), "") or _shared_buffers_agree(chain, schedule) or why_parts_cannot_merge(chain, schedule)


def _conditions(chain: Chain, operator: Operator, order: Sequence[str], storage: Mapping[str, Storage]) -> tuple[When, ...]:
    own, before = axis_names((operator,)), axis_names(upstream(chain, operator))
    conditions = []
    for axis in order:
        if axis not in own and axis in before:
            conditions.append(When(axis, Trip.LAST))
        elif axis not in own and storage.get(operator.write.tensor) is not Storage.RECOMPUTE:
            conditions.append(When(axis, Trip.FIRST))
    return tuple(conditions)


def _cutting_axes(chain: Chain, schedule: Schedule, operator: Operator) -> tuple[str, ...]:
    """The axes of the loops around an operator that can have more than one trip, outermost first."""
    path = schedule.path(operator.name)
    trips = trip_counts(path, largest_sizes(chain))
    return tuple(loop.axis for loop, count in zip(path, trips, strict=True) if count > 1)


def _rows_are_whole(chain: Chain, schedule: Schedule, operator: Operator, _: Follows) -> str:
    return why_rows_must_be_whole(chain, schedule, operator)


def _runs_the_right_number_of_times(chain: Chain, schedule: Schedule, operator: Operator, _: Follows) -> str:
    """Along a loop over a foreign axis an operator runs once, or again and again from zero if it is recomputed."""
    conditions = schedule.conditions(operator.name)
    recomputed = schedule.storage_of(operator.write.tensor) is not Storage.KEEP
    reductions = {axis.name for axis in operator.reduction_axes()}
    own, summing = axis_names((operator,)), False
    for axis in _cutting_axes(chain, schedule, operator):
        if axis not in own and axis not in conditions:
            if not recomputed:
                return f"{operator.name} would run again at every block of {axis}, which it does not have"
            if summing:
                return f"{operator.name} is recomputed along {axis} inside a loop that sums it: {axis} must come first"
        summing = summing or axis in reductions
    return ""


def _operands_are_complete(chain: Chain, schedule: Schedule, operator: Operator, follow: Follows) -> str:
    """At every block a consumer finds the block of each intermediate that it reads finished."""
    for tensor in dict.fromkeys(access.tensor for access in operator.reads):
        producer = chain.producer(tensor)
        if producer is None:
            continue
        alike = {*equal_axes(chain, tensor), *(axis for name, axis in follow if name == producer.name)}
        for axis in _shared_cuts(chain, schedule, producer, operator):
            if axis not in alike and not _in_time(chain, schedule, producer, operator, axis):
                return f"{operator.name} would read {tensor} before {producer.name} has finished it along {axis}"
    return ""


def _images_are_found(chain: Chain, schedule: Schedule, operator: Operator, follow: Follows) -> str:
    """An operator that works on images of its consumers' blocks shares all loops with them but its own."""
    tensor = operator.write.tensor
    own = {axis: one for (name, axis), one in follow.items() if name == operator.name}
    if not own and schedule.storage_of(tensor) is not Storage.ROLL:
        return ""
    shared = shared_loops(schedule)
    for axis, one in own.items():
        if any(isinstance(chain.extents[other], SymbolicExtent) for other in (axis, *one.slopes)):
            return f"{operator.name} would follow its consumers along {axis}, whose length is known at run time only"
    consumers = chain.consumers(tensor)
    if own and any(len(common_path(schedule.path(operator.name), schedule.path(c.name))) > len(shared) for c in consumers):
        return f"{operator.name} follows its consumers along {', '.join(own)} inside loops that not all operators share"
    if schedule.storage_of(tensor) is Storage.ROLL and not (shared and rolled_axis(chain, follow, tensor, shared[-1].axis)):
        return f"{tensor} cannot be rolled along the innermost shared loop"
    return ""


def _shared_cuts(chain: Chain, schedule: Schedule, producer: Operator, consumer: Operator) -> tuple[str, ...]:
    first, second = schedule.path(producer.name), schedule.path(consumer.name)
    shared = sum(one is other for one, other in zip(first, second, strict=False))
    trips = trip_counts(first, largest_sizes(chain))[:shared]
    return tuple(loop.axis for loop, count in zip(first[:shared], trips, strict=True) if count > 1)


def _in_time(chain: Chain, schedule: Schedule, producer: Operator, consumer: Operator, axis: str) -> bool:
    made, used = schedule.conditions(producer.name).get(axis), schedule.conditions(consumer.name).get(axis)
    if axis in axis_names((producer,)) or made is Trip.LAST:
        return used is Trip.LAST
    return True


def _shared_buffers_agree(chain: Chain, schedule: Schedule) -> str:
    for group in in_place_groups(chain):
        if len({schedule.storage_of(tensor) for tensor in group}) > 1:
            return f"{', '.join(group)} share a buffer and must be kept, recomputed or rolled together"
    return ""
