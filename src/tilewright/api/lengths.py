"""Dynamic dimensions of calls: which extents vary, which of them are one dimension, and the ranges that share a kernel.

An extent that takes a second value is dynamic from then on; extents that a model declares by name are from the first call on. A
dynamic dimension is a symbol whose kernel serves all values of a range: at first 1 to `LARGEST`. A question that has different
answers inside of a range (`x.shape[0] > 64`, a slice of 512 rows) splits it where the answer changes. Where a function cannot be
traced or planned with a dimension, its values are specialised. The extent 0 always is: an empty array is other work.

Extents that were equal in all calls share a symbol (keys, values and the last axis of a mask), or those that have one name. An
extent of 1 beside a mate of another value is a broadcast, which is specialised.

Ranges are planned for values that do not depend on any call, so that every session and process computes the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol, TypeVar

from tilewright.api.ranges import Extents, Ranges
from tilewright.graph.contraction_roles import matrix_dimensions
from tilewright.graph.expressions.dimensions import multiple_of, substituted
from tilewright.graph.expressions.extents import Extent, SymbolicExtent, dimensions_of
from tilewright.graph.types import Graph

MOST_CUTS = 8
"""Places where the range of an extent is split; with more, its values are specialised."""
PLANNED = 128
"""The value that ranges are planned for, moved into them."""
FACTORS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64, 128)
"""Of multiples that may share a kernel where other extents cannot: rows of so many elements, strides of images."""
NO_FACTORS: Mapping[int, int] = MappingProxyType({})
PLANNED_MATRIX = 1024
"""The same of products of two matrices that vary. Over plans for fixed extents, on one thread, predicted for 12 named machines:
plans for 128 take 1.2 to 5.9 times as long at 1024, plans for 1024 take 0.97 to 1.11 times as long at 128."""
PLANNED_BATCH = 4
"""The same of batches, the first dimensions of arrays whose other dimensions make enough work: planned as few, so that there are
blocks for all threads in each of them."""
FIXED = ""
"""The name that stands for a declared extent that does not vary."""


class Traced(Protocol):
    """What a call was traced into."""

    @property
    def graph(self) -> Graph | None:
        """None where nothing is compiled."""


TracedT = TypeVar("TracedT", bound=Traced)


class DynamicDimensions:
    """What the calls of one structure have shown. `ranges.key` may run while another thread learns; the other methods may not."""

    def __init__(self, dynamic: bool | None, ranks: Sequence[int] = (), names: Sequence[str | None] = ()) -> None:
        """`dynamic`: None learns from calls, True takes every extent above 1 for dynamic, False none.

        `ranks` are the numbers of dimensions of the arrays. `names` are those that a model declares for extents: equal names
        are one dimension, None is one that calls tell about, FIXED none.
        """
        self._dynamic = dynamic
        self._names: tuple[str | None, ...] = tuple(names)
        self._batches = _batches(ranks, self._names)
        self.seen: list[Extents] = []
        """The calls that showed something."""
        self._told: dict[int, str] = {}
        """Names of dimensions that a caller says vary, by position."""
        self.ranges = Ranges()

    def learn(self, extents: Extents) -> None:
        """Take a call into account that no kernel serves so far. Calls that show nothing are not kept."""
        if self._dynamic is False:
            return
        known, is_first = self.ranges.varying, self._is_first_above_one(extents)
        self.seen.append(extents)
        self._find_varying(len(extents))
        if self.ranges.varying == known and not is_first:
            self.seen.pop()

    def tell(self, names: Mapping[int, str], count: int) -> None:
        """Take these of `count` extents for dynamic from now on; equal names are one dimension."""
        self._told.update(names)
        self._find_varying(count)

    def specialise(self, positions: Sequence[int], extents: Extents) -> None:
        """Specialise these positions for every value in the ranges of a call."""
        self.ranges.specialised |= {(position, self.ranges.range_of(position, extents[position])[0]) for position in positions}

    def multiply(self, positions: Sequence[int], extents: Extents, factor: int) -> None:
        """Let the multiples of a number, of the ranges of a call at these positions, share a kernel."""
        found = {(position, self.ranges.range_of(position, extents[position])[0]): factor for position in positions}
        self.ranges.multiples = {**self.ranges.multiples, **found}

    def factor(self, position: int, extent: int) -> int:
        """The number whose multiples share a kernel with an extent at a position."""
        return self.ranges.multiples.get((position, self.ranges.range_of(position, extent)[0]), 1)

    def split(self, positions: Sequence[int], begin: int) -> bool:
        """Let another range begin at an extent; False where one does already, or too many do."""
        changed = False
        for position in positions:
            cuts = self.ranges.begins(position)
            if begin > 1 and begin not in cuts and len(cuts) < MOST_CUTS:
                self.ranges.cuts = {**self.ranges.cuts, position: tuple(sorted((*cuts, begin)))}
                changed = True
        return changed

    def forget_names(self) -> bool:
        """Let calls tell which dimensions are one, as names that a model declares do not; False where they do already."""
        had_names = any(self._names)
        self._names = tuple(name and None for name in self._names)
        self._find_varying(len(self.seen[-1]) if self.seen else 0)
        return had_names

    def described(
        self, key: Extents, extents: Extents, chosen: Collection[int], factors: Mapping[int, int] = NO_FACTORS
    ) -> list[Extent]:
        """The extents to trace with: those of a call, where the dimensions that begin at these positions are symbols s0, ...

        Those that begin at positions with a factor are described as its multiples.
        """
        result: list[Extent] = list(extents)
        for number, (first, positions) in enumerate(symbols(key).items()):
            if first in chosen:
                low, high = self.ranges.range_of(first, extents[first])
                planned = max(PLANNED_BATCH if position in self._batches else PLANNED for position in positions)
                dimension = SymbolicExtent(f"s{number}", low, high, min(max(planned, low), high))
                factor = factors.get(first) or self.factor(first, extents[first])
                described = dimension if factor == 1 else multiple_of(dimension, factor)
                for position in positions:
                    result[position] = described
        return result

    def _is_first_above_one(self, extents: Extents) -> bool:
        """Whether some position has its first extent above 1."""
        return any(extent > 1 and all(seen[i] <= 1 for seen in self.seen) for i, extent in enumerate(extents))

    def _find_varying(self, count: int) -> None:
        varying = [position for position in range(count) if self._varies(position)]
        self.ranges.varying = tuple(
            (number, tuple(mate for mate in varying if mate != number and self._are_mates(mate, number))) for number in varying
        )

    def _varies(self, position: int) -> bool:
        if position in self._told:
            return True
        if position < len(self._names):
            return self._names[position] != FIXED
        values = {extents[position] for extents in self.seen if extents[position] > 1}
        return len(values) > (0 if self._dynamic else 1)

    def _name(self, position: int) -> str | None:
        declared = self._names[position] if position < len(self._names) else None
        return self._told.get(position, declared)

    def _are_mates(self, first: int, second: int) -> bool:
        names = [self._name(position) for position in (first, second)]
        is_told = first in self._told or second in self._told
        if all(names) or (any(names) and not is_told):
            return names[0] == names[1]
        return all(extents[first] == extents[second] or min(extents[first], extents[second]) <= 1 for extents in self.seen)


def with_planned_matrices(trace: Callable[[Sequence[Extent]], TracedT], extents: Sequence[Extent]) -> TracedT:
    """What is traced for these extents, `matrix_dimensions` of them planned for `PLANNED_MATRIX`."""
    traced = trace(extents)
    names = frozenset() if traced.graph is None else matrix_dimensions(traced.graph)
    if not names:
        return traced
    known = dimensions_of(extents)
    large = {name: replace(known[name], hint=min(max(PLANNED_MATRIX, known[name].low), known[name].high)) for name in names}
    return trace([substituted(extent, large) for extent in extents])


def least_factor(left: Extent, right: Extent, values: Sequence[int], *, above: int = 1) -> int | None:
    """The least of `FACTORS` above a number whose multiples make two extents equal, and that divides values of their dimensions.

    >>> from tilewright.graph.expressions.extents import ceil_quotient, times
    >>> s = SymbolicExtent("s", 1, 99, 9)
    >>> least_factor(times(ceil_quotient(s, 8), 8), s, [64])
    8
    """
    dimensions = dimensions_of([left, right])

    def are_equal(factor: int) -> bool:
        multiples = {name: multiple_of(dimension, factor) for name, dimension in dimensions.items()}
        return substituted(left, multiples) == substituted(right, multiples)

    return next((f for f in FACTORS if f > above and all(value % f == 0 for value in values) and are_equal(f)), None)


def symbols(key: Extents) -> dict[int, list[int]]:
    """The positions of every dynamic dimension of a key, by the first of them."""
    found: dict[int, list[int]] = {}
    for position, code in enumerate(key):
        if code < 0:
            found.setdefault(~code % len(key), []).append(position)
    return found


def named_symbols(key: Extents) -> dict[str, list[int]]:
    """The same by the names that `DynamicDimensions.described` gives them."""
    return {f"s{number}": positions for number, positions in enumerate(symbols(key).values())}


def _batches(ranks: Sequence[int], names: Sequence[str | None]) -> frozenset[int]:
    """The positions of first dimensions of arrays with at least three, or with two that are both declared to vary.

    >>> sorted(_batches((2, 3, 1, 4), ())), sorted(_batches((2, 2), ("batch", "length", "rows", FIXED)))
    ([2, 6], [0])
    """
    begins = [sum(ranks[:number]) for number in range(len(ranks))]

    def is_batch(begin: int, rank: int) -> bool:
        declared = names[begin : begin + 2]
        return rank > 2 or (rank == 2 and len(declared) == 2 and FIXED not in declared)

    return frozenset(begin for begin, rank in zip(begins, ranks, strict=True) if is_batch(begin, rank))
