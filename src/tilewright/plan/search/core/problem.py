"""A planning problem as data for the search core, in the order in which `problem.c` reads it.

Axes, tensors and operators are numbered; a set of axes is a mask of 64 bits.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from tilewright.arrays import Quantity
from tilewright.graph.expressions.index import Index
from tilewright.graph.types import AxisKind, Chain, Operator, SymbolicExtent, element_bytes
from tilewright.kernels.contract import MicroKernel, OperandRole
from tilewright.kernels.dialects.vocabulary import ROW_UNROLL
from tilewright.plan.chains import axis_names, equal_axes, tensor_axes
from tilewright.plan.decisions.split_reductions import split_axis
from tilewright.plan.element_types import held_bytes
from tilewright.plan.model.cost import (
    attained,
    divides_in_pass,
    least_work,
    measure,
    seconds_per_element,
)
from tilewright.plan.model.cost_context import CostContext, Operand
from tilewright.plan.model.memory.pages import FOLLOWED_ROWS, comes_from_memory, is_far
from tilewright.plan.model.memory.traffic import passes, set_conflict
from tilewright.plan.model.needed_work import key_alignment, least_guarded_work
from tilewright.plan.model.operands import packing_cost
from tilewright.plan.model.operands.prefetch_gain import is_followed, place_of, share_on_same_page
from tilewright.plan.model.threads import LEAST_PARALLEL_S
from tilewright.plan.regions.epilogues import uncut_axes
from tilewright.plan.regions.footprint import Footprint, values_of_tiles
from tilewright.plan.regions.live_ranges import buffers_in_turns, users_of
from tilewright.plan.regions.loop_views import OperatorView
from tilewright.plan.regions.masked_pairs import shares_of_pairs
from tilewright.plan.regions.masks import is_plain_mask, key_mask_of
from tilewright.plan.regions.online_reductions import divided_by_readers, row_axes, softmax_weights, weights_read
from tilewright.plan.regions.required_regions import readings
from tilewright.plan.regions.window_taps import window_taps
from tilewright.plan.schedule import planned_sizes
from tilewright.plan.search.bounds import tile_bytes
from tilewright.plan.space.schedule_space import Space, broadcast

MOST_AXES = 60
MOST_OPERATORS = 60
MOST_OPERANDS = 64
MOST_LEVELS = 8
MOST_WINDOWS = 3
MOST_INDICES = 4
MOST_TABLE_AXES = 8
MOST_READINGS = 8
MOST_TERMS = 4
MOST_PLACES = 16
MOST_BUFFERS = 16
"""What the core has room for."""


class BeyondLimits(Exception):
    """A problem that the core has no room or no formula for: the Python formulas search it."""


@dataclass(slots=True)
class Data:
    """What the core reads: integers, reals, and the figures of tables."""

    integers: list[int] = field(default_factory=list)
    reals: list[float] = field(default_factory=list)
    figures: list[np.ndarray] = field(default_factory=list)
    size: int = 0

    def counted(self, numbers: Sequence[int]) -> None:
        """Integers behind their number."""
        self.integers.append(len(numbers))
        self.integers += numbers

    def table(self, figure: Quantity, rank: int) -> None:
        """A figure over so many dimensions, by its place and strides; 0 along dimensions on which it does not depend."""
        values = np.asarray(figure, dtype=np.float64)
        shape = values.shape or (1,) * rank
        step, strides = 1, [0] * rank
        for dimension in range(rank - 1, -1, -1):
            if shape[dimension] > 1:
                strides[dimension] = step
                step *= shape[dimension]
        self.integers.append(self.size)
        self.integers += strides
        self.figures.append(values.reshape(-1))
        self.size += values.size

    def counted_pairs(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Pairs of integers behind their number."""
        self.integers.append(len(pairs))
        self.integers += [number for pair in pairs for number in pair]

    def whole(self, figure: Quantity, shape: tuple[int, ...]) -> None:
        """A figure with an element for every point, by its place."""
        values = np.broadcast_to(np.asarray(figure, dtype=np.float64), shape)
        self.integers.append(self.size)
        self.figures.append(values.reshape(-1))
        self.size += values.size

    def packed(self) -> Packed:
        """The same as memory that C reads."""
        figures = np.concatenate(self.figures) if self.figures else np.zeros(1)
        return Packed(array("q", self.integers), array("d", self.reals), figures)


@dataclass(frozen=True, slots=True)
class Packed:
    """Integers, reals and figures as C reads them."""

    integers: array[int]
    reals: array[float]
    figures: np.ndarray

    def addresses(self) -> tuple[int, int, int]:
        """Where these lie."""
        return self.integers.buffer_info()[0], self.reals.buffer_info()[0], self.figures.__array_interface__["data"][0]


class Numbers:
    """The numbers of a chain's axes, tensors and operators."""

    def __init__(self, chain: Chain) -> None:
        self.axes = {axis: number for number, axis in enumerate(chain.extents)}
        self.tensors = {tensor.name: number for number, tensor in enumerate(chain.tensors)}
        self.sizes = planned_sizes(chain)
        self.operators = {operator.name: number for number, operator in enumerate(chain.operators)}
        if len(self.axes) > MOST_AXES or len(self.operators) > MOST_OPERATORS or len(self.tensors) > MOST_AXES:
            raise BeyondLimits

    def mask(self, axes: Iterable[str]) -> int:
        """Some axes as one number."""
        return sum(1 << self.axes[axis] for axis in set(axes))

    def axis(self, axis: str | None) -> int:
        """The number of an axis, -1 for none."""
        return -1 if axis is None else self.axes[axis]


def packed_problem(space: Space, numbers: Numbers) -> Packed:
    """The problem of a space. Raises `BeyondLimits`."""
    data, context = Data(), space.context
    _pack_machine(data, context)
    _pack_space(data, space, numbers)
    for tensor in context.chain.tensors:
        _pack_tensor(data, context.chain, tensor.name, numbers)
    kinds = _kinds(context)
    for operator in context.chain.operators:
        data.integers.append(len(context.operands[operator.name]))
        _pack_operator(data, context, operator, numbers, kinds.get(operator.name, -1))
        _pack_readings(data, context.chain, operator, numbers)
    pack_places(data, context.chain, buffers_in_turns(context.chain), numbers)
    _pack_guard(data, space, numbers)
    return data.packed()


def _pack_machine(data: Data, context: CostContext) -> None:
    chain, machine, cost = context.chain, context.machine, context.coefficients
    if len(context.cache_levels) > MOST_LEVELS:
        raise BeyondLimits
    counts = (len(chain.extents), len(chain.operators), len(chain.tensors), len(context.cache_levels))
    data.integers += (*counts, context.fusion_position, context.source_position, context.capacity_bytes, context.pack_limit_bytes)
    data.integers += (machine.cores, context.enough_blocks, split_axis(chain) is not None)
    for level, behind in pairwise(machine.levels):
        data.integers += (level.size_bytes, min(level.shared_by_cores, machine.cores))
        data.reals.append(behind.bandwidth_bytes_per_s)
    data.reals += (context.nearest_bytes, cost.overlapped_traffic, cost.visible_traffic, cost.visible_l1_traffic)
    data.reals += (cost.least_gain, cost.equal_within, cost.tile_end_cycles, cost.block_cycles, machine.frequency_hz)
    data.reals += (cost.pass_cycles_per_vector, machine.parallel_region_s, cost.prefetch_hides, cost.far_page_cycles)
    data.reals += (cost.lookup_cycles, cost.stream_cycles, cost.run_cycles, machine.page_bytes, machine.tlb_entries)
    data.reals += (machine.second_tlb_entries, cost.visible_later_passes, LEAST_PARALLEL_S, ROW_UNROLL)
    data.reals += (context.cache_levels[0].line_bytes, FOLLOWED_ROWS, context.arithmetic_s)


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


def _pack_operator(data: Data, context: CostContext, operator: Operator, numbers: Numbers, kind: int) -> None:
    chain, name, operands = context.chain, operator.name, context.operands[operator.name]
    key_mask = key_mask_of(chain)
    is_masked = key_mask is not None and name in key_mask.operators
    data.integers.append(numbers.mask(operator.axis_names))
    data.counted([numbers.axes[axis.name] for axis in operator.axes])
    data.integers.append(numbers.mask(axis.name for axis in operator.axes if axis.kind is AxisKind.PARALLEL))
    guard = 0 if not is_masked else 2 if is_plain_mask(chain, name) else 1
    data.integers += (kind, name in context.in_tiles, guard, passes(operator))
    data.reals += (context.vectors_per_element(operator), float(least_guarded_work(context, name).computed))
    if len(operands) > MOST_OPERANDS:
        raise BeyondLimits
    data.integers.append(len(operands))
    for operand in operands:
        _pack_operand(data, operand, numbers, key_mask.axis if is_masked and key_mask is not None else None)
    _pack_vectors(data, context, operator, numbers)
    data.integers.append(name in context.kernels)
    if name in context.kernels:
        _pack_contraction(data, context, operator, numbers)


def _pack_operand(data: Data, operand: Operand, numbers: Numbers, guarded: str | None) -> None:
    data.integers.append(numbers.mask(operand.axes))
    data.integers += (operand.is_write, operand.is_intermediate, guarded in operand.axes)
    data.integers += (operand.element_bytes, numbers.tensors[operand.access.tensor])
    pack_footprint(data, operand.footprint, numbers)


def pack_footprint(data: Data, footprint: Footprint, numbers: Numbers) -> None:
    """How elements follow from tiles. Raises `BeyondLimits` where more moves along a dimension than it has room for."""
    if len(footprint.windows) > MOST_WINDOWS or any(len(window.indices) > MOST_INDICES for window in footprint.windows):
        raise BeyondLimits
    data.counted([numbers.axes[axis] for axis in footprint.plain])
    data.integers.append(len(footprint.windows))
    for window in footprint.windows:
        data.integers += (len(window.indices), numbers.mask(window.axes))
        for index in window.indices:
            _pack_index(data, index, numbers)


def _pack_index(data: Data, index: Index, numbers: Numbers) -> None:
    if not index.is_affine() and len(index.axes()) == 1:
        (axis,) = index.axes()
        data.integers += (-1, numbers.axes[axis])
        data.counted(values_of_tiles(index, numbers.sizes[axis]))
        return
    if not index.is_affine() or len(index.terms) > MOST_TERMS:
        raise BeyondLimits
    data.integers.append(len(index.terms))
    for atom, factor in index.terms:
        data.integers += (abs(factor), numbers.axes[str(atom)])


PLAIN, CORRECTED, ROWS, WEIGHTS, STATES = range(5)
"""What `vector_seconds` adds to the functions of an operator; nothing where it has `STATES` only."""


def _pack_vectors(data: Data, context: CostContext, operator: Operator, numbers: Numbers) -> None:
    chain, rows_of, name = context.chain, weights_read(context.chain, operator), operator.name
    is_reduction = operator.is_row_reduction() and operator.reduction is not None and not window_taps(operator)
    weights = softmax_weights(operator)
    plain = STATES if weights else PLAIN
    mode = CORRECTED if rows_of is not None else (WEIGHTS if weights else ROWS) if is_reduction else plain
    data.integers.append(mode)
    if mode == PLAIN:
        return
    reduced = rows_of if rows_of is not None else operator
    states = len(operator.reduction.states) if operator.reduction is not None else 0
    data.integers.append(numbers.mask(axis.name for axis in reduced.reduction_axes()))
    data.integers.append(numbers.mask(row_axes(operator)))
    data.integers.append(int(rows_of is not None and divides_in_pass(context, operator, rows_of)))
    data.integers += (states, divided_by_readers(chain, name) if weights else 0)
    data.integers.append(held_bytes(chain, operator.write.tensor) * (len(weights.factors) + 1) if weights else 0)
    factors = [factor for _, factor in weights.factors if factor is not None] if weights else []
    taking = context.lanes(operator) * seconds_per_element(context, operator, factors, 1 + len(weights.factors)) if weights else 0
    roots = [operator.body, *(state.contribution for state in operator.reduction.states)] if weights else []  # type: ignore[union-attr]
    shares = seconds_per_element(context, operator, roots, passes(operator) - 1) if weights else 0.0
    data.reals.append(seconds_per_element(context, operator, (), 1))
    data.reals.append(states * context.coefficients.row_cycles / context.machine.frequency_hz)
    levels = context.machine.levels
    element = max((operand.element_bytes for operand in context.operands[name]), default=0)
    data.reals += (taking, shares, element, levels[min(1, len(levels) - 1)].bandwidth_bytes_per_s)


def _pack_contraction(data: Data, context: CostContext, operator: Operator, numbers: Numbers) -> None:
    name, machine, cost = operator.name, context.machine, context.coefficients
    kernel, roles, facts = context.kernels[name], context.roles[name], context.contractions[name]
    read_once = packing_cost.operand_read_once(context, operator)
    from_memory = comes_from_memory(context, operator)
    has_runs = read_once is not None and from_memory and not kernel.right_by_columns
    view = OperatorView(operator, (), {}, context.sizes)
    follows = bool(kernel.prefetch) and is_followed(context, view, kernel)
    data.integers.append(numbers.mask(uncut_axes(context.chain, operator)))
    data.integers += map(numbers.axis, (roles.row, roles.column, roles.depth))
    data.counted([numbers.axes[axis] for axis in roles.outer])
    data.integers += (kernel.rows, kernel.columns, facts.left, facts.right, context.packed_bytes(name))
    data.integers += (facts.left_bytes, facts.right_bytes, facts.target_bytes, facts.row_stride)
    may_pack, may_stay = packing_cost.may_pack(context, operator), packing_cost.may_stay(context, operator)
    data.integers += (may_pack, packing_cost.may_pack_ahead(context, operator), may_stay, has_runs)
    data.integers += (from_memory or is_far(context, facts), from_memory, follows)
    data.reals.append(2 * attained(context, kernel) / kernel.attainable(machine))
    data.reals.append(packing_cost.copy_seconds_per_element(context, operator) if may_pack else 0.0)
    data.reals += (packing_cost.page_share(context, operator), packing_cost.pages_beside(context, operator))
    far = may_stay and packing_cost.no_cache_holds_right(context, operator)
    data.reals.append(cost.far_page_cycles if far else cost.page_cycles)
    data.reals.append(facts.left_bytes * facts.left_row_stride / machine.page_bytes)
    data.reals.append(facts.target_bytes * facts.target_row_stride / machine.page_bytes)
    data.reals.append(facts.row_stride * facts.right_bytes / machine.page_bytes)
    data.reals += [set_conflict(context, operator, level) for level in (context.cache_levels[0], context.fusion_level)]
    pack_prefetches(data, context, operator, kernel)


def pack_prefetches(data: Data, context: CostContext, operator: Operator, kernel: MicroKernel) -> None:
    """What a micro kernel of a contraction prefetches: one of the tile that its kernel has."""
    data.integers.append(len(kernel.prefetch))
    types = dict(zip((OperandRole.LEFT, OperandRole.RIGHT, OperandRole.TARGET), kernel.element_types, strict=True))
    for role in map(OperandRole, kernel.prefetch):
        served = len(context.cache_levels) - 1 if role is not OperandRole.TARGET else context.fusion_position
        data.integers += (list(OperandRole).index(role), place_of(context, operator, role), max(served, 1))
        cycles = dict(context.coefficients.prefetch_cycles_per_line)[role]
        data.reals += (share_on_same_page(context, operator, role), element_bytes(types[role]), cycles)


def _pack_readings(data: Data, chain: Chain, operator: Operator, numbers: Numbers) -> None:
    """How consumers read an operator's result, along the axes that may have required regions: `required_regions.readings`."""
    written = [axis for index in operator.write.indices for axis in index.axes()]
    data.integers.append(numbers.tensors[operator.write.tensor])
    data.counted([numbers.axes[axis] for axis in written])
    found = readings(chain, operator) if chain.consumers(operator.write.tensor) else {}
    if len(found) > MOST_READINGS:
        raise BeyondLimits
    data.integers.append(len(found))
    for axis, ways in found.items():
        data.integers += (numbers.axes[axis], len(ways))
        for way in ways:
            if len(way.index.terms) > MOST_TERMS:
                raise BeyondLimits
            data.integers += (numbers.operators[way.consumer], way.index.constant, len(way.index.terms))
            for atom, factor in way.index.terms:
                data.integers += (factor, numbers.axes[str(atom)])


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


Extents = Mapping[tuple[str, str], Sequence[tuple[int, int]]]
"""Of required regions, by operator and axis: pairs of a tile and the points of all blocks together."""


def packed_tables(space: Space, numbers: Numbers, extents: Extents) -> Packed:
    """The figures of blocks of all tiles, of required regions behind them, and of the least that blocks cost: `bounds`."""
    data, context = Data(), space.context
    known: dict[Hashable, tuple[Quantity, ...]] = {}
    for operator in context.chain.operators:
        own = {axis: extents.get((operator.name, axis), ()) for axis in context.sizes if axis in operator.axis_names}
        axes = [axis for axis, pairs in own.items() if axis in space.tiles or pairs]
        if len(axes) > MOST_TABLE_AXES:
            raise BeyondLimits
        data.integers.append(len(axes))
        tiles = {axis: _own_tiles(space, axis) for axis in axes}
        for axis in axes:
            data.integers += (numbers.axes[axis], len(tiles[axis]))
            data.counted_pairs(own[axis])
        key = _table_key(context, operator, tiles, own)
        if key not in known:
            known[key] = _figures(context, operator, tiles, own)
        for figure in known[key]:
            data.table(figure, len(axes))
    return data.packed()


def _own_tiles(space: Space, axis: str) -> tuple[int, ...]:
    return (1,) if axis in space.batch else space.tiles.get(axis, (planned_sizes(space.context.chain)[axis],))


def _table_key(
    context: CostContext, operator: Operator, tiles: Mapping[str, tuple[int, ...]], extents: Mapping[str, Any]
) -> Hashable:
    """Equal for equal layers, whose figures are the same."""
    kind = context.kinds.get(operator.name)
    if kind is None or any(extents.values()):
        return operator.name
    kernel = context.kernels[operator.name].name if operator.name in context.kernels else ""
    places = [axis.name for axis in operator.axes]
    return kind, kernel, tuple((places.index(axis), some) for axis, some in tiles.items())


def _figures(
    context: CostContext,
    operator: Operator,
    tiles: Mapping[str, tuple[int, ...]],
    extents: Mapping[str, Sequence[tuple[int, int]]],
) -> tuple[Quantity, ...]:
    every = {axis: (*some, *(tile for tile, _ in extents[axis])) for axis, some in tiles.items()}
    sizes_of = planned_sizes(context.chain)
    totals = {axis: (*(sizes_of[axis],) * len(tiles[axis]), *(total for _, total in extents[axis])) for axis in tiles}
    grid, walked = broadcast(tuple(every), every), broadcast(tuple(every), totals)
    sizes = {axis: walked[axis] if extents.get(axis) else size for axis, size in context.sizes.items()}
    box = {axis: np.minimum(grid[axis], sizes[axis]) if axis in grid else size for axis, size in sizes.items()}
    walking = context.with_sizes(sizes) if any(extents.values()) else context
    block = measure(walking, operator, box)
    work, used = least_work(walking, operator, block), tile_bytes(walking, operator, block)
    moved = next(iter(work.traffic_bytes.values()))
    operands = (figure for pair in zip(block.footprints.tile, block.footprints.swept, strict=True) for figure in pair)
    own = (block.arithmetic_s, block.functions_s, block.calls, used)
    return (*own, work.functions_s, work.packing_s, work.overhead_s, moved, *operands)
