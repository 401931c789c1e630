"""Readings of the papers that the planner does not follow, by name: for study and comparison, never the default.

    literal_algorithm_1   Chimera's Algorithm 1 as printed: keeps every intermediate, and counts neither what stays alive of it
                          nor partial sums
    text_recompute        the reading of Chimera's text: the producer runs again for every block of the consumer's private loops
    halved_tiles          SConv's heuristic: tiles start at the full extents and are halved until they fit

The Lagrange solution of Equation 1 is in `lagrange`, the blog's model of two levels in `two_level`, SConv's Convolution Slicing
Analysis in `slicing`. The corrections that the planner makes to the first of them are listed in `plan.model.movement`. Counts are
elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.oracles.movements import EXACT, LITERAL, literal_memory_use, movements
from tilewright.arrays import Count
from tilewright.errors import PlanningError
from tilewright.graph.types import Chain
from tilewright.plan.model.memory.working_set import working_set_bytes
from tilewright.plan.permutations import TileChoice, permuted, view_permutation
from tilewright.plan.regions.loop_views import ChainView
from tilewright.plan.schedule import Storage, planned_sizes
from tilewright.plan.space.executability import why_not_executable


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reading says of one loop order with its tiles: elements moved, by tensor, and elements of memory used."""

    moved: Mapping[str, int]
    used: int

    @property
    def total(self) -> int:
        """Elements moved, all tensors together: the DV of Algorithm 1."""
        return sum(self.moved.values())


def literal_algorithm_1(chain: Chain, order: Sequence[str], tiles: Mapping[str, int]) -> Reading:
    """DV and MU of Algorithm 1 as printed (Chimera, section IV-B), in elements; axes without a tile are not cut.

    Known to be wrong about: extents that tiles do not divide (whole tiles are counted), loops with one trip (they end reuse),
    partial sums of the output (their read-backs are missing), and MU of most orders (live intermediates are missing).

    >>> from benchmarks.papers.example_chains import gemm_chain
    >>> reading = literal_algorithm_1(gemm_chain(96, 40, 56, 128), "mlkn", {"m": 32, "l": 16, "k": 8, "n": 8})
    >>> reading.moved == {"A": 96 * 56 * 8, "B": 56 * 128 * 3, "D": 40 * 128 * 3, "E": 96 * 40 * 8}  # Table III
    True
    >>> reading.used == 32 * 8 + 8 * 16 + 32 * 16
    True
    """
    view = view_permutation(chain, order, tiles)
    return _reading(movements(view, mode=LITERAL), literal_memory_use(view))


def text_recompute(chain: Chain, order: Sequence[str], tiles: Mapping[str, int]) -> Reading:
    """Movement and memory, in elements, if producers run again for every block of loops that only consumers have.

    Chimera, section IV-B, observation 2: "under mnlk order, loops n, l will cause data movement for matrix A", though A's
    operator has no n; Algorithm 1, line 11, would skip it. Order mlnk of Figure 8e is counted so. Extents are exact, and
    read-backs and what is alive are counted. Raises `PlanningError` where the producer would sum twice (k outside n).

    >>> from benchmarks.papers.example_chains import gemm_chain
    >>> chain, tiles = gemm_chain(64, 64, 64, 64), {"m": 16, "l": 16, "k": 16, "n": 16}
    >>> text_recompute(chain, "mnlk", tiles).moved["A"] == 64 * 64 * 4 * 4  # M K ceil(L / T_L) ceil(N / T_N)
    True
    >>> literal_algorithm_1(chain, "mnlk", tiles).moved["A"] == 64 * 64 * 4
    True
    """
    reason = why_not_executable(chain, permuted(chain, order, tiles, storage=Storage.RECOMPUTE))
    if reason:
        raise PlanningError(f"order {''.join(order)} cannot recompute its intermediates", where=chain.name, why=reason)
    return _exact(view_permutation(chain, order, tiles, storage=Storage.RECOMPUTE))


def halved_tiles(
    chain: Chain,
    order: Sequence[str],
    capacity_elements: int,
    *,
    smallest: Mapping[str, int] | None = None,
    storage: Storage = Storage.KEEP,
) -> TileChoice:
    """Tiles of one loop order by halving: start at the full extents, halve the largest tile (of equal ones the outermost
    loop's) until the working set fits. No tile gets smaller than `smallest` says (1 where it does not).

    SConv, section 4.1: "each parameter starts with its highest possible value [...] and is halved at each following
    iteration until all constraints are satisfied"; which one is halved first is our rule. Movement and working set are the
    exact ones, so that a comparison with `permutations.least_movement` shows the search alone. Raises `PlanningError` if not
    even the smallest tiles fit.

    >>> from benchmarks.papers.example_chains import gemm_chain
    >>> choice = halved_tiles(gemm_chain(512, 64, 64, 512), "mlkn", 12288)
    >>> choice.tiles == {"m": 32, "l": 64, "k": 64, "n": 64}, choice.moved
    (True, 1114112)
    """
    sizes, limits = planned_sizes(chain), smallest or {}
    tiles = {axis: sizes[axis] for axis in order}
    while True:
        reading = _exact(view_permutation(chain, order, tiles, storage=storage))
        if reading.used <= capacity_elements:
            return TileChoice(tiles, reading.total, reading.used)
        free = [axis for axis in order if tiles[axis] > limits.get(axis, 1)]
        if not free:
            raise PlanningError(
                f"no tiles of order {''.join(order)} fit into {capacity_elements} elements",
                where=chain.name,
                why=f"the smallest need {reading.used}",
            )
        largest = max(free, key=lambda axis: tiles[axis])
        tiles[largest] = max(-(-tiles[largest] // 2), limits.get(largest, 1))


def _exact(view: ChainView) -> Reading:
    return _reading(movements(view, mode=EXACT), working_set_bytes(view) // 4)


def _reading(moved: Mapping[str, Count], used: Count) -> Reading:
    return Reading({tensor: int(elements) for tensor, elements in moved.items()}, int(used))
