"""Tile sizes: the few that matter for an axis, and the best combination of them by broadcasting.

Movement depends on a tile only through its trip count, and memory use grows with it: for each trip count only the smallest
aligned tile matters. An axis of extent L has about 2*sqrt(L) distinct trip counts, so that all combinations are evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.plan.arrays import spread

TIE = 1.001
"""Figures within this factor of the best count as equal."""


def candidates(extent: int, multiple: int = 1) -> tuple[int, ...]:
    """`ceil(ceil(extent / t) / multiple) * multiple` for every trip count t, in increasing order.

    The last one covers the extent in one trip.

    >>> candidates(50, 16)
    (16, 32, 64)
    """
    extent = max(extent, 1)
    root = int(extent**0.5) + 1
    tiles = {*range(1, min(root, extent) + 1), *(-(-extent // trips) for trips in range(1, root + 1))}
    return tuple(sorted({-(-tile // multiple) * multiple for tile in tiles}))


def thinned(tiles: Sequence[int], limit: int) -> tuple[int, ...]:
    """At most `limit` of the tiles, evenly spread over the list, the smallest and the largest among them.

    >>> thinned((1, 2, 3, 4, 5, 6, 7), 3)
    (1, 4, 7)
    """
    if len(tiles) <= limit:
        return tuple(tiles)
    return tuple(tiles[round(i * (len(tiles) - 1) / (limit - 1))] for i in range(limit))


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
