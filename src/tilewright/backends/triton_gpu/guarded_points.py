"""How many points of a box an access is real at: exact, without walking over images.

A pixel axis p of an image with w columns stands in guards as p // w and p % w alone. Both are then axes of their own, and
constraints without an axis in common are counted apart: their numbers multiply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache, reduce
from math import prod

import numpy as np

from tilewright.graph.expressions.index import FloorDiv, Index, Mod
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.types import Access

Sizes = Mapping[str, int]


def real_points(access: Access, extents: Sizes) -> int:
    """The points along the axes of an access, those of its guard included, at which it is real.

    >>> from tilewright.graph.expressions.index import axis
    >>> from tilewright.graph.types import Guard
    >>> window = axis("h") + axis("y") + -1
    >>> real_points(Access("x", (axis("c"), window), Guard((window, window * -1 + 7), 0.0)), {"c": 5, "h": 8, "y": 3})
    110
    """
    if access.guard is None:
        return prod(extents[axis] for axis in access.axes())
    axes = access.axes() | access.guard.axes()
    sizes = {axis: extents[axis] for axis in axes}
    constraints, sizes = _apart(access.guard.constraints, sizes)
    count = 1
    for group in _groups(constraints):
        names = sorted(frozenset().union(*(constraint.axes() for constraint in group)))
        count *= _holding(group, tuple((name, sizes.pop(name)) for name in names))
    return count * prod(sizes.values())


def _apart(constraints: tuple[Index, ...], sizes: Sizes) -> tuple[tuple[Index, ...], dict[str, int]]:
    """The same constraints with quotients and remainders of an axis by one number as axes of their own."""
    found = dict(sizes)
    for name, extent in sizes.items():
        divisors = {_divisor(atom, name) for constraint in constraints for atom, _ in constraint.terms if name in _axes(atom)}
        if len(divisors) != 1 or (divisor := divisors.pop()) is None or extent % divisor:
            continue
        quotient, rest = f"{name} //", f"{name} %"
        del found[name]
        found |= {quotient: extent // divisor, rest: divisor}
        constraints = tuple(_replaced(constraint, name, quotient, rest) for constraint in constraints)
    return constraints, found


def _axes(atom: object) -> frozenset[str]:
    return atom.dividend.axes() if isinstance(atom, FloorDiv | Mod) else frozenset((atom,) if isinstance(atom, str) else ())


def _divisor(atom: object, name: str) -> int | None:
    """What a term divides an axis by; None for all else."""
    is_division = isinstance(atom, FloorDiv | Mod) and atom.dividend == axis_index(name)
    return atom.divisor if is_division and isinstance(atom, FloorDiv | Mod) else None


def _replaced(constraint: Index, name: str, quotient: str, rest: str) -> Index:
    total = Index((), constraint.constant)
    for atom, factor in constraint.terms:
        if name in _axes(atom):
            total = total + axis_index(quotient if isinstance(atom, FloorDiv) else rest) * factor
        else:
            total = total + Index(((atom, factor),))
    return total


def _groups(constraints: Iterable[Index]) -> list[tuple[Index, ...]]:
    """Constraints that have axes in common, directly or not."""
    groups: list[tuple[frozenset[str], tuple[Index, ...]]] = []
    for constraint in dict.fromkeys(constraints):
        axes, members = constraint.axes(), tuple[Index, ...]((constraint,))
        apart = []
        for known, others in groups:
            if known & axes:
                axes, members = axes | known, (*others, *members)
            else:
                apart.append((known, others))
        groups = [*apart, (axes, members)]
    return [members for _, members in groups]


@lru_cache(maxsize=1 << 10)
def _holding(constraints: tuple[Index, ...], box: tuple[tuple[str, int], ...]) -> int:
    """At how many points of a box all constraints hold, counted one by one."""
    if not box:
        return int(all(constraint.constant >= 0 for constraint in constraints))
    points = dict(zip((name for name, _ in box), np.ix_(*(np.arange(extent) for _, extent in box)), strict=True))
    real = reduce(np.logical_and, (constraint.evaluate(points) >= 0 for constraint in constraints))
    return int(np.count_nonzero(np.broadcast_to(real, [extent for _, extent in box])))
