"""Traffic into every memory level: the loops of a schedule walked from where that level's tiles end.

Traffic into a level follows from the loops outside its tile: reuse along a loop lasts only within the tile of the next level
out. The fusion level's tile is an operator's block. L1's is what fits of the block: the micro kernel is called by generated
loops over column panels and, inside them, rows, which count as loops of one trip (transparent) where what lies inside fits. A
cache behind the fusion level holds the outermost block of shared loops that fits. An intermediate stays in the fusion level; in
L1 it is an operand like any other, unless all of what is live fits there.

The movement of a tensor into a level is its size times the number of times that its tiles are replaced: Chimera's Algorithm 1,
corrected. Walking an operator's loops from the innermost outwards, a loop that indexes the tensor ends reuse; from there on every
outer loop multiplies. There are five corrections to the printed algorithm:

1. Exact extents: M*K*ceil(L/T_L), not tiles times trip counts. Only so do Table III and the paper's bound hold.
2. A loop with one trip is transparent: it does not end reuse.
3. A partially summed output that is visited r times costs r writes and r - 1 reads: (2r - 1) times its size.
4. Keeping an intermediate and recomputing it are two schedules. Under recomputation the loops that only consumers have
   repeat the producer's movement too (the paper's text counts this, its algorithm does not).
5. Memory use counts live intermediate state: see `working_set`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise
from math import gcd
from operator import eq
from typing import TypeAlias

from tilewright.arrays import Condition, Count, Quantity, either, maximum, minimum, surely, surely_not
from tilewright.block.execution import Sums
from tilewright.graph.moments import takes_moments
from tilewright.graph.types import Operator
from tilewright.machine.description import MemoryLevel
from tilewright.plan.model.cost_context import CostContext, Operand
from tilewright.plan.model.memory.working_set import live_bytes
from tilewright.plan.regions.loop_views import ChainView, LoopView, OperatorView, blocks_in_view
from tilewright.records import record

Moved: TypeAlias = Mapping[str, tuple[Quantity, ...]]
"""Bytes of every operand of an operator that move into each cache level."""
Counts: TypeAlias = tuple[Count, ...]


def tile_visits(loops: Sequence[LoopView], axes: frozenset[str]) -> Count:
    """How often every tile of an access comes back: the trips of loops that do not index it, outside the end of reuse."""
    outermost = next((number for number, loop in enumerate(loops) if loop.axis not in axes), len(loops))
    visits: Count = 1
    reuse_ended: Condition = False
    for loop in reversed(loops[outermost:]):  # loops around these index the access
        if loop.axis in axes:
            reuse_ended = reuse_ended | (loop.trips > 1)
        elif reuse_ended is not False:
            visits = visits * either(reuse_ended, loop.trips, 1)
    return visits


class Visits:
    """`tile_visits` of several accesses inside the same loops: once for all that the same loops index."""

    def __init__(self, loops: Sequence[LoopView]) -> None:
        self.loops = loops
        self.known: dict[tuple[bool, ...], Count] = {}

    def of(self, axes: frozenset[str]) -> Count:
        """Of an access along these axes."""
        indexed = tuple([loop.axis in axes for loop in self.loops])
        if indexed not in self.known:
            self.known[indexed] = tile_visits(self.loops, axes)
        return self.known[indexed]


@record
class ChainFigures:
    """What the price of one operator needs of the rest of the chain."""

    live_bytes: Count
    """Of all intermediates."""
    shared_loops: Mapping[str, int]
    """In how many of an operator's outermost loops another one stands as well."""
    held: Mapping[str, tuple[Condition, ...]]
    """For every cache behind the fusion level: whether it holds all that is touched inside the first 0, 1, ... shared loops."""
    touched_bytes: tuple[Count, ...]
    """Inputs and outputs inside the first 0, 1, ... shared loops; empty without a cache behind."""


@record
class Footprints:
    """For every operand of an operator: elements of one tile, and of all tiles together."""

    tile: tuple[Count, ...]
    swept: tuple[Count, ...]


def chain_figures(context: CostContext, view: ChainView, live: Count | None = None) -> ChainFigures:
    """Of all operators under a schedule, or under a family of them; `live` is what intermediates take, if that is known."""
    paths = [[loop.node for loop in member.loops] for member in view.operators]
    shared = sum(len(set(nodes)) == 1 for nodes in zip(*paths, strict=False))
    beside = [shared, *(sum(map(eq, *pair)) for pair in pairwise(paths)), shared]
    together = {member.operator.name: max(pair) for member, pair in zip(view.operators, pairwise(beside), strict=True)}
    behind = context.cache_levels[context.fusion_position + 1 :]
    touched = [_touched_bytes(context, view, depth) for depth in range(shared + 1)] if behind else []
    held = {}
    blocks = blocks_in_view(view, shared)
    for level in behind:
        sizes = [level.size_bytes, *([share_bytes(context, level, blocks)] * shared)]
        fits = [bytes_inside <= size for bytes_inside, size in zip(touched, sizes, strict=True)]
        held[level.name] = tuple(reduce(lambda left, right: left | right, fits[: depth + 1]) for depth in range(shared + 1))
    return ChainFigures(live_bytes(view) if live is None else live, together, held, tuple(touched))


def share_bytes(context: CostContext, level: MemoryLevel, blocks: Count) -> Count:
    """What one core has of a cache while the blocks of a plan run: cores that do not exist, or have no block, take no share."""
    return level.size_bytes // minimum(min(level.shared_by_cores, context.machine.cores), blocks)


def footprints(context: CostContext, operator: Operator, tiles: Mapping[str, Count]) -> Footprints:
    """The footprints of an operator's operands in blocks of these tiles; tiles may be arrays."""
    operands = context.operands[operator.name]
    tile = tuple(operand.footprint.elements(tiles) for operand in operands)
    return Footprints(tile, tuple(operand.footprint.swept(tiles, context.sizes) for operand in operands))


def bytes_into(
    context: CostContext,
    around: ChainFigures,
    view: OperatorView,
    block: Footprints,
    *,
    inner: tuple[OperatorView, Footprints] | None = None,
    conflict: float = 1.0,
) -> dict[str, tuple[Count, ...]]:
    """Bytes of every operand that one operator moves into each cache level, by level.

    `inner` is the view with the loops that cut the block for L1 as well, and its footprints. `conflict` is how many times its
    size a panel of the right operand occupies in L1.
    """
    operands = context.operands[view.operator.name]
    moved: dict[str, tuple[Count, ...]] = {}
    into_fusion_level: tuple[Count, ...] = ()
    for position, level in enumerate(context.cache_levels):
        if position == context.fusion_position:
            moved[level.name] = into_fusion_level = _outer(operands, block.swept, view.running())
        elif position == 0:
            nearest, inner_block = inner or (view, block)
            moved[level.name] = _into_nearest(context, around, nearest, inner_block, conflict)
        elif position < context.fusion_position:
            moved[level.name] = moved[context.cache_levels[0].name]  # no block is made for it: what L1 lacks comes through it
        else:
            moved[level.name] = _behind(operands, block.swept, view.running(), around.held[level.name], into_fusion_level)
    return _overflowing(context, view.operator, block, moved) if conflict > 1 else moved


def _overflowing(context: CostContext, operator: Operator, block: Footprints, moved: dict[str, Counts]) -> dict[str, Counts]:
    """A right operand in place whose tile overflows its sets of the fusion level comes from behind it whenever it enters L1."""
    number = context.contractions[operator.name].right
    fusion, nearest = context.fusion_level, context.cache_levels[0]
    tile_bytes = context.operands[operator.name][number].element_bytes * block.tile[number]
    spread = tile_bytes * set_conflict(context, operator, fusion)
    behind = list(moved[fusion.name])
    again = maximum(behind[number], moved[nearest.name][number])
    behind[number] = either(spread > context.capacity_bytes, again, behind[number])
    return {**moved, fusion.name: tuple(behind)}


def set_conflict(context: CostContext, operator: Operator, level: MemoryLevel) -> float:
    """How many times its size a panel of an unpacked right operand occupies in a cache: rows at a stride meet few of its sets.

    A row of a panel covers some consecutive sets, and rows start at every `gcd(sets, stride in lines)`-th set.
    """
    roles, kernel = context.roles[operator.name], context.kernels[operator.name]
    facts = context.contractions[operator.name]
    element = facts.right_bytes
    stride_bytes = element * facts.row_stride
    row_lines = -(-kernel.columns * element // level.line_bytes)
    if roles.depth is None or stride_bytes % level.line_bytes:
        return 1.0
    covered = min(level.sets, level.sets // gcd(level.sets, stride_bytes // level.line_bytes) * row_lines)
    return level.sets / covered


def passes(context: CostContext, operator: Operator) -> int:
    """How often a map or row-wise reduction goes over its operands: once, and once more for every state of its reduction.

    Moments of long rows are summed together.
    """
    if takes_moments(operator, Sums().long_steps * context.lanes(operator)):
        return 2
    return 1 + (len(operator.reduction.states) if operator.reduction is not None else 0)


def kernel_tile(context: CostContext, operator: Operator, tiles: Mapping[str, Count]) -> tuple[Count, Count, Count]:
    """Rows, columns and depth of a contraction's block."""
    roles = context.roles[operator.name]
    rows, columns, depth = (tiles[axis] if axis is not None else 1 for axis in (roles.row, roles.column, roles.depth))
    return rows, columns, depth


def _touched_bytes(context: CostContext, view: ChainView, depth: int) -> Count:
    """What the operators touch of inputs and outputs inside so many of the shared loops."""
    touched: dict[str, Count] = {}
    for member in view.operators:
        inside = {loop.axis for loop in member.loops[:depth]}
        box = {axis: member.tiles[axis] if axis in inside else size for axis, size in context.sizes.items()}
        for operand in context.operands[member.operator.name]:
            if not operand.is_intermediate:
                size_bytes = operand.element_bytes * operand.footprint.elements(box)
                before = touched.get(operand.access.tensor)
                touched[operand.access.tensor] = size_bytes if before is None else maximum(before, size_bytes)
    return sum(touched.values())


def _outer(operands: Sequence[Operand], swept: Sequence[Count], loops: Sequence[LoopView]) -> tuple[Count, ...]:
    visits, pairs = Visits(loops), zip(operands, swept, strict=True)
    return tuple(0 if operand.is_intermediate else _moved(operand, all_tiles, visits) for operand, all_tiles in pairs)


def _behind(
    operands: Sequence[Operand], swept: Counts, loops: Sequence[LoopView], held: tuple[Condition, ...], into_fusion_level: Counts
) -> Counts:
    """What moves into a cache behind the fusion level."""
    if surely_not(held[-1]):  # nothing is held inside any loop: `held` grows with the loops
        return into_fusion_level
    return _outer(operands, swept, () if surely(held[0]) else outside(loops, held))


def _moved(operand: Operand, swept: Count, times: Visits) -> Count:
    """A partially summed output that is visited r times is written r times and read back r - 1 times."""
    visits = times.of(operand.axes)
    return operand.element_bytes * swept * (2 * visits - 1 if operand.is_write else visits)


def outside(loops: Sequence[LoopView], held: tuple[Condition, ...]) -> tuple[LoopView, ...]:
    """The loops, where those inside a block that the cache holds have one trip."""
    last = len(held) - 1
    return tuple(LoopView(loop.axis, either(held[min(i, last)], 1, loop.trips), loop.node) for i, loop in enumerate(loops))


def _into_nearest(context: CostContext, around: ChainFigures, view: OperatorView, block: Footprints, conflict: float) -> Counts:
    operator, operands = view.operator, context.operands[view.operator.name]
    if operator.name in context.kernels:
        _, _, depth = kernel_tile(context, operator, view.tiles)
        panel = context.packed_bytes(operator.name) * depth * context.kernels[operator.name].columns
        loops, times = (*view.running(), *_kernel_loops(context, view, block, conflict)), 1
    else:
        panel, loops, times = 0, view.running(), passes(context, operator)
    stays = around.live_bytes + panel <= context.nearest_bytes
    moved, visits = [], Visits(loops)
    for operand, swept in zip(operands, block.swept, strict=True):
        size_bytes = _moved(operand, swept, visits) * (1 if operand.is_write else times)
        moved.append(either(stays, 0, size_bytes) if operand.is_intermediate else size_bytes)
    return tuple(moved)


def _kernel_loops(context: CostContext, view: OperatorView, block: Footprints, conflict: float) -> tuple[LoopView, ...]:
    """The loops around the micro kernel inside a block, outermost first; those of which L1 holds the inside have one trip."""
    roles, kernel = context.roles[view.operator.name], context.kernels[view.operator.name]
    rows, columns, depth = kernel_tile(context, view.operator, view.tiles)
    usable = context.nearest_bytes
    panel = context.packed_bytes(view.operator.name) * depth * kernel.columns * conflict
    tiles = zip(context.operands[view.operator.name], block.tile, strict=True)
    all_fits = sum(operand.element_bytes * tile for operand, tile in tiles) * conflict <= usable
    rows_fit = context.contractions[view.operator.name].left_bytes * rows * depth + panel <= usable
    panel_fits = panel <= usable
    named = [(axis, all_fits, view.tiles[axis]) for axis in roles.outer]
    named += [(roles.column or "", all_fits, -(-columns // kernel.columns))]
    named += [(roles.row or "", rows_fit, -(-rows // kernel.rows)), (roles.depth or "", panel_fits, depth)]
    return tuple(LoopView(axis, either(fits, 1, trips), -1) for axis, fits, trips in named if axis)
