"""Figures of a plan: the work of each operator, the blocking and movement of each memory level, and the memory it takes."""

from __future__ import annotations

from tilewright.graph.types import Operator
from tilewright.leaves.declaration import KernelWork
from tilewright.plan.model.cost import whole_work
from tilewright.plan.model.cost_context import CostContext, flops
from tilewright.plan.model.memory.traffic import bytes_into, chain_figures, footprints, kernel_tile, share_bytes
from tilewright.plan.model.memory.working_set import live_bytes, working_set_bytes
from tilewright.plan.model.operands.packing_cost import operands_read_once
from tilewright.plan.model.pricing import Blocking
from tilewright.plan.regions.epilogues import maps_in_tiles
from tilewright.plan.regions.footprint import distinct_elements
from tilewright.plan.regions.loop_views import ChainView, OperatorView, blocks_in_view, view_schedule
from tilewright.plan.schedule import Pack, Schedule, box_sizes, planned_sizes
from tilewright.plan.types import LevelPlan, Movement, OperatorPlan


def operator_plans(context: CostContext, schedule: Schedule) -> tuple[OperatorPlan, ...]:
    """The micro kernel of every contraction and the useful share of its work; of a map in micro tiles, their contraction."""
    plans = []
    maps = maps_in_tiles(context.chain, schedule, context.kernels)
    for member in view_schedule(context.chain, schedule).operators:
        name = member.operator.name
        if name not in context.kernels:
            plans.append(OperatorPlan(name, epilogue_of=maps.get(name, "")))
            continue
        binding, walked = context.leaves[name], context.for_view(member)
        work = whole_work(walked, member.operator, member.tiles)
        plans.append(OperatorPlan(name, binding, _useful_share(context, member.operator, work)))
    return tuple(plans)


def _useful_share(context: CostContext, contraction: Operator, work: KernelWork) -> float:
    """Useful flops over those that the kernel could do in its time."""
    possible = work.seconds * context.kernels[contraction.name].attainable(context.machine)
    return float(flops(contraction, planned_sizes(context.chain)) / possible) if work.seconds else 1.0


def level_plans(context: CostContext, blocking: Blocking) -> tuple[LevelPlan, ...]:
    """The blocking of every cache: L1 inside a contraction's block, the fusion level, and the levels behind it."""
    outer = view_schedule(context.chain, blocking.outer)
    inner = view_schedule(context.chain, blocking.schedule)
    nearest = _nearest_level(context, inner) if context.fusion_position else ()
    return (*nearest, _fusion_level(context, outer), *_levels_behind(context, outer))


def movements_by_level(context: CostContext, blocking: Blocking) -> tuple[Movement, ...]:
    """Bytes of every tensor that cross into each cache: the traffic that the price counts."""
    view = view_schedule(context.chain, blocking.outer)
    around = chain_figures(context, view)
    totals: dict[tuple[str, str], int] = {}
    for member, inner in zip(view.operators, view_schedule(context.chain, blocking.schedule).operators, strict=True):
        block = footprints(context.for_view(member), member.operator, member.tiles)
        conflict = blocking.conflicts.get(member.operator.name, 1.0)
        is_cut = len(inner.loops) > len(member.loops)
        cut = (inner, footprints(context, member.operator, inner.tiles)) if is_cut else None
        moved = bytes_into(context, around, member, block, inner=cut, conflict=conflict)
        for level, sizes in moved.items():
            for operand, size_bytes in zip(context.operands[member.operator.name], sizes, strict=True):
                key = (operand.access.tensor, level)
                totals[key] = totals.get(key, 0) + int(size_bytes)
    position = {level.name: i for i, level in enumerate(context.cache_levels)}
    ordered = sorted(totals.items(), key=lambda item: position[item[0][1]])
    return tuple(Movement(tensor, level, size_bytes) for (tensor, level), size_bytes in ordered if size_bytes)


def scratch_bytes(context: CostContext, schedule: Schedule) -> int:
    """Packed operands (whole panels) and live intermediates of one thread."""
    sizes = planned_sizes(context.chain)
    live = int(live_bytes(view_schedule(context.chain, schedule)))
    packs = ((path, leaf) for path, leaf in schedule.leaves() if isinstance(leaf, Pack))
    return live + sum(_packed_bytes(context, pack, box_sizes(path, sizes)) for path, pack in packs)


def constant_bytes(context: CostContext, schedule: Schedule) -> int:
    """Constants that are packed ahead (whole panels): once, for all threads and calls."""
    sizes = planned_sizes(context.chain)
    return sum(_packed_bytes(context, pack, dict(sizes)) for pack in schedule.ahead)


def _fusion_level(context: CostContext, view: ChainView) -> LevelPlan:
    tiles = tuple({(loop.axis, int(member.tiles[loop.axis])): None for member in view.operators for loop in member.loops})
    order = tuple(dict.fromkeys(axis for axis, _ in tiles))
    used = int(working_set_bytes(view, operands_read_once(context, view)))
    return LevelPlan(context.fusion_level.name, order, tiles, used, context.capacity_bytes)


def _levels_behind(context: CostContext, view: ChainView) -> tuple[LevelPlan, ...]:
    """The outermost block of shared loops whose tensors a cache behind the fusion level holds; none where none fits."""
    around = chain_figures(context, view)
    plans = []
    for level in context.cache_levels[context.fusion_position + 1 :]:
        depth = next((depth for depth, fits in enumerate(around.held[level.name]) if fits), None)
        if depth is not None:
            loops = view.operators[-1].loops[:depth]
            tiles = tuple((loop.axis, int(view.operators[-1].tiles[loop.axis])) for loop in loops)
            blocks = blocks_in_view(view, len(around.touched_bytes) - 1)
            capacity = int(share_bytes(context, level, blocks)) if depth else level.size_bytes
            used = int(around.touched_bytes[depth])
            plans.append(LevelPlan(level.name, tuple(loop.axis for loop in loops), tiles, used, capacity))
    return tuple(plans)


def _nearest_level(context: CostContext, view: ChainView) -> tuple[LevelPlan, ...]:
    """Column panels outside, rows inside: what the contraction with the largest block keeps in L1 at a time.

    Of a depth that does not fit, the tile is what does: the rest of the panel streams through from the level behind.
    """
    plans = [_micro_block(context, member) for member in view.operators if member.operator.name in context.kernels]
    return tuple(sorted(plans, key=lambda plan: -plan.used_bytes)[:1])


def _micro_block(context: CostContext, member: OperatorView) -> LevelPlan:
    """A micro tile, with as much of its panels as fits; the capacity is in whole elements of the result."""
    roles, kernel = context.roles[member.operator.name], context.kernels[member.operator.name]
    block_rows, block_columns, block_depth = kernel_tile(context, member.operator, member.tiles)
    columns, rows = int(min(block_columns, kernel.columns)), int(min(block_rows, kernel.rows))
    facts = context.contractions[member.operator.name]
    left, target = facts.left_bytes, facts.target_bytes
    step = left * rows + context.packed_bytes(member.operator.name) * columns
    capacity = int(context.nearest_bytes) // target * target
    most = max((capacity - target * rows * columns) // step, 1)
    depth = int(min(block_depth, most))
    roles_and_tiles = ((roles.column, columns), (roles.row, rows), (roles.depth, depth))
    tiles = tuple((axis, tile) for axis, tile in roles_and_tiles if axis is not None)
    used = depth * step + target * rows * columns
    return LevelPlan(context.cache_levels[0].name, tuple(axis for axis, _ in tiles), tiles, used, capacity)


def _packed_bytes(context: CostContext, pack: Pack, box: dict[str, int]) -> int:
    """What a packed operand takes of a box, with what its layout fills up."""
    roles = context.roles[pack.operator]
    whole = {roles.depth: pack.layout.interleave, roles.column: max(pack.layout.panel_columns, 1)}
    filled = box | {axis: -(-box[axis] // size) * size for axis, size in whole.items() if axis is not None}
    elements = int(distinct_elements(context.chain.operator(pack.operator).reads[pack.read], filled))
    return context.packed_bytes(pack.operator) * elements
