"""Working sets by the fastest memory that holds them: PolyDL's four numbers of a variant (section 3.1 and Algorithm 1).

Those of a plan are of every sum of products under the loops of its schedule.

A reuse (a dependence, in PolyDL) is carried by a loop where source and target agree in all loops around it and the target comes
later in it; its source is the lexicographically least iteration that has a target. Reads after reads count: they are reuses.

No two dimensions of an array share an axis: iterations that touch the same element are a product of sets, one for the axes of
every dimension, one for each axis that the array does not know. The lexicographic minimum (maximum) of a product is made of
those of its factors, and each factor is small enough to be enumerated.

The elements that a nest touches from one iteration to another, both included, are counted exactly. The iterations between two are
a union of boxes, at most two for every loop and one more. A box touches a product of sets of each array, one set per dimension.
The union of products is counted by patterns: which boxes hold an element of a dimension is a set of boxes, an element of the
array is held by the intersection over its dimensions; only the number of elements by pattern matters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product

import numpy as np

from tilewright.graph.types import Access, Operator, element_bytes
from tilewright.plan.types import Plan
from tilewright.records import record
from tilewright.tune.working_sets.nests import Nest, Range, TileLoop, Values, nest_of

Iteration = tuple[int, ...]
LARGEST_TABLE = 16
"""Entries of a table by number, for each point: above that, numbers without gaps are worth sorting for."""


@record
class Dependence:
    """A reuse of elements of an array that the loop at a position carries."""

    array: str
    loop: int
    source: Iteration
    first_target: Iteration
    last_target: Iteration


def dependences(nest: Nest) -> list[Dependence]:
    """The reuses of a nest, by array and loop; those of the same iterations are one, whoever reads and writes."""
    carried = cache(lambda source, target: tuple(_carried(nest, source, target)))
    pairs = ((source, target) for source, target in product(nest.accesses, repeat=2) if source.tensor == target.tensor)
    return [Dependence(*found) for found in sorted({(pair[0].tensor, *key) for pair in pairs for key in carried(*pair)})]


def _carried(nest: Nest, source: Access, target: Access) -> Iterator[tuple[int, Iteration, Iteration, Iteration]]:
    """Of every loop that carries a reuse of two accesses: its position, the source, the first and the last target."""
    factors = list(_factors(nest, source, target))
    for loop in range(len(nest.loops)):
        points = [factor.reuse(loop) for factor in factors]
        if all(points):
            least, first, last = zip(*(of_factor for of_factor in points if of_factor), strict=True)
            yield loop, _joined(nest, factors, least), _joined(nest, factors, first), _joined(nest, factors, last)


@record
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
        for at in reversed(nest.positions[name]):
            values[name] = values[name] + points[:, positions.index(at)] * nest.loops[at].tile
            is_real &= values[name] < nest.around[at]
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
    whole: dict[int, int] = {}
    for factor, own in zip(factors, coordinates, strict=True):
        whole |= zip(factor.positions, own, strict=True)
    return tuple(whole[at] for at in range(len(nest.loops)))


Box = tuple[Range, ...]
"""A range for every loop."""


def touched_elements(nest: Nest, first: Iteration, last: Iteration) -> dict[str, int]:
    """The number of elements touched by array.

    >>> from tilewright.tune.working_sets.nests import matrix_product
    >>> touched_elements(matrix_product(6, 7, 8), (0, 0, 0), (0, 1, 0))
    {'A': 8, 'B': 9, 'C': 2}
    """
    boxes = [box for box in boxes_between(nest.counts, first, last) if nest.has_iterations(box)]
    arrays = dict.fromkeys(access.tensor for access in nest.accesses)
    return {array: _count(nest, [a for a in nest.accesses if a.tensor == array], boxes) for array in arrays}


def boxes_between(counts: Sequence[int], first: Iteration, last: Iteration) -> Iterator[Box]:
    """Disjoint boxes whose union is all iterations from `first` to `last` in lexicographic order, both included.

    >>> list(boxes_between((2, 3), (0, 1), (1, 0)))
    [((0, 0), (1, 1)), ((0, 0), (2, 2)), ((1, 1), (0, 0))]
    """
    parting = next((at for at, (x, y) in enumerate(zip(first, last, strict=True)) if x != y), None)
    yield tuple((x, x) for x in first)
    if parting is None:
        return
    for at in reversed(range(parting + 1, len(counts))):
        yield from _box(counts, first, at, (first[at] + 1, counts[at] - 1))
    yield from _box(counts, first, parting, (first[parting] + 1, last[parting] - 1))
    for at in range(parting + 1, len(counts)):
        yield from _box(counts, last, at, (0, last[at] - 1))
    yield tuple((x, x) for x in last)


def _box(counts: Sequence[int], like: Iteration, at: int, own: Range) -> Iterator[Box]:
    """Equal to an iteration around a loop, a range of it, all of the loops inside; nothing where the range is empty."""
    if own[0] <= own[1]:
        yield (*((x, x) for x in like[:at]), own, *((0, count - 1) for count in counts[at + 1 :]))


def _count(nest: Nest, accesses: Sequence[Access], boxes: Sequence[Box]) -> int:
    """The elements of one array that some access touches in some box."""
    alike = list({access.indices: access for access in accesses}.values())
    shape = nest.shapes[accesses[0].tensor]
    patterns = Counter({(1 << (len(alike) * len(boxes))) - 1: 1})
    for dimension, size in enumerate(shape):
        sets = [nest.elements(access, dimension, box) for box in boxes for access in alike]
        patterns = _intersected(patterns, _patterns(sets, size))
    return patterns.total()


def _patterns(sets: Sequence[Values], size: int) -> Counter[int]:
    """For each combination of sets, as bits, how many numbers below `size` exactly these hold; what none holds is left out."""
    held = np.zeros((len(sets), size), bool)
    for row, members in zip(held, sets, strict=True):
        row[members] = True
    changes = np.flatnonzero((held[:, 1:] != held[:, :-1]).any(axis=0)) + 1
    starts = np.concatenate([[0], changes])
    lengths = np.diff(np.append(starts, size))
    columns = np.packbits(held[:, starts], axis=0, bitorder="little").T
    found: Counter[int] = Counter()
    for column, length in zip(columns, lengths, strict=True):
        if pattern := int.from_bytes(column.tobytes(), "little"):
            found[pattern] += int(length)
    return found


def _intersected(patterns: Mapping[int, int], others: Mapping[int, int]) -> Counter[int]:
    """The patterns of pairs."""
    found: Counter[int] = Counter()
    for pattern, count in patterns.items():
        for other, times in others.items():
            if pattern & other:
                found[pattern & other] += count * times
    return found


@record
class WorkingSet:
    """What is touched from the source of a reuse to its first and to its last target, both included, in elements by array."""

    least: Mapping[str, int]
    most: Mapping[str, int]


def working_sets(nest: Nest) -> list[WorkingSet]:
    """The working sets of all reuses of a nest.

    >>> from tilewright.tune.working_sets.nests import matrix_product
    >>> of_a, of_b, of_c = working_sets(matrix_product(10, 20, 30))
    >>> sum(of_a.least.values()), sum(of_a.most.values())  # 2K + 3 and NK + N + 1
    (63, 621)
    """
    found = []
    for one in dependences(nest):
        least, most = (touched_elements(nest, one.source, target) for target in (one.first_target, one.last_target))
        found.append(WorkingSet(least, most))
    return found


def level_sums(sizes_bytes: Sequence[int], capacities_bytes: Sequence[int]) -> tuple[int, ...]:
    """The sum of the sizes that each level holds, fastest first, and of those that only memory does.

    Caches are taken as fully associative and exclusive: every size goes to the fastest level whose capacity is no smaller.

    >>> level_sums([10, 20, 300, 5000], [32, 1000])
    (30, 300, 5000)
    """
    sums = [0] * (len(capacities_bytes) + 1)
    for size in sizes_bytes:
        level = next((at for at, capacity in enumerate(capacities_bytes) if size <= capacity), len(capacities_bytes))
        sums[level] += size
    return tuple(sums)


def nest_features(nest: Nest, element_bytes: Mapping[str, int], capacities_bytes: Sequence[int]) -> tuple[int, ...]:
    """The level sums, in bytes, of the least and the most working set of every reuse of a nest."""
    sets = (elements for one in working_sets(nest) for elements in (one.least, one.most))
    sizes = [sum(count * element_bytes[array] for array, count in elements.items()) for elements in sets]
    return level_sums(sizes, capacities_bytes)


def plan_features(plan: Plan) -> tuple[int, ...]:
    """Bytes of working sets by the fastest level that holds them, memory last, over all contractions of a plan.

    >>> import tilewright as tw
    >>> lowered = tw.jit(lambda x, y: x @ y, target="x86-64-v3").lower(tw.spec((64, 64)), tw.spec((64, 64)))
    >>> features = plan_features(lowered.model_plan.plans[0])
    >>> len(features), features[-1]  # 48 KiB: nothing is left to memory
    (4, 0)
    """
    sizes = {tensor.name: element_bytes(tensor.dtype) for tensor in plan.chain.tensors}
    capacities = [level.size_bytes for level in plan.machine.levels[:-1]]
    found = [nest_features(nest, sizes, capacities) for nest in nests(plan)]
    return tuple(map(sum, zip(*found, strict=True))) if found else (0,) * (len(capacities) + 1)


def nests(plan: Plan) -> Iterator[Nest]:
    """The nest of every contraction."""
    for operator in plan.chain.operators:
        if operator.is_contraction():
            yield nest_of(plan.chain, operator, _loops(plan, operator))


def _loops(plan: Plan, operator: Operator) -> tuple[TileLoop, ...]:
    """The loops of the schedule around an operator, as far as it has their axes."""
    path = plan.schedule.path(operator.name)
    return tuple(TileLoop(loop.axis, loop.tile) for loop in path if loop.axis in operator.axis_names)
