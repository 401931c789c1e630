"""Packs of a schedule: the loops that each stands inside, and what is packed ahead of all calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tilewright.plan.layout import panels
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.schedule import Compute, Loop, Node, Pack, Schedule


def with_packs(context: CostContext, schedule: Schedule, depths: dict[str, int], ahead: Iterable[str] = ()) -> Schedule:
    """The schedule with a Pack for each named contraction: inside so many of the loops around it, or ahead of all calls."""
    schedule = replace(schedule, ahead=tuple(_pack(context, name) for name in ahead))
    for name, depth in depths.items():
        pack, path = _pack(context, name), schedule.path(name)
        outside = path[depth - 1] if depth else None
        schedule = replace(schedule, body=_insert(schedule.body, pack, outside, path[depth] if depth < len(path) else None))
    return schedule


def _pack(context: CostContext, name: str) -> Pack:
    kernel = context.kernels[name]
    return Pack(name, context.roles[name].right, panels(kernel.columns, kernel.interleave))


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
