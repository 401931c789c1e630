"""Padding without a padded copy: how many vectors of a guarded read lie inside of its tensor, at its border, and outside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from tilewright.graph.index import Index
from tilewright.graph.types import Access, Operator, planned_extent
from tilewright.plan.types import Plan

MOST_VECTORS = 1 << 20
"""By the axes of a guard: beyond, nothing is counted."""


@dataclass(frozen=True, slots=True)
class Border:
    """The vectors of a read along the innermost dimension of the result."""

    operator: str
    tensor: str
    inside: int
    at_border: int
    outside: int

    def text(self) -> str:
        """For people.

        >>> Border("pad", "x", 90, 8, 2).text()
        'pad of x: 90 vectors inside, 8 at the border, 2 outside'
        """
        counts = f"{self.inside} vectors inside, {self.at_border} at the border, {self.outside} outside"
        return f"{self.operator} of {self.tensor}: {counts}"


def borders(plan: Plan) -> Iterator[Border]:
    """Of every guarded read of an input of the chain, if its guard is affine. Guards of intermediates are masks."""
    lanes = plan.machine.vector_bits // 32
    for operator in plan.chain.operators:
        for access in operator.reads:
            if (
                access.tensor in plan.chain.inputs
                and access.guard is not None
                and all(map(Index.is_affine, access.guard.constraints))
            ):
                yield from _counted(operator, access, lanes)


def _counted(operator: Operator, access: Access, lanes: int) -> Iterator[Border]:
    """The vectors by the guard's axes, times the points of all others."""
    assert access.guard is not None
    innermost = operator.write.innermost()
    extents = {axis.name: planned_extent(axis.extent) for axis in operator.axes}
    steps = {name: lanes if name == innermost else 1 for name in extents}
    by_guard = [name for name in extents if name in access.guard.axes()]
    counts = {name: -(-extents[name] // steps[name]) for name in extents}
    if prod(counts[name] for name in by_guard) > MOST_VECTORS:
        return
    first = dict(zip(by_guard, np.ix_(*(np.arange(counts[name]) * steps[name] for name in by_guard)), strict=True))
    last = {name: np.minimum(begin + steps[name], extents[name]) - 1 for name, begin in first.items()}
    shape = tuple(counts[name] for name in by_guard)
    inside, outside = np.ones(shape, bool), np.zeros(shape, bool)
    for constraint in access.guard.constraints:
        least = most = np.full(shape, constraint.constant)
        for name in by_guard:
            factor = constraint.coefficient(name)
            ends = factor * first[name], factor * last[name]
            least, most = least + np.minimum(*ends), most + np.maximum(*ends)
        inside &= least >= 0
        outside |= most < 0
    around = prod(counts[name] for name in extents if name not in by_guard)
    of_each = int(inside.sum()), int((~inside & ~outside).sum()), int(outside.sum())
    yield Border(operator.name, access.tensor, *(around * each for each in of_each))
