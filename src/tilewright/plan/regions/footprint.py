"""Footprints: distinct elements, and cache lines, that the tile of an access touches.

Chimera's footprint is a bounding box: the product over dimensions of `1 + sum(|c| * (s - 1))`. At a stride larger than the
kernel it counts elements that nobody reads (31 for 8 outputs at stride 4 and kernel 3, where 24 are read), so elements are
counted exactly here. Tile sizes may be integers or NumPy arrays that broadcast against each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from itertools import product as combinations_of
from math import gcd

import numpy as np

from tilewright.arrays import Count, as_integer, largest, maximum, minimum, product
from tilewright.formulas.programs import apply, tabulated
from tilewright.graph.expressions.index import Index
from tilewright.graph.types import Access
from tilewright.records import record


@record
class Window:
    """Dimensions of an access that have axes in common, or several axes, and so more positions than elements."""

    indices: tuple[Index, ...]
    axes: tuple[str, ...]

    def elements(self, tiles: Mapping[str, Count]) -> Count:
        """Distinct elements in a tile."""
        count = product(distinct_values(index, tiles) for index in self.indices)
        return minimum(count, product(tiles[name] for name in self.axes)) if len(self.indices) > 1 else count

    def swept(self, tiles: Mapping[str, Count], sizes: Mapping[str, Count]) -> Count:
        """Distinct elements of every tile of the whole index space, summed."""
        swept: Count = 0
        for choice in combinations_of(*(_pieces(sizes[name], tiles[name]) for name in self.axes)):
            blocks = product(number for number, _ in choice)
            swept = swept + blocks * self.elements(dict(zip(self.axes, (size for _, size in choice), strict=True)))
        return swept


@record
class Footprint:
    """How an access's distinct elements follow from the tiles of its axes: dimensions with no axis in common multiply."""

    plain: tuple[str, ...]
    """Axes that are alone in a dimension, and in no other."""
    windows: tuple[Window, ...]

    def elements(self, tiles: Mapping[str, Count]) -> Count:
        """See `distinct_elements`."""
        count: Count = 1
        for name in self.plain:
            count = count * tiles[name]
        for window in self.windows:
            count = count * window.elements(tiles)
        return as_integer(count)

    def swept(self, tiles: Mapping[str, Count], sizes: Mapping[str, Count]) -> Count:
        """See `swept_elements`."""
        count: Count = 1
        for name in self.plain:
            count = count * sizes[name]
        for window in self.windows:
            count = count * window.swept(tiles, sizes)
        return as_integer(count)


@lru_cache(maxsize=4096)
def footprint_of(indices: tuple[Index, ...]) -> Footprint:
    """The footprint of an access with these indices."""
    groups: list[list[Index]] = []
    for index in indices:
        touching = [group for group in groups if any(index.axes() & neighbour.axes() for neighbour in group)]
        groups = [group for group in groups if group not in touching]
        groups.append([*(neighbour for group in touching for neighbour in group), index])
    alone = [len(group) == 1 and len(group[0].terms) == 1 and group[0].is_affine() for group in groups]
    plain = tuple(str(group[0].terms[0][0]) for group, is_plain in zip(groups, alone, strict=True) if is_plain)
    windows = (Window(tuple(g), _axes_of(g)) for g, is_plain in zip(groups, alone, strict=True) if not is_plain and _axes_of(g))
    return Footprint(plain, tuple(windows))


def distinct_elements(access: Access, tiles: Mapping[str, Count]) -> Count:
    """The number of distinct elements that an access touches in a tile, guards left aside.

    Exact for affine accesses whose dimensions have axes of their own; a diagonal counts its axis once. Divisions and
    remainders are bounded from above by the range of values that they can take.

    >>> from tilewright.graph.expressions.index import axis
    >>> row = Access("x", (axis("w") * 4 + axis("kw"),))
    >>> distinct_elements(row, {"w": 8, "kw": 3})
    24
    """
    return footprint_of(access.indices).elements(tiles)


def swept_elements(access: Access, tiles: Mapping[str, Count], sizes: Mapping[str, Count]) -> Count:
    """The sum of `distinct_elements` over all tiles of the whole index space, shorter last tiles included.

    For plain axes it is the size of the tensor; where tiles overlap (halos), what they share counts for each of them.
    """
    return footprint_of(access.indices).swept(tiles, sizes)


def _axes_of(indices: Iterable[Index]) -> tuple[str, ...]:
    return tuple(sorted(frozenset().union(*(index.axes() for index in indices))))


def _pieces(size: Count, tile: Count) -> tuple[tuple[Count, Count], ...]:
    """(number, size) of the full tiles of an axis and of the shorter last one, where there is one."""
    full, rest = size // tile, size % tile
    last = (minimum(rest, 1), maximum(rest, 1))
    if isinstance(rest, int) and isinstance(full, int):
        return tuple(piece for piece in ((full, tile), last) if piece[0])
    return (full, minimum(tile, size)), last


def _span(index: Index, tiles: Mapping[str, Count]) -> Count:
    """The length of the interval of values that an index takes in the largest tile."""
    low, high = index.bounds({name: largest(tiles[name]) for name in index.axes()})
    return high - low + 1


@lru_cache(maxsize=256)
def values_of_tiles(index: Index, size: int) -> tuple[int, ...]:
    """By the tile of its only axis, up to its size: a bound from above on the distinct values of an index that is not affine.

    >>> from tilewright.graph.expressions.index import axis, floordiv
    >>> values_of_tiles(floordiv(axis("h"), 2), 5)
    (0, 1, 1, 2, 2, 3)
    """
    (name,) = index.axes()
    return (0, *(min(tile, int(_span(index, {name: tile}))) for tile in range(1, size + 1)))


def _values_along(index: Index, tile: Count) -> tuple[Count]:
    values = values_of_tiles(index, largest(tile))
    return (np.take(values, tile) if isinstance(tile, np.ndarray) else values[tile],)


def distinct_values(index: Index, tiles: Mapping[str, Count]) -> Count:
    """The number of distinct values that an index takes in a tile: exact where it is affine (three or more terms that reach over
    each other: see `distinct_sums`), else a bound from above."""
    if not index.is_affine() and len(index.axes()) == 1:
        (name,) = index.axes()
        along: Count = tabulated(("distinct values",), partial(_values_along, index), tiles[name])[0]
        return along
    if not index.is_affine():
        points = product(tiles[name] for name in sorted(index.axes()))
        return minimum(points, _span(index, tiles))
    terms = [(abs(factor), tiles[str(atom)]) for atom, factor in index.terms]
    if len(terms) == 2:
        return _two_progressions(*terms[0], *terms[1])
    if len(terms) < 2:
        return terms[0][1] if terms else 1
    found: Count = apply("distinct_sums", *(figure for term in terms for figure in term))
    return found


def _two_progressions(first: int, first_count: Count, second: int, second_count: Count) -> Count:
    """The distinct values of first*i + second*j. With coprime steps p, q the points (i, j) and (i + q, j - p) coincide."""
    common = gcd(first, second)
    p, q = first // common, second // common
    coinciding: Count = maximum(first_count - q, 0) * maximum(second_count - p, 0)
    return first_count * second_count - coinciding
