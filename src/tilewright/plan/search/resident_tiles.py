"""Tiles that stay on chip while other operators run: how much they take, and which combinations of them are tried."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from tilewright.arrays import Count
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.working_set import resident_elements
from tilewright.plan.regions.loop_views import ChainView, OperatorView
from tilewright.plan.schedule import FusedGroup, fused_group_of

MOST_RESIDENT = 4
"""Operators of which every combination of tiles that stay and tiles that are read again is tried."""

Resident: TypeAlias = tuple[Count, Count]
"""Bytes of an operator's tiles that stay on chip while another runs: outside its fused group, and inside it."""


def resident_bytes(context: CostContext, chain_view: ChainView, groups: Sequence[FusedGroup], view: OperatorView) -> Resident:
    """What stays on chip of an operator's tiles while others run: the same for all of its fused group, and for all others."""
    name = view.operator.name
    outer = [operand for operand in context.operands[name] if not operand.is_intermediate]
    others = [member for member in chain_view.operators if member.operator.name != name]

    def stays(is_outside: bool) -> Count:
        beside = next((other for other in others if _is_outside(groups, other.operator.name, name) == is_outside), None)
        if beside is None:
            return 0
        return sum(operand.element_bytes * resident_elements(chain_view, beside, view, operand.access) for operand in outer)

    return stays(True), stays(False)


def resident_bytes_of_others(
    stay: Mapping[str, Resident], rereading: Mapping[str, bool], fused_groups: Sequence[FusedGroup]
) -> dict[str, Count]:
    """For every operator what stays of the tiles of all others while it runs, unless they are read again."""
    kept: dict[str, Resident] = {name: (0, 0) if rereading[name] else size_bytes for name, size_bytes in stay.items()}
    every: Count = sum(outside for outside, _ in kept.values())
    beside: dict[str, Count] = {name: inside - outside for name, (outside, inside) in kept.items()}
    more: dict[FusedGroup, Count] = {group: sum(beside[name] for name in group.operators) for group in fused_groups}
    found: dict[str, Count] = {}
    for name, (outside, inside) in kept.items():
        group = fused_group_of(fused_groups, name)
        found[name] = every - outside if group is None else every + more[group] - inside
    return found


def rereading_combinations(stay: Mapping[str, Resident], alike: Mapping[str, Hashable]) -> Iterator[dict[str, bool]]:
    """Every combination of operators whose tiles are read again; first all that may stay do.

    In chains where more than `MOST_RESIDENT` operators could keep a tile: all of them, one of each kind, none.
    """
    able = [name for name, size_bytes in stay.items() if np.any(np.asarray(sum(size_bytes)) > 0)]
    if len(able) <= MOST_RESIDENT:
        every: Iterable[tuple[bool, ...]] = product((False, True), repeat=len(able))
    else:
        every = _all_single_none([alike[name] for name in able])
    for rereading in sorted(every, key=sum):
        yield {**dict.fromkeys(stay, False), **dict(zip(able, rereading, strict=True))}


def _is_outside(fused_groups: Sequence[FusedGroup], left: str, right: str) -> bool:
    """Whether two operators share the outer loops only."""
    group = fused_group_of(fused_groups, left)
    return group is None or group != fused_group_of(fused_groups, right)


def _all_single_none(kinds: Sequence[Hashable]) -> Iterator[tuple[bool, ...]]:
    """None of some operators, the first of every kind alone, all."""
    yield (False,) * len(kinds)
    yield from (tuple(i == kinds.index(kind) for i in range(len(kinds))) for kind in dict.fromkeys(kinds))
    yield (True,) * len(kinds)
