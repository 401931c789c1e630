"""Working sets by their definition: every iteration, every pair of them, every element, as sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product

import numpy as np

from tilewright.graph.types import Access
from tilewright.tune.working_sets.features import Dependence, Iteration
from tilewright.tune.working_sets.nests import Nest

Element = tuple[int, ...]


def element(nest: Nest, access: Access, point: Iteration) -> Element | None:
    """What an access touches; None outside of the array."""
    values = {axis: sum(point[at] * nest.loops[at].tile for at in nest.positions[axis]) for axis in nest.extents}
    found = tuple(index.evaluate(values) for index in access.indices)
    inside = all(0 <= x < size for x, size in zip(found, nest.shapes[access.tensor], strict=True))
    return found if inside else None


def dependences(nest: Nest) -> list[Dependence]:
    """All reuses."""
    points = list(every_iteration(nest))
    found = set()
    for source, target in product(nest.accesses, repeat=2):
        if source.tensor == target.tensor:
            for loop, (first, *targets) in carried(nest, points, source, target).items():
                found.add((source.tensor, loop, first, min(targets), max(targets)))
    return [Dependence(*key) for key in sorted(found)]


def carried(nest: Nest, points: list[Iteration], source: Access, target: Access) -> dict[int, list[Iteration]]:
    """By loop, the least source with all of its targets."""
    touching = defaultdict(list)
    for point in points:
        touching[element(nest, target, point)].append(point)
    found: dict[int, list[Iteration]] = {}
    for first in points:
        touched = element(nest, source, first)
        if touched is None:
            continue
        by_loop = defaultdict(list)
        for later in touching[touched]:
            if later > first:
                by_loop[next(at for at in range(len(first)) if first[at] != later[at])].append(later)
        for loop, targets in by_loop.items():
            found.setdefault(loop, [first, *targets])
    return found


def touched_elements(nest: Nest, first: Iteration, last: Iteration) -> dict[str, int]:
    """The number of elements by array between two iterations, both included."""
    points = [point for point in every_iteration(nest) if first <= point <= last]
    found: dict[str, set[Element]] = {access.tensor: set() for access in nest.accesses}
    for access in nest.accesses:
        found[access.tensor].update(touched for point in points if (touched := element(nest, access, point)) is not None)
    return {array: len(elements) for array, elements in found.items()}


def every_iteration(nest: Nest) -> Iterator[tuple[int, ...]]:
    """All iterations in order, one at a time."""
    for point in np.ndindex(*nest.counts):
        ranges = [(x, x) for x in point]
        axes = ((axis, [ranges[at] for at in nest.positions[axis]]) for axis in nest.extents)
        if all(nest.axis_values(axis, own).size for axis, own in axes):
            yield point
