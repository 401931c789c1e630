"""Tile sizes: the few that matter for an axis, and the best combination of them by broadcasting.

Movement depends on a tile only through its trip count, and memory use grows with it: for each trip count only the smallest
aligned tile matters. An axis of extent L has about 2*sqrt(L) distinct trip counts, so that all combinations are evaluated; of
very long axes those between the short tiles and the few trips are sampled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isqrt

import numpy as np

from tilewright.plan.arrays import spread

MOST_TRIPS = 1 << 12
"""Shortest tiles, and smallest numbers of trips, that are all tried: every tile of axes up to 2^24 elements."""
FEW_TRIPS = 1 << 9
"""Of longer axes."""
TIE = 1.001
"""Figures within this factor of the best count as equal."""


def candidates(extent: int, multiple: int = 1) -> tuple[int, ...]:
    """`ceil(ceil(extent / t) / multiple) * multiple` for every trip count t, in increasing order.

    The last one covers the extent in one trip. Beyond `MOST_TRIPS` not every trip count has one.

    >>> candidates(50, 16)
    (16, 32, 64)
    """
    extent = max(extent, 1)
    root = isqrt(extent) + 1
    few = range(1, (root if root <= MOST_TRIPS else FEW_TRIPS) + 1)
    tiles = {*(tile for tile in few if tile <= extent), *(-(-extent // trips) for trips in few)}
    if root > MOST_TRIPS:
        tiles.update(_between(FEW_TRIPS, extent // FEW_TRIPS))
    return tuple(sorted({-(-tile // multiple) * multiple for tile in tiles}))


def are_all(extent: int) -> bool:
    """Whether the candidates of an axis are all that matter."""
    return isqrt(max(extent, 1)) + 1 <= MOST_TRIPS


def _between(low: int, high: int) -> Iterator[int]:
    """Tiles between two, each longer than the one before by an eighth."""
    while low < high:
        yield low
        low += low >> 3


def thinned(tiles: Sequence[int], limit: int) -> tuple[int, ...]:
    """At most `limit` of the tiles, evenly spread over the list, the smallest and the largest among them; of one, the largest.

    >>> thinned((1, 2, 3, 4, 5, 6, 7), 3)
    (1, 4, 7)
    """
    if len(tiles) <= limit:
        return tuple(tiles)
    if limit == 1:
        return (tiles[-1],)
    return tuple(tiles[round(i * (len(tiles) - 1) / (limit - 1))] for i in range(limit))


def places_in(every: Sequence[int], some: Sequence[int]) -> list[int]:
    """Where some of the tiles of an axis stand among all.

    >>> places_in((1, 2, 4, 8), (2, 8))
    [1, 3]
    """
    places = {tile: place for place, tile in enumerate(every)}
    return [places[tile] for tile in some]


def broadcast(axes: Sequence[str], tiles: Mapping[str, Sequence[int]], before: int = 0) -> dict[str, np.ndarray]:
    """One array per axis, each along a dimension of its own behind `before` others, so that they span all combinations."""
    rank = before + len(axes)
    shaped = {}
    for position, axis in enumerate(axes):
        shape = [1] * rank
        shape[before + position] = len(tiles[axis])
        shaped[axis] = np.array(tiles[axis], dtype=np.int64).reshape(shape)
    return shaped


def best_index(figures: np.ndarray, volumes: np.ndarray, tie: float = TIE) -> tuple[int, ...]:
    """The position of the smallest figure; among equal ones (within a factor `tie`) of the largest volume, then the first."""
    volume = np.where(figures <= figures.min() * tie, spread(volumes, figures.shape), -1)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(volume)), figures.shape))
