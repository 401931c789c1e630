"""Working set of every operator of a schedule: Algorithm 1's MU with everything that must stay resident.

An operator needs its inner tiles, the live part of every intermediate, and every tile of other operators whose reuse the
movement formula credits across it: a stationary A or E stays while the other operator runs.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from functools import reduce
from typing import TypeAlias

from tilewright.arrays import Condition, Count, as_integer, either, maximum, minimum, product, surely_not
from tilewright.graph.types import Access
from tilewright.plan.chains import axis_names, equal_axes, tensor_axes
from tilewright.plan.element_types import held_bytes
from tilewright.plan.regions.footprint import distinct_elements
from tilewright.plan.regions.live_ranges import is_lasting, shared_buffers
from tilewright.plan.regions.loop_views import ChainView, LoopView, OperatorView
from tilewright.plan.regions.online_reductions import live_states
from tilewright.plan.schedule import Storage, Trip

OuterAccess: TypeAlias = tuple[OperatorView, Access, bool]
"""An access of an operator to an input or output of the chain, and whether it is a write."""


def outer_accesses(view: ChainView) -> Iterator[OuterAccess]:
    """Every access to an input or output of the chain; equal reads of one operator once."""
    intermediates = set(view.chain.intermediates)
    for operator_view in view.operators:
        operator = operator_view.operator
        for access in dict.fromkeys(operator.reads):
            if access.tensor not in intermediates:
                yield operator_view, access, False
        if operator.write.tensor not in intermediates:
            yield operator_view, operator.write, True


def working_set_bytes(view: ChainView, read_once: Collection[tuple[str, Access]] = (), live: Count | None = None) -> Count:
    """The largest working set of any operator without reads (operator, access) that are `read_once`; tiles may be arrays.

    `live` is what intermediates take, if that is known.
    """
    live = live_bytes(view) if live is None else live
    accesses = [one for one in outer_accesses(view) if one[2] or (one[0].operator.name, one[1]) not in read_once]
    known: dict[Hashable, Count] = {}
    needs = [live + _resident(view, running, accesses, known) for running in view.operators]
    return as_integer(reduce(maximum, needs))


def _resident(view: ChainView, running: OperatorView, accesses: Sequence[OuterAccess], known: dict[Hashable, Count]) -> Count:
    """What accesses take while an operator runs; those of others under the same loops are `known` after the first."""
    alike = running.operator.name if running.conditions else tuple(loop.node for loop in running.loops)
    total: Count = 0
    for number, (owner, access, _) in enumerate(accesses):
        key = number, running.operator.name if owner is running else alike
        if key not in known:
            known[key] = held_bytes(view.chain, access.tensor) * resident_elements(view, running, owner, access)
        total = total + known[key]
    return total


def live_bytes(view: ChainView) -> Count:
    """What all buffers take that hold intermediates, and the states of rows that run online.

    Tensors that share a buffer in place, or take a place in turns, count once, at their largest; those that lie where the
    output does need none.
    """
    buffers = sum(_buffers(view, groups) for groups in shared_buffers(view))
    return as_integer(buffers + live_states(view))


def held_sizes(view: ChainView, tensor: str) -> dict[str, Count]:
    """The held extent of every axis of an intermediate: `live_blocks.live_blocks` for tiles that may be arrays."""
    chain = view.chain
    producer = chain.maker(tensor)
    views = [view.of(producer.name), *(view.of(consumer.name) for consumer in chain.consumers(tensor))]
    equal = equal_axes(chain, tensor)
    held: dict[str, Count] = {axis: view.sizes[axis] for axis in tensor_axes(producer.write)}
    behind_barrier: Condition = False
    for loops in zip(*(member.loops for member in views), strict=False):
        loop = loops[0]
        if any(neighbour.node != loop.node for neighbour in loops):
            break
        if loop.axis in views[0].regions:
            continue
        if loop.axis in equal:
            tile = minimum(views[0].tiles[loop.axis], view.sizes[loop.axis])
            held[loop.axis] = either(behind_barrier, held[loop.axis], tile)
        elif _is_barrier(view, tensor, views, loop.axis):
            behind_barrier = behind_barrier | (loop.trips > 1)
    return {**held, **{axis: region.largest for axis, region in views[0].regions.items()}}


def _buffers(view: ChainView, groups: tuple[tuple[str, ...], ...]) -> Count:
    """Of the buffers that lie in one place in turns, and of those among them that have to have their own."""
    reused: Count = 0
    lasting: Count = 0
    for group in groups:
        size = _group_elements(view, group) * max(held_bytes(view.chain, tensor) for tensor in group)
        lasts = is_lasting(view, group) if len(groups) > 1 else False
        reused = maximum(reused, either(lasts, 0, size))
        lasting = lasting + either(lasts, size, 0)
    return reused + lasting


def _group_elements(view: ChainView, group: tuple[str, ...]) -> Count:
    members = [held_sizes(view, tensor) for tensor in group]
    sizes = [reduce(maximum, (held[axis] for held in members)) for axis in members[0]]
    return as_integer(product(sizes))


def _is_barrier(view: ChainView, tensor: str, views: list[OperatorView], axis: str) -> bool:
    producer, *consumers = views
    if axis in producer.operator.axis_names:
        return True
    if axis in axis_names(consumer.operator for consumer in consumers):
        return view.storage[tensor] is Storage.KEEP
    return axis in producer.conditions and any(axis not in consumer.conditions for consumer in consumers)


def resident_elements(view: ChainView, running: OperatorView, owner: OperatorView, access: Access) -> Count:
    """Elements of an access's tile that stay while `running` works: all of it for the owner, else only if its reuse spans it."""
    if running.operator.name == owner.operator.name:
        return _tile_elements(view, owner, access)
    axes, loops = access.axes(), owner.running()
    between = [loop.axis not in axes and _runs_between(view, running, owner, loop) for loop in loops]
    if not any(between):
        return 0
    reused: Condition = False
    reuse_ended: Condition = False
    outermost = between.index(True)
    for loop, is_between in zip(reversed(loops[outermost:]), reversed(between[outermost:]), strict=True):
        if loop.axis in axes:
            reuse_ended = reuse_ended | (loop.trips > 1)
        elif is_between:
            reused = either(reuse_ended, reused, reused | (loop.trips > 1))
    return 0 if surely_not(reused) else either(reused, _tile_elements(view, owner, access), 0)


def _tile_elements(view: ChainView, owner: OperatorView, access: Access) -> Count:
    """The largest tile of an access."""
    largest = owner.largest()
    return distinct_elements(access, {axis: minimum(largest[axis], view.sizes[axis]) for axis in access.axes()})


def _runs_between(view: ChainView, running: OperatorView, owner: OperatorView, loop: LoopView) -> bool:
    """Whether an operator runs between two trips of a loop at whose every trip the owner of a tile runs."""
    if all(loop.node != candidate.node for candidate in running.loops):
        return False
    condition = running.conditions.get(loop.axis)
    if condition is None:
        return True
    names = [member.operator.name for member in view.operators]
    is_before = names.index(running.operator.name) < names.index(owner.operator.name)
    return is_before if condition is Trip.LAST else not is_before
