"""Tile sizes: the few that matter for an axis, and the best combination of them by broadcasting.

Movement depends on a tile only through its trip count, and memory use grows with it: for each trip count only the smallest
aligned tile matters. An axis of extent L has about 2*sqrt(L) distinct trip counts, so that all combinations are evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.errors import PlanningError
from tilewright.graph.types import Chain
from tilewright.plan.model.movement import EXACT, LITERAL, movements, view_permutation
from tilewright.plan.model.working_set import literal_memory_use, working_set
from tilewright.plan.regions.loop_views import ChainView, Count
from tilewright.plan.regions.trip_counts import planned_sizes
from tilewright.plan.schedule import Storage

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
    volume = np.where(figures <= figures.min() * tie, np.broadcast_to(volumes, figures.shape), -1)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(volume)), figures.shape))


@dataclass(frozen=True, slots=True)
class TileChoice:
    """The solution of Chimera's Equation 1 in integers: tiles by axis, elements moved, elements of memory used."""

    tiles: Mapping[str, int]
    moved: int
    used: int


def least_movement(
    chain: Chain,
    order: Sequence[str],
    capacity_elements: int,
    *,
    multiples: Mapping[str, int] | None = None,
    fixed: Mapping[str, int] | None = None,
    storage: Storage = Storage.KEEP,
    mode: str = EXACT,
    memory: Callable[[ChainView], Count] | None = None,
) -> TileChoice:
    """The tiles of one loop order that move least within a capacity (Chimera, Equation 1), over all candidates.

    `fixed` gives tiles that are not searched. In mode "literal" both movement and memory use are Algorithm 1's as printed.
    `memory` is what must fit the capacity (default: `working_set`, which an ideal cache needs; see `lru.lru_working_set`).
    Raises `PlanningError` if not even the smallest tiles fit.
    """
    sizes, fixed = planned_sizes(chain), fixed or {}
    free = [axis for axis in order if axis not in fixed]
    choices = {axis: candidates(sizes[axis], (multiples or {}).get(axis, 1)) for axis in free}
    tiles: dict[str, Count] = {**fixed, **broadcast(free, choices)}
    view = view_permutation(chain, order, tiles, storage=storage)
    memory = memory or (literal_memory_use if mode == LITERAL else working_set)
    shape = tuple(len(choices[axis]) for axis in free)
    used = np.broadcast_to(np.asarray(memory(view)), shape)
    moved = np.broadcast_to(np.asarray(sum(movements(view, mode=mode).values())), shape)
    if used.min() > capacity_elements:
        raise PlanningError(
            f"no tiles of order {''.join(order)} fit into {capacity_elements} elements",
            where=chain.name,
            why=f"the smallest need {used.min()}",
        )
    volumes = np.ones(shape, dtype=np.int64)
    for axis in free:
        volumes = volumes * np.minimum(tiles[axis], sizes[axis])
    index = best_index(np.where(used <= capacity_elements, moved, np.inf), volumes)
    chosen = {axis: choices[axis][i] for axis, i in zip(free, index, strict=True)}
    return TileChoice({**fixed, **chosen}, int(moved[index]), int(used[index]))
