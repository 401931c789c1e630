"""A planning problem as data for the search core, in the order in which reading.c reads it.

Axes, tensors and operators are numbered; a set of axes is a mask of 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, pairwise

from tilewright.graph.types import Chain, SymbolicExtent
from tilewright.leaves.declaration import WAYS
from tilewright.plan.chains import axis_names, equal_axes, tensor_axes
from tilewright.plan.decisions.split_reductions import split_axis
from tilewright.plan.element_types import held_bytes
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.pages import FOLLOWED_ROWS
from tilewright.plan.model.needed_work import key_alignment
from tilewright.plan.regions.live_ranges import buffers_in_turns, users_of
from tilewright.plan.regions.masked_pairs import shares_of_pairs
from tilewright.plan.regions.masks import key_mask_of
from tilewright.plan.schedule import planned_sizes
from tilewright.plan.search.core.data import (
    MOST_BUFFERS,
    MOST_LEVELS,
    MOST_PLACES,
    MOST_TABLE_AXES,
    BeyondLimits,
    Data,
    Numbers,
    Packed,
)
from tilewright.plan.search.core.operators import pack_operator, pack_readings
from tilewright.plan.space.schedule_space import Space, broadcast
from tilewright.plan.threads import LATE_SHARE, enough_blocks

_problems = count(1)
"""Numbers of problems: by its number the core knows the one that it has read."""


def packed_problem(space: Space, numbers: Numbers) -> Packed:
    """The problem of a space. Raises `BeyondLimits`."""
    data, context = Data([next(_problems)]), space.context
    _pack_machine(data, context)
    _pack_space(data, space, numbers)
    for tensor in context.chain.tensors:
        _pack_tensor(data, context.chain, tensor.name, numbers)
    kinds = _kinds(context)
    for operator in context.chain.operators:
        data.integers.append(len(context.operands[operator.name]))
        pack_operator(data, context, operator, numbers, kinds.get(operator.name, -1))
        pack_readings(data, context.chain, operator, numbers)
    pack_places(data, context.chain, buffers_in_turns(context.chain), numbers)
    _pack_guard(data, space, numbers)
    return data.packed()


def _pack_machine(data: Data, context: CostContext) -> None:
    chain, machine, cost = context.chain, context.machine, context.coefficients
    if len(context.cache_levels) > MOST_LEVELS:
        raise BeyondLimits
    counts = (len(chain.extents), len(chain.operators), len(chain.tensors), len(context.cache_levels))
    data.integers += (*counts, context.fusion_position, context.source_position, context.capacity_bytes, context.pack_limit_bytes)
    data.integers += (machine.cores, enough_blocks(machine.cores), split_axis(chain) is not None)
    for level, behind in pairwise(machine.levels):
        data.integers += (level.size_bytes, min(level.shared_by_cores, machine.cores))
        data.reals.append(behind.bandwidth_bytes_per_s)
    data.reals += (context.nearest_bytes, cost.overlapped_traffic, cost.visible_traffic, cost.visible_l1_traffic)
    data.reals += (cost.least_gain, cost.equal_within, cost.tile_end_cycles, cost.block_cycles, machine.frequency_hz)
    data.reals += (cost.pass_cycles_per_vector, machine.parallel_region_s, LATE_SHARE, cost.prefetch_hides, cost.far_page_cycles)
    data.reals += (cost.lookup_cycles, cost.stream_cycles, cost.run_cycles, machine.page_bytes, machine.tlb_entries)
    data.reals += (machine.second_tlb_entries, cost.visible_later_passes, WAYS)
    data.reals += (context.cache_levels[0].line_bytes, FOLLOWED_ROWS)


def _pack_space(data: Data, space: Space, numbers: Numbers) -> None:
    chain = space.context.chain
    data.integers += planned_sizes(chain).values()
    data.integers += [isinstance(extent, SymbolicExtent) for extent in chain.extents.values()]
    data.integers.append(numbers.mask(space.batch))
    for axis in chain.extents:
        data.integers.append(len(space.outer_tiles(axis)) if axis in space.tiles else 0)
        data.counted(space.tiles.get(axis, ()))
    data.integers.append(len(space.groups))
    for group in space.groups:
        data.counted([numbers.axes[axis] for axis in group])


def _pack_tensor(data: Data, chain: Chain, name: str, numbers: Numbers) -> None:
    producer = chain.producer(name)
    if producer is None or name not in chain.intermediates:
        data.integers += (-1, 0, 0, 0, 0)
        return
    consumers = chain.consumers(name)
    data.integers.append(numbers.operators[producer.name])
    data.counted([numbers.axes[axis] for axis in tensor_axes(producer.write)])
    data.integers.append(numbers.mask(equal_axes(chain, name)))
    data.integers.append(sum(1 << numbers.operators[consumer.name] for consumer in consumers))
    data.integers.append(numbers.mask(axis_names(consumers)))


def _kinds(context: CostContext) -> dict[str, int]:
    """Of operators that are like others, with the same micro kernel."""
    known: dict[tuple[int, str], int] = {}
    kernels = {name: context.kernels[name].name if name in context.kernels else "" for name in context.kinds}
    return {name: known.setdefault((kind, kernels[name]), len(known)) for name, kind in context.kinds.items()}


def pack_places(data: Data, chain: Chain, places: Sequence[Sequence[tuple[str, ...]]], numbers: Numbers) -> None:
    """The buffers that intermediates share: see `live_ranges`."""
    if len(places) > MOST_PLACES or any(len(groups) > MOST_BUFFERS for groups in places):
        raise BeyondLimits
    data.integers.append(len(places))
    for groups in places:
        data.integers.append(len(groups))
        for group in groups:
            data.counted([numbers.tensors[tensor] for tensor in group])
            data.integers.append(max(held_bytes(chain, tensor) for tensor in group))
            data.integers.append(sum(1 << numbers.operators[name] for name in users_of(chain, group)))
            data.integers.append(numbers.mask(frozenset.intersection(*(equal_axes(chain, tensor) for tensor in group))))


def _pack_guard(data: Data, space: Space, numbers: Numbers) -> None:
    """What masks leave of the pairs of a row and a key, by tiles of the rows: `needed_work.guarded_work`."""
    context, key_mask = space.context, key_mask_of(space.context.chain)
    data.integers.append(key_mask is not None)
    if key_mask is None:
        return
    if len(key_mask.row_axes) > MOST_TABLE_AXES:
        raise BeyondLimits
    tiles = {axis: _tiles_of_rows(space, axis) for axis in key_mask.row_axes}
    data.integers.append(numbers.axes[key_mask.axis])
    data.counted([numbers.axes[axis] for axis in tiles])
    data.integers += map(len, tiles.values())
    for some in tiles.values():
        data.integers += some
    grid = broadcast(tuple(tiles), tiles)
    align, step = key_alignment(context, key_mask)
    for figure in shares_of_pairs(context.chain, align, step, *grid.values()):
        data.whole(figure, tuple(map(len, tiles.values())))


def _tiles_of_rows(space: Space, axis: str) -> tuple[int, ...]:
    size = planned_sizes(space.context.chain)[axis]
    found = {min(tile, size) for tile in space.tiles.get(axis, ())} | {size} | ({1} if axis in space.batch else set())
    return tuple(sorted(found))
