"""Tile candidates, and the exact integer optimum against the paper's closed form."""

from __future__ import annotations

from itertools import pairwise, product
from math import ceil, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.movements import literal_memory_use, literal_movements, schedule_movements, working_set_elements
from tests.plan.cases import gemm_chain
from tilewright.errors import PlanningError
from tilewright.plan.permutations import least_movement, permuted
from tilewright.plan.space.schedule_space import MOST_TRIPS, candidates, thinned


@given(st.integers(1, 400), st.integers(1, 20))
def test_there_is_one_candidate_for_every_trip_count(extent: int, multiple: int) -> None:
    found = candidates(extent, multiple)
    expected = {ceil(ceil(extent / trips) / multiple) * multiple for trips in range(1, extent + 1)}
    assert set(found) == expected
    assert list(found) == sorted(found)


def test_thinning_keeps_the_ends() -> None:
    assert thinned(tuple(range(100)), 4) == (0, 33, 66, 99)
    assert thinned((1, 2), 4) == (1, 2)


@pytest.mark.parametrize(("capacity", "alpha", "tile"), [(262144, 64, 451.98), (8192, 16, 75.91)])
def test_closed_form_of_order_mlkn(capacity: int, alpha: int, tile: float) -> None:
    assert -alpha + sqrt(alpha**2 + capacity) == pytest.approx(tile, abs=0.01)
    size = 100 * int(tile)
    chain = gemm_chain(size, alpha, alpha, size)
    choice = least_movement(
        chain, "mlkn", capacity, fixed={"k": alpha, "n": alpha}, moving=literal_movements, memory=literal_memory_use
    )
    assert choice.used <= capacity
    assert choice.moved == pytest.approx(2 * size * size * 2 * alpha / tile, rel=0.02)
    assert choice.tiles["m"] == pytest.approx(tile, rel=0.05)
    assert choice.tiles["l"] == pytest.approx(tile, rel=0.05)


@pytest.mark.parametrize("order", ["mlkn", "nmlk", "kmnl"])
def test_the_search_finds_what_exhaustive_search_finds(order: str) -> None:
    chain, sizes = gemm_chain(9, 4, 5, 7), {"m": 9, "n": 4, "k": 5, "l": 7}
    choice = least_movement(chain, order, 90)
    best = min(
        sum(schedule_movements(chain, schedule).values())
        for tiles in product(*(range(1, sizes[axis] + 1) for axis in order))
        for schedule in (permuted(chain, order, dict(zip(order, tiles, strict=True))),)
        if working_set_elements(chain, schedule) <= 90
    )
    assert choice.moved == best


def test_no_tiles_that_fit_is_an_error_with_figures() -> None:
    with pytest.raises(PlanningError, match="no tiles of order nmlk fit into 2 elements"):
        least_movement(gemm_chain(9, 4, 5, 7), "nmlk", 2)


def test_g1_at_48_kib_beats_the_papers_order() -> None:
    choice = least_movement(gemm_chain(512, 64, 64, 512), "mlkn", 48 * 1024 // 4)
    assert choice.moved == 458752 < 786432
    assert (choice.tiles["m"], choice.tiles["l"]) == (86, 8)


@pytest.mark.parametrize("extent", [1 << 25, (1 << 31) - 1, 1 << 40, 1 << 53])
@pytest.mark.parametrize("multiple", [1, 16])
def test_very_long_axes_have_few_tiles_without_gaps(extent: int, multiple: int) -> None:
    tiles = candidates(extent, multiple)
    assert len(tiles) < 3 * MOST_TRIPS
    assert tiles[0] == multiple
    assert extent <= tiles[-1] < extent + multiple
    assert all(after <= before * 2 for before, after in pairwise(tiles))


def test_of_one_tile_the_one_that_is_no_loop_is_left() -> None:
    assert thinned((1, 2), 1) == (2,)
