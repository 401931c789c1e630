"""Reuses of elements: which loop carries each, from which iteration, to which first and last.

PolyDL, section 3.1. A dependence is carried by a loop where source and target agree in all loops around it and the target comes
later in it; its source is the lexicographically least iteration that has a target. Reads after reads count: they are reuses.

No two dimensions of an array share an axis: iterations that touch the same element are a product of sets, one for the axes of
every dimension, one for each axis that the array does not know. The lexicographic minimum (maximum) of a product is made of
those of its factors, and each factor is small enough to be enumerated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import product

import numpy as np

from tilewright.graph.types import Access
from tilewright.tune.working_sets.nests import Nest, Values

Iteration = tuple[int, ...]


class Kind(Enum):
    """What source and target do with the element."""

    READ_AFTER_WRITE = "RAW"
    WRITE_AFTER_READ = "WAR"
    WRITE_AFTER_WRITE = "WAW"
    READ_AFTER_READ = "RAR"


KINDS = {
    (True, False): Kind.READ_AFTER_WRITE,
    (False, True): Kind.WRITE_AFTER_READ,
    (True, True): Kind.WRITE_AFTER_WRITE,
    (False, False): Kind.READ_AFTER_READ,
}
"""By whether the source and the target write."""

LARGEST_TABLE = 16
"""Entries of a table by number, for each point: above that, numbers without gaps are worth sorting for."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """A reuse of elements of an array that the loop at a position carries."""

    array: str
    kinds: frozenset[Kind]
    loop: int
    source: Iteration
    first_target: Iteration
    last_target: Iteration


def dependences(nest: Nest) -> list[Dependence]:
    """The reuses of a nest, by array and loop; those of the same iterations are one, whatever their kinds."""
    found: dict[tuple[str, int, Iteration, Iteration, Iteration], set[Kind]] = {}
    kinds = [(access, False) for access in nest.reads] + [(access, True) for access in nest.writes]
    carried = cache(lambda source, target: tuple(_carried(nest, source, target)))
    for (source, writes), (target, writes_later) in product(kinds, repeat=2):
        if source.tensor == target.tensor:
            for key in carried(source, target):
                found.setdefault((source.tensor, *key), set()).add(KINDS[writes, writes_later])
    ordered = sorted(found.items(), key=lambda item: item[0])
    return [Dependence(key[0], frozenset(kinds), *key[1:]) for key, kinds in ordered]


def _carried(nest: Nest, source: Access, target: Access) -> Iterator[tuple[int, Iteration, Iteration, Iteration]]:
    """Of every loop that carries a reuse of two accesses: its position, the source, the first and the last target."""
    factors = list(_factors(nest, source, target))
    for loop in range(len(nest.loops)):
        points = [factor.reuse(loop) for factor in factors]
        if all(points):
            least, first, last = zip(*(of_factor for of_factor in points if of_factor), strict=True)
            yield loop, _joined(nest, factors, least), _joined(nest, factors, first), _joined(nest, factors, last)


@dataclass(frozen=True, slots=True)
class _Factor:
    """Some axes: the iterations of their loops in order, and the element that source and target touch at each, -1 for none."""

    positions: tuple[int, ...]
    points: Values
    source: Values
    target: Values

    def reuse(self, loop: int) -> tuple[Iteration, Iteration, Iteration] | None:
        """The least source with its first and its last target, where all loops around `loop` are equal and it, if it is among
        these, is later. None where there is no such pair."""
        outer = [column for column, at in enumerate(self.positions) if at < loop]
        keys = self.points[:, outer]
        by_source, by_target = _numbered(keys, self.source, self.target)
        steps = self.points[:, self.positions.index(loop)] if loop in self.positions else np.zeros(len(keys), np.int64)
        latest = np.full(max(by_source.max(initial=0), by_target.max(initial=0)) + 1, -1)
        np.maximum.at(latest, by_target[self.target >= 0], steps[self.target >= 0])
        has_target = latest[by_source] > steps if loop in self.positions else latest[by_source] >= 0
        sources = np.flatnonzero(has_target & (self.source >= 0))
        if not sources.size:
            return None
        at = sources[0]
        later = steps > steps[at] if loop in self.positions else np.ones(len(keys), bool)
        targets = np.flatnonzero((by_target == by_source[at]) & (self.target >= 0) & later)
        return self._point(at), self._point(targets[0]), self._point(targets[-1])

    def _point(self, row: int) -> Iteration:
        return tuple(map(int, self.points[row]))


def _numbered(keys: Values, source: Values, target: Values) -> tuple[Values, Values]:
    """A number for every point and the element that it touches as a source, and as a target; equal where both are equal.

    Elements are numbered from -1 on, numbers are no larger than some times the points: a table by number stays small.
    """
    count = 2 + int(max(source.max(initial=0), target.max(initial=0)))
    found = np.stack([source, target]) + 1
    for column in keys.T:
        found, count = column * count + found, count * int(column.max(initial=0) + 1)
    if count > LARGEST_TABLE * len(keys):
        found = np.unique(found, return_inverse=True)[1].reshape(found.shape)
    return found[0], found[1]


def _factors(nest: Nest, source: Access, target: Access) -> Iterator[_Factor]:
    """The factors of the set of pairs of iterations that touch the same element."""
    left = list(nest.extents)
    for dimension, (read, again) in enumerate(zip(source.indices, target.indices, strict=True)):
        axes = tuple(name for name in nest.extents if name in read.axes() | again.axes())
        left = [name for name in left if name not in axes]
        yield _factor(nest, axes, source, target, dimension)
    for name in left:
        yield _factor(nest, (name,), source, target, None)


def _factor(nest: Nest, axes: tuple[str, ...], source: Access, target: Access, dimension: int | None) -> _Factor:
    """Those axes, with the elements of one dimension; of no dimension, all touch the same."""
    positions = tuple(at for at, loop in enumerate(nest.loops) if loop.axis in axes)
    counts = [nest.counts[at] for at in positions]
    points = np.indices(counts, np.int64).reshape(len(counts), -1).T if counts else np.zeros((1, 0), np.int64)
    values, is_real = {}, np.ones(len(points), bool)
    for name in axes:
        values[name] = np.zeros(len(points), np.int64)
        for at in reversed(nest.positions(name)):
            values[name] = values[name] + points[:, positions.index(at)] * nest.loops[at].tile
            is_real &= values[name] < nest.around(at)
    points, values = points[is_real], {name: of_axis[is_real] for name, of_axis in values.items()}
    touched = (_elements(nest, access, dimension, values, len(points)) for access in (source, target))
    return _Factor(positions, points, *touched)


def _elements(nest: Nest, access: Access, dimension: int | None, values: dict[str, Values], count: int) -> Values:
    """The element of a dimension at every point, -1 outside of the array."""
    if dimension is None:
        return np.zeros(count, np.int64)
    elements = np.broadcast_to(access.indices[dimension].evaluate(values), (count,))
    size = nest.shapes[access.tensor][dimension]
    return np.where((elements >= 0) & (elements < size), elements, -1)


def _joined(nest: Nest, factors: list[_Factor], coordinates: tuple[Iteration, ...]) -> Iteration:
    """The iteration that has the coordinates of every factor."""
    whole = [0] * len(nest.loops)
    for factor, own in zip(factors, coordinates, strict=True):
        for at, coordinate in zip(factor.positions, own, strict=True):
            whole[at] = coordinate
    return tuple(whole)
