"""Chimera's closed solution of Equation 1 for a GEMM chain C = A B, E = C D: Lagrange, then rounding (section IV-B).

With T_K = T_N = a, a lower bound, Algorithm 1 gives every order of the loops m, n, k, l in real numbers as

    DV = P_M / T_M + P_L / T_L + F        MU = T_M T_L + a (T_M + T_L) <= MC

P_M is M K L if m is not the innermost of m, k, l (B is fetched again for every block of m), plus M N L if it is not that of
m, l, n (D); P_L likewise for A and E; F holds the tensors that are fetched once. The stationary point on MU = MC is

    u = r (r sqrt(P_M) + a sqrt(P_L)) / (r sqrt(P_L) + a sqrt(P_M))    with r = sqrt(a^2 + MC)
    T_M* = u - a        T_L* = r^2 / u - a

which for P_M = P_L (order mlkn) is the paper's T_M* = T_L* = -a + r, DV* = 2 M L (K + N) / T*. If P_M or P_L is 0 the solution
lies at the end T_L = 1 or T_M = 1. The paper rounds to min(floor(T*), X) and bounds what that costs by

    DV_app / DV* <= max over X in {M, L} of 1 + T_X* / X + 1 / T_X

It holds for every order and all sizes with T_X* >= 1: ceil(X / T) T* / X < 1 + 1/T + T*/X where T = floor(T*) <= X, and it is
T*/X where T = X < T*. It says nothing about

- the paper's second form with sqrt(MC) in place of T_X* and of T_X ("MC >> a"): 1 / T_X is the larger one, because of the floor
  and, unless MC >> a^2, of T_X* being far below sqrt(MC). 7000 cubed, MC = 1000, a = 64: DV_app / DV* = 1.055, second form 1.036;
- the true optimum: DV knows no loop with one trip. G1 at 12288 elements, a = 16, bound 1.20: DV_app 786,432, optimum 458,752;
- the true movement of the rounded tiles: E is read back, which DV leaves out;
- the true memory: of the orders with k or n outside l or m, far more than MU is alive (`working_set`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations
from math import inf, prod, sqrt

from tilewright.errors import PlanningError

Sizes = Mapping[str, int]
"""The extents of m, n, k and l, in elements."""
ORDERS = tuple("".join(order) for order in permutations("mlkn"))
"""All 24; the paper's comes first, and so wins ties."""
_REPEATED = {"A": ("mk", "l"), "B": ("kl", "m"), "D": ("ln", "m"), "E": ("mn", "l")}
"""Of every tensor the axes that index it, and the other axis of its operator."""


@dataclass(frozen=True, slots=True)
class VolumeTerms:
    """DV = per_m / T_M + per_l / T_L + fixed, in elements."""

    per_m: int
    per_l: int
    fixed: int


@dataclass(frozen=True, slots=True)
class RealSolution:
    """The real tiles that minimise DV under MU <= MC, T_K = T_N = `lower_bound`, and their DV: the paper's starred values."""

    order: str
    tile_m: float
    tile_l: float
    lower_bound: int
    moved: float


@dataclass(frozen=True, slots=True)
class LagrangeChoice:
    """The integer candidate that moves least: its tiles, its DV_app in elements, and what `rounding_bound` allows."""

    solution: RealSolution
    tiles: Mapping[str, int]
    moved: int
    bound: float


def volume_terms(sizes: Sizes, order: str) -> VolumeTerms:
    """DV of Algorithm 1 in real numbers for any order of m, n, k, l (observations 1 to 3 of section IV-B).

    >>> volume_terms({"m": 8, "n": 2, "k": 3, "l": 5}, "mlkn") == VolumeTerms(8 * 5 * (3 + 2), 8 * 5 * (3 + 2), 0)
    True
    >>> volume_terms({"m": 8, "n": 2, "k": 3, "l": 5}, "mknl") == VolumeTerms(8 * 5 * (3 + 2), 0, 8 * 3 + 8 * 2)
    True
    """
    totals = {"m": 0, "l": 0, "": 0}
    for tensor in _REPEATED:
        axis = _repeating_axis(tensor, order)
        totals[axis] += _size(sizes, tensor) * (sizes[axis] if axis else 1)
    return VolumeTerms(totals["m"], totals["l"], totals[""])


def claimed_movement(sizes: Sizes, order: str, tiles: Mapping[str, int]) -> int:
    """DV of an order with integer tiles by Table III's formulas: exact extents, whole trips; in elements.

    >>> g1 = {"m": 512, "n": 64, "k": 64, "l": 512}
    >>> claimed_movement(g1, "mlkn", {"m": 96, "l": 96})
    786432
    """
    total = 0
    for tensor in _REPEATED:
        axis = _repeating_axis(tensor, order)
        total += _size(sizes, tensor) * (-(-sizes[axis] // tiles[axis]) if axis else 1)
    return total


def real_solution(sizes: Sizes, order: str, capacity_elements: int, lower_bound: int) -> RealSolution:
    """The real tiles of one order that minimise DV, none below 1. Raises `PlanningError` if T_M = T_L = 1 does not fit.

    >>> square = dict.fromkeys("mnkl", 2048)
    >>> round(real_solution(square, "mlkn", 262144, 64).tile_m, 2), round(real_solution(square, "mlkn", 8192, 16).tile_l, 2)
    (451.98, 75.91)
    >>> round(real_solution(square, "mknl", 8192, 16).tile_l, 9)
    1.0
    """
    if 1 + 2 * lower_bound > capacity_elements:
        raise PlanningError(
            f"no tiles with T_K = T_N = {lower_bound} fit into {capacity_elements} elements",
            why=f"the smallest need {1 + 2 * lower_bound}",
        )
    terms, a = volume_terms(sizes, order), lower_bound
    r = sqrt(a * a + capacity_elements)
    root_m, root_l = sqrt(terms.per_m), sqrt(terms.per_l)
    tile_m = r * ((r * root_m + a * root_l) / (r * root_l + a * root_m)) - a
    tile_m = min(max(tile_m, 1.0), _partner(1.0, capacity_elements, a))
    tile_l = max(_partner(tile_m, capacity_elements, a), 1.0)
    return RealSolution(order, tile_m, tile_l, a, terms.per_m / tile_m + terms.per_l / tile_l + terms.fixed)


def integer_candidates(solution: RealSolution, sizes: Sizes, capacity_elements: int) -> tuple[dict[str, int], ...]:
    """The solution rounded as the paper rounds, T_X = min(floor(T_X*), X), then the extreme points where T_M = M or T_L = L.

    The latter matter where T_X* > X: rounding alone leaves the memory unused that the other tile could take.

    >>> wide = {"m": 64, "n": 64, "k": 64, "l": 4096}
    >>> solution = real_solution(wide, "mlkn", 12288, 16)
    >>> [(tiles["m"], tiles["l"]) for tiles in integer_candidates(solution, wide, 12288)]
    [(64, 96), (64, 140)]
    """
    a = solution.lower_bound
    points = [
        (solution.tile_m, solution.tile_l),
        (sizes["m"], _partner(sizes["m"], capacity_elements, a)),
        (_partner(sizes["l"], capacity_elements, a), sizes["l"]),
    ]
    fixed = {"k": min(a, sizes["k"]), "n": min(a, sizes["n"])}
    return tuple(
        {"m": min(int(m), sizes["m"]), "l": min(int(length), sizes["l"]), **fixed}
        for m, length in dict.fromkeys(points)
        if m >= 1 and length >= 1
    )


def rounding_bound(solution: RealSolution, sizes: Sizes) -> float:
    """The largest of 1 + T_X* / X + 1 / T_X for X in M, L: what rounding can cost, DV_app over DV* (section IV-B).

    >>> g1 = {"m": 512, "n": 64, "k": 64, "l": 512}
    >>> round(rounding_bound(real_solution(g1, "mlkn", 12288, 16), g1), 3)
    1.198
    """
    pairs = ((solution.tile_m, sizes["m"]), (solution.tile_l, sizes["l"]))
    return max(1 + tile / size + 1 / min(int(tile), size) for tile, size in pairs)


def lagrange_choice(sizes: Sizes, capacity_elements: int, lower_bound: int, orders: Iterable[str] = ORDERS) -> LagrangeChoice:
    """The paper's answer to Equation 1: of all orders' integer candidates the one with the least DV, the first of equal ones.

    >>> choice = lagrange_choice({"m": 512, "n": 64, "k": 64, "l": 512}, 12288, 16, ["mlkn"])
    >>> choice.moved, choice.tiles["m"], choice.tiles["l"]
    (786432, 96, 96)
    """
    best, least = None, inf
    for order in orders:
        solution = real_solution(sizes, order, capacity_elements, lower_bound)
        for tiles in integer_candidates(solution, sizes, capacity_elements):
            moved = claimed_movement(sizes, order, tiles)
            if moved < least:
                best, least = LagrangeChoice(solution, tiles, moved, rounding_bound(solution, sizes)), moved
    assert best is not None, "no order was given"
    return best


def _repeating_axis(tensor: str, order: str) -> str:
    """The axis whose blocks fetch a tensor again: that of its operator which does not index it; none if it is innermost."""
    indexing, remaining = _REPEATED[tensor]
    return remaining if order.index(remaining) < max(order.index(axis) for axis in indexing) else ""


def _size(sizes: Sizes, tensor: str) -> int:
    indexing, _ = _REPEATED[tensor]
    return prod(sizes[axis] for axis in indexing)


def _partner(tile: float, capacity_elements: int, lower_bound: int) -> float:
    """The other tile on MU = MC: (MC - a T) / (T + a)."""
    return (capacity_elements - lower_bound * tile) / (tile + lower_bound)
