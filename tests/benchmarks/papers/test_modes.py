"""The papers' readings against transcriptions, dense scans, brute force and the walk; where they go wrong, by how much."""

from __future__ import annotations

from itertools import permutations, product
from math import floor, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.papers.example_chains import gemm_chain, matrix_product
from benchmarks.papers.lagrange import (
    ORDERS,
    claimed_movement,
    integer_candidates,
    lagrange_choice,
    real_solution,
    rounding_bound,
    volume_terms,
)
from benchmarks.papers.modes import halved_tiles, literal_algorithm_1, text_recompute
from benchmarks.papers.two_level import (
    BLOG,
    PRINTED,
    Level,
    TwoLevelPoint,
    TwoLevelProblem,
    factorisations,
    solve_two_levels,
    two_level_cost,
)
from tests.oracles.movements import permutation_movements, working_set_elements
from tests.plan.walk import walked_movements, walked_working_set
from tilewright.errors import PlanningError
from tilewright.graph.types import Chain
from tilewright.plan.model.memory.working_set import working_set_bytes
from tilewright.plan.permutations import least_movement, permuted, view_permutation
from tilewright.plan.schedule import Compute, Loop, Schedule, Storage

G1 = {"m": 512, "n": 64, "k": 64, "l": 512}
L1_48_KIB = 48 * 1024 // 4
SMALL = st.fixed_dictionaries({axis: st.integers(1, 9) for axis in "mnkl"})
LARGE = st.fixed_dictionaries({axis: st.integers(1, 5000) for axis in "mnkl"})


def chain_of(sizes: dict[str, int]) -> Chain:
    return gemm_chain(sizes["m"], sizes["n"], sizes["k"], sizes["l"])


def algorithm_1(sizes: dict[str, int], order: str, tiles: dict[str, int]) -> tuple[dict[str, int], int]:
    """The printed lines 1 to 21 for the GEMM chain."""
    loops, moved, used = list(order), dict.fromkeys("ABDE", 0), 0
    for own, tensors in (("mkl", ("Amk", "Bkl", "Cml")), ("mln", ("Cml", "Dln", "Emn"))):
        total = 0
        for name, *indexing in tensors:
            footprint = tiles[indexing[0]] * tiles[indexing[1]]
            total += footprint
            keep_reuse = True
            for loop in reversed(loops):
                if loop in own:
                    keep_reuse = keep_reuse and loop not in indexing
                    footprint *= 1 if keep_reuse else -(-sizes[loop] // tiles[loop])
            if name != "C":
                moved[name] += footprint
        loops = [loop for loop in loops if loop != "k"]
        used = max(used, total)
    return moved, used


@given(st.sampled_from(ORDERS), SMALL, SMALL)
def test_the_literal_entry_is_algorithm_1_line_by_line(order: str, sizes: dict[str, int], tiles: dict[str, int]) -> None:
    tiles = {axis: min(tiles[axis], sizes[axis]) for axis in sizes}
    reading = literal_algorithm_1(chain_of(sizes), order, tiles)
    assert (dict(reading.moved), reading.used) == algorithm_1(sizes, order, tiles)
    assert reading.total == sum(reading.moved.values())


def test_the_literal_memory_use_lets_orders_fit_that_do_not() -> None:
    tiles = {"m": 512, "l": 1, "k": 16, "n": 16}
    reading = literal_algorithm_1(chain_of(G1), "mknl", tiles)
    assert reading.used == 8720 < L1_48_KIB
    assert working_set_elements(chain_of(G1), permuted(chain_of(G1), "mknl", tiles)) > 512 * 512, "all of C is alive"


@pytest.mark.parametrize("order", [order for order in ORDERS if order.index("n") < order.index("k")])
def test_the_texts_recomputation_moves_what_the_walk_moves(order: str) -> None:
    sizes, cut = {"m": 5, "n": 5, "k": 4, "l": 6}, {"m": 3, "n": 2, "k": 2, "l": 3}
    chain = chain_of(sizes)
    for whole in product((True, False), repeat=4):
        tiles = {axis: sizes[axis] if uncut else cut[axis] for axis, uncut in zip("mnkl", whole, strict=True)}
        schedule = permuted(chain, order, tiles, storage=Storage.RECOMPUTE)
        reading = text_recompute(chain, order, tiles)
        assert reading.moved == walked_movements(chain, schedule), tiles
        assert reading.used >= walked_working_set(chain, schedule), tiles


@pytest.mark.parametrize("order", ["mnlk", "mlnk"])
def test_figure_8e_counts_the_producer_once_per_block_of_n(order: str) -> None:
    tiles = dict.fromkeys("mnkl", 64)
    moved = text_recompute(gemm_chain(2048, 2048, 2048, 2048), order, tiles).moved
    literal = literal_algorithm_1(gemm_chain(2048, 2048, 2048, 2048), order, tiles).moved
    assert moved["A"] == 2048**2 * 32 * 32 == 32 * literal["A"]
    assert moved["B"] == 2048**2 * 32 * 32 == 32 * literal["B"]


def test_recomputing_a_sum_twice_is_refused() -> None:
    with pytest.raises(PlanningError, match="order mlkn cannot recompute its intermediates") as caught:
        text_recompute(gemm_chain(8, 8, 8, 8), "mlkn", dict.fromkeys("mlkn", 4))
    assert caught.value.why == "C is recomputed along n inside a loop that sums it: n must come first"


@given(st.sampled_from(ORDERS), SMALL, SMALL)
def test_the_closed_volume_is_algorithm_1s_where_tiles_divide(order: str, trips: dict[str, int], tiles: dict[str, int]) -> None:
    sizes = {axis: trips[axis] * tiles[axis] for axis in tiles}
    claimed = claimed_movement(sizes, order, tiles)
    assert claimed == literal_algorithm_1(chain_of(sizes), order, tiles).total
    terms = volume_terms(sizes, order)
    assert claimed == terms.per_m // tiles["m"] + terms.per_l // tiles["l"] + terms.fixed


@given(st.sampled_from(ORDERS), LARGE, st.integers(1, 64), st.integers(0, 300_000))
def test_no_real_tiles_move_less_than_the_solution(order: str, sizes: dict[str, int], bound: int, spare: int) -> None:
    capacity = 1 + 2 * bound + spare
    solution, terms = real_solution(sizes, order, capacity, bound), volume_terms(sizes, order)
    largest = (capacity - bound) / (1 + bound)
    tile_m = np.geomspace(1, largest, 5000)
    tile_l = (capacity - bound * tile_m) / (tile_m + bound)
    scanned = float((terms.per_m / tile_m + terms.per_l / tile_l + terms.fixed).min())
    assert solution.moved <= scanned * (1 + 1e-9)
    assert solution.moved >= scanned * (1 - 1e-4)


@given(st.sampled_from(ORDERS), LARGE, st.integers(1, 128), st.integers(0, 1_000_000))
def test_rounding_costs_at_most_the_papers_bound(order: str, sizes: dict[str, int], bound: int, spare: int) -> None:
    capacity = 1 + 2 * bound + spare
    choice = lagrange_choice(sizes, capacity, bound, [order])
    solution = choice.solution
    rounded = {"m": min(floor(solution.tile_m), sizes["m"]), "l": min(floor(solution.tile_l), sizes["l"])}
    allowed = rounding_bound(solution, sizes) * (1 + 1e-12)
    assert claimed_movement(sizes, order, rounded) <= allowed * solution.moved
    assert choice.moved <= claimed_movement(sizes, order, rounded), "the other candidates only help"
    assert choice.moved >= solution.moved * (1 - 1e-12)
    for tiles in integer_candidates(solution, sizes, capacity):
        assert literal_algorithm_1(chain_of(sizes), order, tiles).used <= capacity


@given(st.fixed_dictionaries({axis: st.integers(1, 40) for axis in "mnkl"}), st.integers(1, 4), st.integers(0, 900))
def test_no_integer_tiles_move_less_than_the_real_solution(sizes: dict[str, int], bound: int, spare: int) -> None:
    capacity = 1 + 2 * bound + spare
    choice = lagrange_choice(sizes, capacity, bound, ["mlkn"])
    best = min(
        claimed_movement(sizes, "mlkn", {"m": m, "l": length})
        for m, length in product(range(1, sizes["m"] + 1), range(1, sizes["l"] + 1))
        if m * length + bound * (m + length) <= capacity
    )
    assert choice.solution.moved * (1 - 1e-12) <= best <= choice.moved


@pytest.mark.parametrize(("size", "capacity", "bound"), [(7000, 1000, 64), (99 * 10**6, 10197, 1)])
def test_the_bounds_second_form_does_not_hold(size: int, capacity: int, bound: int) -> None:
    choice = lagrange_choice(dict.fromkeys("mnkl", size), capacity, bound, ["mlkn"])
    second = 1 + sqrt(capacity) / size + 1 / min(size, sqrt(capacity))
    assert second < choice.moved / choice.solution.moved <= choice.bound


def test_the_bound_says_nothing_about_the_true_optimum() -> None:
    choice = lagrange_choice(G1, L1_48_KIB, 16, ["mlkn"])
    assert (choice.moved, round(choice.bound, 2)) == (786432, 1.2)
    exact = least_movement(chain_of(G1), "mlkn", L1_48_KIB)
    assert exact.moved == 458752, "one trip of k keeps A, which DV does not know"
    assert choice.moved > choice.bound * exact.moved
    moved = permutation_movements(chain_of(G1), "mlkn", choice.tiles)
    assert sum(moved.values()) == choice.moved + 512 * 64 * 5, "E is read back for all blocks of l but the first"


def test_at_figure_8s_size_algorithm_1_does_not_prefer_the_papers_order() -> None:
    square = dict.fromkeys("mnkl", 2048)
    papers, least = (lagrange_choice(square, 8192, 16, orders) for orders in (["mlkn"], ORDERS))
    assert (least.solution.order, papers.moved, least.moved) == ("mknl", 469762048, 50331648)
    assert working_set_bytes(view_permutation(chain_of(square), "mknl", least.tiles)) // 4 > 480 * 2048 > 100 * 8192


def test_at_figure_8s_size_the_exact_search_prefers_the_papers_order() -> None:
    chain, multiples = gemm_chain(2048, 2048, 2048, 2048), dict.fromkeys("mnkl", 16)
    found = {order: least_movement(chain, order, 8192, multiples=multiples) for order in ORDERS if order[:2] in ("ml", "lm")}
    assert min(found, key=lambda order: found[order].moved) == "mlkn"
    assert (found["mlkn"].moved, found["mlkn"].tiles["m"], found["mlkn"].tiles["l"]) == (591396864, 64, 80)
    for order in set(ORDERS) - set(found):
        with pytest.raises(PlanningError, match=f"no tiles of order {order} fit into 8192 elements"):
            least_movement(chain, order, 8192, multiples=multiples)


def test_of_all_orders_the_closed_form_prefers_one_that_does_not_fit() -> None:
    choice = lagrange_choice(G1, L1_48_KIB, 16)
    assert (choice.solution.order, choice.moved) == ("mknl", 512 * 64 * 4)
    assert working_set_bytes(view_permutation(chain_of(G1), "mknl", choice.tiles)) // 4 > 20 * L1_48_KIB


def test_a_lower_bound_that_leaves_no_room_is_an_error_with_figures() -> None:
    with pytest.raises(PlanningError, match="no tiles with T_K = T_N = 64 fit into 100 elements") as caught:
        real_solution(G1, "mlkn", 100, 64)
    assert caught.value.why == "the smallest need 129"


@given(st.sampled_from(ORDERS), SMALL, st.integers(100, 250))
def test_halving_never_beats_the_search(order: str, sizes: dict[str, int], capacity: int) -> None:
    """81 elements of C, a tile of each of the others: the smallest tiles always fit into 100."""
    chain = chain_of(sizes)
    halved = halved_tiles(chain, order, capacity)
    schedule = permuted(chain, order, halved.tiles)
    assert halved.used == working_set_elements(chain, schedule) <= capacity
    assert halved.moved == sum(walked_movements(chain, schedule).values())
    assert halved.moved >= least_movement(chain, order, capacity).moved


def test_halving_starts_whole_and_stops_at_the_first_tiles_that_fit() -> None:
    chain = chain_of(G1)
    assert halved_tiles(chain, "mlkn", 10**6).tiles == G1
    choice = halved_tiles(chain, "mlkn", L1_48_KIB)
    assert choice.tiles == {"m": 32, "l": 64, "k": 64, "n": 64}
    assert choice.moved == 1114112 > 2 * least_movement(chain, "mlkn", L1_48_KIB).moved
    assert min(halved_tiles(chain, "mlkn", 1200, smallest={"k": 24, "n": 24}).tiles[axis] for axis in "kn") == 24


def test_halving_down_to_nothing_is_an_error_with_figures() -> None:
    with pytest.raises(PlanningError, match="no tiles of order nmlk fit into 2 elements") as caught:
        halved_tiles(gemm_chain(9, 4, 5, 7), "nmlk", 2)
    assert caught.value.why.startswith("the smallest need ")


def test_the_blogs_model_in_integers() -> None:
    point, best = solve_two_levels(BLOG)
    assert best.cost == 212992
    assert best == two_level_cost(BLOG, point)
    assert best.near_used_bytes <= 512 * 1024
    assert best.far_used_bytes <= 1024 * 1024


def test_the_blogs_printed_tiles_do_not_fit() -> None:
    printed = two_level_cost(BLOG, PRINTED)
    assert printed.far_used_bytes == 1069056 > BLOG.far.capacity_bytes == 1048576
    assert printed.cost == 180224, "of the tiles; 180866 is the solver's real optimum"


def test_the_blogs_example_with_nested_traffic() -> None:
    point, best = solve_two_levels(BLOG, nested=True)
    assert best.cost == 1114112
    separate, _ = solve_two_levels(BLOG)
    assert two_level_cost(BLOG, separate, nested=True).cost == 2818048, "what separates by level is far from best when nested"
    assert two_level_cost(BLOG, point).cost >= 212992


def small_problem(near: int, far: int) -> TwoLevelProblem:
    return TwoLevelProblem(matrix_product(6, 8, 4), (("A", 1), ("B", 4), ("C", 2)), Level(near, 1), Level(far, 3))


def all_points(sizes: dict[str, int]) -> list[TwoLevelPoint]:
    factors = list(product(*(factorisations(size) for size in sizes.values())))
    orders = list(product(permutations(sizes), repeat=2))
    return [TwoLevelPoint(*pair, dict(zip(sizes, choice, strict=True))) for pair in orders for choice in factors]


def separate_cost(problem: TwoLevelProblem, point: TwoLevelPoint) -> float | None:
    """The reproduction's model, tensor by tensor; None if the tiles do not fit."""
    weights, costs = dict(problem.element_bytes), []
    for order, position, level in ((point.far_order, 0, problem.far), (point.near_order, 1, problem.near)):
        used = moved = 0
        for name, axes in (("A", "mk"), ("B", "nk"), ("C", "mn")):
            footprint = weights[name]
            for axis in axes:
                _, near, tile = point.factors[axis]
                footprint *= tile * (near if position == 0 else 1)
            used += footprint
            last = max(order.index(axis) for axis in axes)
            for axis in order[: last + 1]:
                footprint *= point.factors[axis][position]
            moved += footprint
        if used > level.capacity_bytes:
            return None
        costs.append(moved / level.bandwidth)
    return max(costs)


@pytest.mark.parametrize(("near", "far"), [(30, 70), (60, 61), (20, 200)])
def test_the_solver_finds_what_exhaustive_search_of_the_written_model_finds(near: int, far: int) -> None:
    problem = small_problem(near, far)
    costs = (separate_cost(problem, point) for point in all_points({"m": 6, "k": 8, "n": 4}))
    assert solve_two_levels(problem)[1].cost == min(cost for cost in costs if cost is not None)


def nested_schedule(point: TwoLevelPoint, *, far_only: bool) -> Schedule:
    body: tuple[Loop | Compute, ...] = (Compute("C"),)
    for axis in () if far_only else reversed(point.near_order):
        body = (Loop(axis, point.factors[axis][2], body),)
    for axis in reversed(point.far_order):
        body = (Loop(axis, point.factors[axis][1] * point.factors[axis][2], body),)
    return Schedule(body)


@given(st.permutations("mkn"), st.permutations("mkn"), st.tuples(*(st.tuples(*[st.integers(1, 3)] * 3) for _ in range(3))))
def test_nested_traffic_is_what_the_walk_moves(far_order, near_order, factors) -> None:
    point = TwoLevelPoint(tuple(far_order), tuple(near_order), dict(zip("mkn", factors, strict=True)))
    chain = matrix_product(*(far * near * tile for far, near, tile in factors))
    weights = {"A": 1, "B": 4, "C": 2}
    problem = TwoLevelProblem(chain, tuple(weights.items()), Level(1, 1), Level(1, 3))
    cost = two_level_cost(problem, point, nested=True)
    for moved, far_only in ((cost.far_moved_bytes, True), (cost.near_moved_bytes, False)):
        walked = walked_movements(chain, nested_schedule(point, far_only=far_only))
        assert moved == sum(weights[tensor] * elements for tensor, elements in walked.items())


def test_levels_too_small_for_anything_are_an_error_with_figures() -> None:
    with pytest.raises(PlanningError, match="no tiles fit into 6 and 100 bytes") as caught:
        solve_two_levels(small_problem(6, 100))
    assert caught.value.why == "the smallest need 7 and 7"
