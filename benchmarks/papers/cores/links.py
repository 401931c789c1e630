"""Bandwidth that cores share: what one core can take of it, what all can take together, and how they divide it.

The division is max-min fair (water-filling: Bertsekas and Gallager, Data Networks, section 6.5.2): nobody gets more than it asks
for, and who gets less than it asks for gets as much as anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tilewright.machine import Machine

MEMORY_BYTES_PER_S = {"cascadelake-6240": 131e9}
"""Of all cores together, by machine: Chimera, Table I (six channels of DDR4-2933 have 140.8e9)."""


@dataclass(frozen=True, slots=True)
class Link:
    """The way from a memory level that cores share into the private levels, or into the shared level before it."""

    source: str
    """The level that bytes come from."""
    core_bytes_per_s: float
    """Of one core alone."""
    total_bytes_per_s: float
    """Of all cores together."""


def links_of(machine: Machine) -> tuple[Link, ...]:
    """The shared levels of a machine, nearest first.

    A shared cache has a slice for every core, which together deliver what all cores can take; of memory that is stated, or else
    four times what one core takes.

    >>> [(link.source, link.total_bytes_per_s / 1e9) for link in links_of(Machine.named("cascadelake-6240"))]
    [('L3', 702.0), ('memory', 131.0)]
    """
    shared = [level for level in machine.levels if level.shared_by_cores > 1]
    ones = [level.bandwidth_bytes_per_s for level in shared]
    totals = [level.bandwidth_bytes_per_s * level.shared_by_cores for level in shared[:-1]]
    totals.append(MEMORY_BYTES_PER_S.get(machine.name, min(4, machine.cores) * ones[-1]))
    return tuple(Link(level.name, one, total) for level, one, total in zip(shared, ones, totals, strict=True))


def private_levels(machine: Machine) -> int:
    """How many caches, from the nearest on, each core has for itself."""
    return next(number for number, (_, behind) in enumerate(pairwise(machine.levels), 1) if behind.shared_by_cores > 1)


def max_min_fair(demands: Sequence[float], capacity: float) -> list[float]:
    """What each gets of a capacity.

    >>> max_min_fair([1.0, 8.0, 3.0], 10.0)
    [1.0, 6.0, 3.0]
    >>> max_min_fair([1.0, 8.0, 8.0], 10.0)
    [1.0, 4.5, 4.5]
    """
    granted, left = [0.0] * len(demands), capacity
    by_demand = sorted(range(len(demands)), key=lambda number: demands[number])
    for position, number in enumerate(by_demand):
        granted[number] = min(demands[number], left / (len(demands) - position))
        left -= granted[number]
    return granted
