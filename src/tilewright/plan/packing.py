"""Where operands are packed: right operands of contractions, into panels of the micro kernel's columns.

A packed panel is read front to back, without set conflicts at power-of-two strides, by every block of rows. Left operands are
broadcast element by element and are read in place, whatever their strides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tilewright.graph.types import Access, Chain, Operator
from tilewright.plan.cost import ELEMENT_BYTES, Setting
from tilewright.plan.footprint import distinct_elements, swept_elements
from tilewright.plan.ranges import box_sizes, planned_sizes, trip_counts
from tilewright.plan.schedule import Compute, Layout, Loop, Node, Pack, Schedule
from tilewright.plan.views import Count, LoopView, OperatorView


def with_packs(setting: Setting, schedule: Schedule) -> Schedule:
    """The schedule with Pack leaves: as far out as the packed block fits, but inside leading loops that index the operand.

    An intermediate whose columns are not contiguous is packed where its consumer starts, once it is there.
    """
    for operator in setting.chain.operators:
        if operator.is_contraction() and (pack := _pack(setting, operator)) is not None:
            path = schedule.path(operator.name)
            depth = pack_depth(setting, schedule, operator)
            outside = path[depth - 1] if depth else None
            body = _insert(schedule.body, pack, outside, path[depth] if depth < len(path) else None)
            schedule = replace(schedule, body=body)
    return schedule


def is_packed(chain: Chain, column: str | None, access: Access) -> bool:
    """Whether a right operand is packed: inputs always are, intermediates if their columns do not lie side by side."""
    if access.tensor not in chain.intermediates:
        return True
    last = access.indices[-1] if access.indices else None
    return column is not None and (last is None or last.coefficient(column) != 1)


def pack_depth(setting: Setting, schedule: Schedule, operator: Operator) -> int:
    """How many of the loops around an operator stand outside the Pack of its right operand."""
    roles = setting.roles[operator.name]
    access = operator.reads[roles.right]
    path = schedule.path(operator.name)
    sizes = planned_sizes(setting.chain)
    first = _first_depth(setting, schedule, operator, access, path, trip_counts(path, sizes))
    for depth in range(first, len(path)):
        if packed_bytes(access, box_sizes(path[:depth], sizes)) <= setting.pack_limit_bytes:
            return depth
    return len(path)


def packed_bytes(access: Access, box: Mapping[str, int]) -> int:
    """The size of a packed block, without the padding of its last panel."""
    return ELEMENT_BYTES * int(distinct_elements(access, box))


def packed_elements(setting: Setting, view: OperatorView) -> Count:
    """How many elements are packed for an operator in all, by the rule of `with_packs`; tiles may be arrays."""
    operator = view.operator
    if not operator.is_contraction():
        return 0
    roles = setting.roles[operator.name]
    access = operator.reads[roles.right]
    if not is_packed(setting.chain, roles.column, access):
        return 0
    depth = len(_leading(view.running(), access))
    inside = {loop.axis for loop in view.running()[:depth]}
    box = {axis: view.tiles[axis] if axis in inside else size for axis, size in setting.sizes.items()}
    fits = distinct_elements(access, box) * ELEMENT_BYTES <= setting.pack_limit_bytes
    once = swept_elements(access, view.tiles, setting.sizes)
    repeated = once
    for loop in view.running():
        repeated = repeated * (1 if loop.axis in access.axes() else loop.trips)
    return np.where(fits, once, repeated)


def _leading(loops: tuple[LoopView, ...], access: Access) -> tuple[LoopView, ...]:
    count = next((i for i, loop in enumerate(loops) if loop.axis not in access.axes()), len(loops))
    return loops[:count]


def _pack(setting: Setting, operator: Operator) -> Pack | None:
    roles = setting.roles[operator.name]
    if roles.column is None or not is_packed(setting.chain, roles.column, operator.reads[roles.right]):
        return None
    return Pack(operator.name, roles.right, Layout.PANELS, setting.kernels[operator.name].columns)


def _first_depth(
    setting: Setting,
    schedule: Schedule,
    operator: Operator,
    access: Access,
    path: tuple[Loop, ...],
    trips: tuple[int, ...],
) -> int:
    """Behind the leading loops that index the operand; for an intermediate, behind all loops shared with its producer."""
    producer = setting.chain.producer(access.tensor)
    if producer is not None:
        outside = {id(loop) for loop in schedule.path(producer.name)}
        return sum(id(loop) in outside for loop in path)
    depth = 0
    while depth < len(path) and (path[depth].axis in access.axes() or trips[depth] == 1):
        depth += 1
    return depth


def _insert(body: tuple[Node, ...], pack: Pack, outside: Loop | None, before: Loop | None) -> tuple[Node, ...]:
    """Insert a Pack below `outside` (None: at the top), in front of the loop `before` (None: the operator's own leaf)."""
    if outside is None:
        return _insert_here(body, pack, before)
    return tuple(
        replace(
            node, body=_insert_here(node.body, pack, before) if node is outside else _insert(node.body, pack, outside, before)
        )
        if isinstance(node, Loop)
        else node
        for node in body
    )


def _insert_here(body: tuple[Node, ...], pack: Pack, before: Loop | None) -> tuple[Node, ...]:
    place = next(i for i, node in enumerate(body) if node is before or _is_leaf(node, pack.operator))
    return (*body[:place], pack, *body[place:])


def _is_leaf(node: Node, operator: str) -> bool:
    return isinstance(node, Compute) and node.operator == operator
