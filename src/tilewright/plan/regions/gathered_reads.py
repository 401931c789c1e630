"""Gathered reads: at positions that data gives, every point of the positions counts as another row.

For x[ids[b, s], d] as many rows of x are read as there are points (b, s) in a block: in the eyes of the planner the read is
x[S * b + s, d], of which each row is read once.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.positions import NamedLookup, named_lookup
from tilewright.graph.types import Access, Chain, Operator
from tilewright.plan.reasons import Barrier, CannotFuse
from tilewright.plan.schedule import planned_sizes


def without_lookups(chain: Chain) -> Chain:
    """The chain to plan in the place of one with lookups; a chain without them is itself."""
    if not any(operator.looked_up() for operator in chain.operators):
        return chain
    sizes = planned_sizes(chain)
    return replace(chain, operators=tuple(_planned(operator, sizes) for operator in chain.operators))


def _planned(operator: Operator, sizes: dict[str, int]) -> Operator:
    return replace(operator, reads=tuple(_walked(operator, access, sizes) for access in operator.reads))


def _walked(operator: Operator, access: Access, sizes: dict[str, int]) -> Access:
    """An access that counts through the points of its lookups."""
    indices = list(access.indices)
    for dimension, number in access.lookups:
        names = frozenset().union(*(index.axes() for index in operator.reads[number].indices))
        indices[dimension] = indices[dimension] + _number([a.name for a in operator.axes if a.name in names], sizes)
    return replace(access, indices=tuple(indices), lookups=())


def _number(axes: list[str], sizes: dict[str, int]) -> Index:
    """The points of some axes, counted row by row."""
    total, step = Index(), 1
    for name in reversed(axes):
        total, step = total + axis_index(name) * step, step * sizes[name]
    return total


def lookups_of(chain: Chain) -> tuple[NamedLookup, ...]:
    """The lookups of a chain, in order; several reads may make the same one."""
    reads = ((operator, access) for operator in chain.operators for access in operator.reads)
    return tuple(dict.fromkeys(named_lookup(operator, access, d) for operator, access in reads for d, _ in access.lookups))


def why_stored(readers: list[Operator], tensor: str) -> CannotFuse | None:
    """Why a tensor must lie in memory before some operators read it: None unless data says where they do, or it is that data."""
    for operator in readers:
        for number, access in enumerate(operator.reads):
            if access.tensor == tensor and (access.lookups or number in operator.looked_up()):
                return CannotFuse(Barrier.DATA_POSITIONS, (operator.name,))
    return None
