"""Two memory levels after Chimera's Equation 3, as a blog's reproduction writes them, solved exactly in integers.

The reproduction tiles C[m, n] = A[m, k] B[n, k] with M = 256, K = 2048, N = 64 for levels of 512 KiB and 1 MiB: every extent is
the exact product of far trips, near trips and the innermost tile, and each level has a loop order of its own. It minimises the
larger of both levels' traffic over their bandwidths and prints 180866, found by a solver for real numbers: the tiles printed with
it need 1,069,056 bytes of the 1,048,576. Two readings are solved here:

    as written   Algorithm 1 for each level by itself (Equation 3 separates): the near level's traffic is that of one far tile
    nested       the near level's loops run inside the far level's: one order of both, loops with one trip transparent,
                 partial sums read back

The integer optimum of the first is 212,992, of the second 1,114,112. All divisors are tried: 62,087 of 98,280 factorisations fit,
times 36 orders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.papers.example_chains import matrix_product
from tests.oracles.movements import EXACT, LITERAL, bounding_box, movements
from tilewright.arrays import Count
from tilewright.errors import PlanningError
from tilewright.graph.types import Chain
from tilewright.plan.regions.loop_views import ChainView, LoopView, OperatorView
from tilewright.plan.schedule import planned_sizes

Factors = tuple[int, int, int]
"""Far trips, near trips and the tile of an axis; their product is its extent."""

Whole: TypeAlias = npt.NDArray[np.int64]
EveryFactors: TypeAlias = tuple[Whole, Whole, Whole]
"""`Factors` in every combination."""
FactorCounts: TypeAlias = tuple[Count, Count, Count]


@dataclass(frozen=True, slots=True)
class Level:
    """A memory level: what it holds, and how many bytes cross into it per unit of cost."""

    capacity_bytes: int
    bandwidth: int


@dataclass(frozen=True, slots=True)
class TwoLevelProblem:
    """A chain of one operator, the bytes of each tensor's elements, the level next to the arithmetic and the one behind it."""

    chain: Chain
    element_bytes: tuple[tuple[str, int], ...]
    near: Level
    far: Level


BLOG = TwoLevelProblem(
    matrix_product(256, 2048, 64),
    (("A", 4), ("B", 4 * 4 * 4), ("C", 4 * 4 * 4)),
    near=Level(512 << 10, 16),
    far=Level(1 << 20, 64),
)
"""The reproduction's figures; an element of B and C is a block of 4 x 4 floats, one of A a float."""


@dataclass(frozen=True, slots=True)
class TwoLevelPoint:
    """A tiling: the loop orders of both levels (outermost first) and the factors of every axis."""

    far_order: tuple[str, ...]
    near_order: tuple[str, ...]
    factors: Mapping[str, Factors]


PRINTED = TwoLevelPoint(("m", "n", "k"), ("m", "n", "k"), {"m": (1, 4, 64), "n": (1, 4, 16), "k": (512, 1, 4)})
"""The tiling that the reproduction prints beside 180866."""


@dataclass(frozen=True, slots=True)
class TwoLevelCost:
    """Bytes that both levels hold and that cross into each of them, and the larger traffic over its bandwidth."""

    near_used_bytes: int
    far_used_bytes: int
    near_moved_bytes: int
    far_moved_bytes: int
    cost: float


def two_level_cost(problem: TwoLevelProblem, point: TwoLevelPoint, *, nested: bool = False) -> TwoLevelCost:
    """What a tiling costs, whether or not it fits.

    >>> printed = two_level_cost(BLOG, PRINTED)
    >>> printed.far_used_bytes, BLOG.far.capacity_bytes, printed.cost
    (1069056, 1048576, 180224.0)
    >>> two_level_cost(BLOG, PRINTED, nested=True).cost
    69271552.0
    """
    moved = _moved(problem, point.far_order, point.near_order, point.factors, nested)
    used = _used(problem, point.factors)
    return TwoLevelCost(int(used[0]), int(used[1]), int(moved[0]), int(moved[1]), float(_cost(problem, moved)))


def solve_two_levels(problem: TwoLevelProblem, *, nested: bool = False) -> tuple[TwoLevelPoint, TwoLevelCost]:
    """The least cost over all factorisations and orders that fit; of equal ones the first. `PlanningError` if none fits.

    >>> point, best = solve_two_levels(BLOG)
    >>> best.cost, best.near_used_bytes, best.far_used_bytes
    (212992.0, 524288, 917504)
    """
    axes = tuple(planned_sizes(problem.chain))
    factors = _fitting(problem, axes)
    best: tuple[float, TwoLevelPoint] | None = None
    for far_order, near_order in product(permutations(axes), repeat=2):
        costs = np.asarray(_cost(problem, _moved(problem, far_order, near_order, factors, nested)))
        at = int(costs.argmin())
        if best is None or costs[at] < best[0]:
            chosen = {axis: (int(far[at]), int(near[at]), int(tile[at])) for axis, (far, near, tile) in factors.items()}
            best = float(costs[at]), TwoLevelPoint(far_order, near_order, chosen)
    assert best is not None
    return best[1], two_level_cost(problem, best[1], nested=nested)


def factorisations(extent: int) -> tuple[Factors, ...]:
    """All ways to write an extent as a product of three, in increasing order.

    >>> factorisations(4)
    ((1, 1, 4), (1, 2, 2), (1, 4, 1), (2, 1, 2), (2, 2, 1), (4, 1, 1))
    """
    divisors = [number for number in range(1, extent + 1) if extent % number == 0]
    return tuple((far, near, extent // (far * near)) for far in divisors for near in divisors if extent % (far * near) == 0)


def _fitting(problem: TwoLevelProblem, axes: Sequence[str]) -> dict[str, EveryFactors]:
    """Arrays of the factors of every axis: one entry per combination that fits both levels."""
    choices = [np.array(factorisations(planned_sizes(problem.chain)[axis])) for axis in axes]
    grid = np.meshgrid(*(np.arange(len(choice)) for choice in choices), indexing="ij")
    picked: dict[str, EveryFactors] = {}
    for axis, choice, at in zip(axes, choices, grid, strict=True):
        far, trips, tile = choice[at.ravel()].T
        picked[axis] = far, trips, tile
    near_bytes, far_bytes = map(np.asarray, _used(problem, picked))
    fits = (near_bytes <= problem.near.capacity_bytes) & (far_bytes <= problem.far.capacity_bytes)
    if not fits.any():
        raise PlanningError(
            f"no tiles fit into {problem.near.capacity_bytes} and {problem.far.capacity_bytes} bytes",
            where=problem.chain.name,
            why=f"the smallest need {near_bytes.min()} and {far_bytes.min()}",
        )
    return {axis: (far[fits], trips[fits], tile[fits]) for axis, (far, trips, tile) in picked.items()}


def _used(problem: TwoLevelProblem, factors: Mapping[str, FactorCounts]) -> tuple[Count, Count]:
    """Bytes of all tiles in the near and in the far level."""
    (operator,) = problem.chain.operators
    size_bytes = dict(problem.element_bytes)
    accesses = (*operator.reads, operator.write)
    near = {axis: tile for axis, (_, _, tile) in factors.items()}
    far = {axis: trips * tile for axis, (_, trips, tile) in factors.items()}
    first, second = (sum(size_bytes[a.tensor] * bounding_box(a, tiles) for a in accesses) for tiles in (near, far))
    return first, second


def _moved(
    problem: TwoLevelProblem,
    far_order: Sequence[str],
    near_order: Sequence[str],
    factors: Mapping[str, FactorCounts],
    nested: bool,
) -> tuple[Count, Count]:
    """Bytes that cross into the near and into the far level."""
    near_tiles = {axis: tile for axis, (_, _, tile) in factors.items()}
    far_tiles = {axis: trips * tile for axis, (_, trips, tile) in factors.items()}
    far_loops = [(axis, factors[axis][0]) for axis in far_order]
    near_loops = [(axis, factors[axis][1]) for axis in near_order]
    around = [*far_loops, *near_loops] if nested else near_loops
    mode = EXACT if nested else LITERAL
    return _traffic(problem, around, near_tiles, mode), _traffic(problem, far_loops, far_tiles, mode)


def _traffic(problem: TwoLevelProblem, loops: Sequence[tuple[str, Count]], tiles: Mapping[str, Count], mode: str) -> Count:
    (operator,) = problem.chain.operators
    nest = tuple(LoopView(axis, trips, node) for node, (axis, trips) in enumerate(loops))
    view = ChainView(problem.chain, (OperatorView(operator, nest, {}, tiles),), {}, planned_sizes(problem.chain))
    size_bytes = dict(problem.element_bytes)
    return sum(size_bytes[tensor] * elements for tensor, elements in movements(view, mode=mode).items())


def _cost(problem: TwoLevelProblem, moved: tuple[Count, Count]) -> Count:
    near, far = moved
    return np.maximum(near / problem.near.bandwidth, far / problem.far.bandwidth)
