"""What serves each memory level under a schedule, and what moves into it."""

from __future__ import annotations

from math import prod

from tilewright.graph.types import Access, Operator
from tilewright.plan.cost import ELEMENT_BYTES, Setting, passes
from tilewright.plan.footprint import swept_elements
from tilewright.plan.movement import access_movement, outer_accesses
from tilewright.plan.schedule import Compute, Schedule
from tilewright.plan.types import LevelPlan, Movement
from tilewright.plan.views import ChainView, OperatorView, view_schedule
from tilewright.plan.working_set import live_intermediates, working_set


def level_plans(setting: Setting, schedule: Schedule) -> tuple[LevelPlan, ...]:
    """The blocking of L1 (inside a contraction's block) and of the fusion level (the schedule's loops)."""
    view = view_schedule(setting.chain, schedule)
    fusion = _fusion_level(setting, schedule, view)
    return fusion if len(setting.cache_levels) < 2 else (*_nearest_level(setting, view), *fusion)


def movements_by_level(setting: Setting, schedule: Schedule) -> tuple[Movement, ...]:
    """Bytes of every tensor that cross into each cache; a cache that holds all tensors of the chain sees each of them once."""
    view = view_schedule(setting.chain, schedule)
    totals: dict[tuple[str, str], int] = {}
    for position, level in enumerate(setting.cache_levels):
        for one, access, is_output in _accesses(view):
            elements = _elements_into(setting, view, position, one, access, is_output)
            key = (access.tensor, level.name)
            totals[key] = totals.get(key, 0) + ELEMENT_BYTES * elements
    return tuple(Movement(tensor, level, size_bytes) for (tensor, level), size_bytes in totals.items() if size_bytes)


def _fusion_level(setting: Setting, schedule: Schedule, view: ChainView) -> tuple[LevelPlan, ...]:
    loops = [loop for path, leaf in schedule.leaves() if isinstance(leaf, Compute) for loop in path]
    tiles = tuple({(loop.axis, loop.tile): None for loop in loops})
    order = tuple(dict.fromkeys(axis for axis, _ in tiles))
    used = ELEMENT_BYTES * int(working_set(view))
    return (LevelPlan(setting.fusion_level.name, order, tiles, used, setting.capacity_bytes),)


def _nearest_level(setting: Setting, view: ChainView) -> tuple[LevelPlan, ...]:
    """Column panels outside, rows inside: what the contraction with the largest block keeps in L1 at a time.

    Of a depth that does not fit, the tile is what does: the rest of the panel streams through from the level behind.
    """
    level = setting.cache_levels[0]
    capacity = int(setting.coefficients.l1_share * level.size_bytes)
    plans = [_micro_block(setting, one, capacity) for one in view.operators if one.operator.is_contraction()]
    return tuple(sorted(plans, key=lambda plan: -plan.used_bytes)[:1])


def _micro_block(setting: Setting, one: OperatorView, capacity: int) -> LevelPlan:
    roles, kernel = setting.roles[one.operator.name], setting.kernels[one.operator.name]
    columns = int(min(one.tiles[roles.column], kernel.columns)) if roles.column is not None else 1
    rows = int(min(one.tiles[roles.row], kernel.rows)) if roles.row is not None else 1
    most = max((capacity // ELEMENT_BYTES - rows * columns) // (rows + columns), 1)
    depth = int(min(one.tiles[roles.depth], most)) if roles.depth is not None else 1
    roles_and_tiles = ((roles.column, columns), (roles.row, rows), (roles.depth, depth))
    tiles = tuple((axis, tile) for axis, tile in roles_and_tiles if axis is not None)
    used = ELEMENT_BYTES * (depth * (columns + rows) + rows * columns)
    return LevelPlan(setting.cache_levels[0].name, tuple(axis for axis, _ in tiles), tiles, used, capacity)


def _accesses(view: ChainView) -> list[tuple[OperatorView, Access, bool]]:
    """All accesses of the chain, those to intermediates included."""
    outer = list(outer_accesses(view))
    inner = []
    for one in view.operators:
        inner += [(one, read, False) for read in dict.fromkeys(one.operator.reads) if read.tensor in view.chain.intermediates]
        inner += [(one, one.operator.write, True)] if one.operator.write.tensor in view.chain.intermediates else []
    return [*outer, *inner]


def _elements_into(setting: Setting, view: ChainView, position: int, one: OperatorView, access: Access, is_output: bool) -> int:
    level = setting.cache_levels[position]
    is_live = access.tensor in setting.chain.intermediates
    if level.name == setting.fusion_level.name:
        return 0 if is_live else int(access_movement(one, access, setting.sizes, is_output))
    if position == 0:
        return _into_nearest(setting, view, one, access, is_output)
    if is_live:
        return 0
    once = int(swept_elements(access, setting.sizes, setting.sizes))
    moved = int(access_movement(one, access, setting.sizes, is_output))
    return min(once, moved) if setting.compulsory_bytes <= level.size_bytes else moved


def _into_nearest(setting: Setting, view: ChainView, one: OperatorView, access: Access, is_output: bool) -> int:
    """Elements into L1: an intermediate that fits stays; every block loads its operands, in each pass or as `_rereads` says."""
    usable = setting.coefficients.l1_share * setting.cache_levels[0].size_bytes / ELEMENT_BYTES
    fits = int(live_intermediates(view)) <= usable
    if access.tensor in setting.chain.intermediates and fits:
        return 0
    once = int(swept_elements(access, one.tiles, setting.sizes))
    visits = prod(int(loop.trips) for loop in one.running() if loop.axis not in access.axes())
    if is_output:
        return once * (2 * visits - 1)
    if not one.operator.is_contraction():
        return once * visits * passes(one.operator)
    return once * visits * _rereads(setting, one, one.operator, access, usable)


def _rereads(setting: Setting, one: OperatorView, operator: Operator, access: Access, usable: float) -> int:
    """How often a block's operand comes into L1 while the micro kernel runs over the block.

    A panel of B that fits serves all rows, and A stays if it fits beside the panel.
    """
    roles, kernel = setting.roles[operator.name], setting.kernels[operator.name]
    rows, columns, depth = (int(one.tiles[axis]) if axis else 1 for axis in (roles.row, roles.column, roles.depth))
    panel = depth * kernel.columns
    if access == operator.reads[roles.right]:
        return 1 if panel <= usable else -(-rows // kernel.rows)
    return 1 if rows * depth + panel <= usable else -(-columns // kernel.columns)
