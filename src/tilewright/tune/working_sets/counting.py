"""How many elements a nest touches from one iteration to another, both included, exactly.

The iterations between two are a union of boxes, at most two for every loop and one more. A box touches a product of sets of each
array, one set per dimension. The union of products is counted by patterns: which boxes hold an element of a dimension is a set of
boxes, an element of the array is held by the intersection over its dimensions; only the number of elements by pattern matters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tilewright.graph.types import Access
from tilewright.tune.working_sets.dependences import Iteration
from tilewright.tune.working_sets.nests import Nest, Range, Values

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
