"""The movement formulas against Table III, and against the walk over every order and trip pattern of a GEMM chain."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.movements import permutation_movements, schedule_movements
from tests.plan.cases import batch_chain, chain_of, contraction, elementwise, gemm_chain
from tests.plan.walk import walked_movements
from tilewright.plan.permutations import permuted
from tilewright.plan.schedule import Loop, Schedule, Storage, fused_schedule
from tilewright.plan.space.executability import is_executable

ORDERS = ["".join(order) for order in permutations("mnkl")]
RAGGED = {"m": (7, 3), "n": (5, 2), "k": (6, 4), "l": (8, 3)}
"""Extent and small tile: every small tile gives two or three trips, the last one shorter."""


def tile_choices() -> list[dict[str, int]]:
    return [
        {axis: RAGGED[axis][0] if whole else RAGGED[axis][1] for axis, whole in zip("mnkl", pattern, strict=True)}
        for pattern in product((True, False), repeat=4)
    ]


def ragged_chain():
    return gemm_chain(RAGGED["m"][0], RAGGED["n"][0], RAGGED["k"][0], RAGGED["l"][0])


def test_table_iii_of_the_paper() -> None:
    m, n, k, length = 96, 40, 56, 128
    tiles = {"m": 32, "n": 8, "k": 8, "l": 16}
    moved = permutation_movements(gemm_chain(m, n, k, length), "mlkn", tiles)
    row_blocks, panel_blocks = 3, 8
    assert moved["A"] == m * k * panel_blocks
    assert moved["B"] == k * length * row_blocks
    assert moved["D"] == n * length * row_blocks
    assert "C" not in moved
    assert moved["E"] == m * n * (2 * panel_blocks - 1), "MN*ceil(L/T_L) visits: as many writes, one read less"
    literal = permutation_movements(gemm_chain(m, n, k, length), "mlkn", tiles, mode="literal")
    assert literal == {"A": moved["A"], "B": moved["B"], "D": moved["D"], "E": m * n * panel_blocks}


def test_extents_are_exact_where_tiles_do_not_divide_them() -> None:
    moved = permutation_movements(gemm_chain(100, 64, 64, 100), "mlkn", {"m": 48, "n": 8, "k": 8, "l": 48})
    assert moved["A"] == 100 * 64 * 3
    literal = permutation_movements(gemm_chain(100, 64, 64, 100), "mlkn", {"m": 48, "n": 8, "k": 8, "l": 48}, mode="literal")
    assert literal["A"] == 48 * 8 * 3 * 8 * 3, "as printed, whole tiles are counted at the edges"


def test_a_loop_with_one_trip_is_transparent() -> None:
    whole_k = permutation_movements(gemm_chain(64, 8, 16, 64), "mlkn", {"m": 16, "n": 8, "k": 16, "l": 16})
    assert whole_k == {"A": 64 * 16, "B": 16 * 64 * 4, "D": 64 * 8 * 4, "E": 64 * 8}
    literal = permutation_movements(gemm_chain(64, 8, 16, 64), "mlkn", {"m": 16, "n": 8, "k": 16, "l": 16}, mode="literal")
    assert literal["A"] == 64 * 16 * 4


@pytest.mark.parametrize("order", ORDERS)
def test_kept_intermediates_move_what_the_walk_moves(order: str) -> None:
    for tiles in tile_choices():
        schedule = permuted(ragged_chain(), order, tiles)
        assert is_executable(ragged_chain(), schedule)
        assert schedule_movements(ragged_chain(), schedule) == walked_movements(ragged_chain(), schedule), tiles


@pytest.mark.parametrize("order", ORDERS)
def test_recomputed_intermediates_move_what_the_walk_moves(order: str) -> None:
    chain = ragged_chain()
    for tiles in tile_choices():
        schedule = permuted(chain, order, tiles, storage=Storage.RECOMPUTE)
        sums_outside = order.index("k") < order.index("n") and tiles["k"] < 6 and tiles["n"] < 5
        assert is_executable(chain, schedule) is not sums_outside
        if not sums_outside:
            assert schedule_movements(chain, schedule) == walked_movements(chain, schedule), tiles


def test_recomputation_repeats_the_producers_movement() -> None:
    chain, tiles = gemm_chain(32, 32, 8, 32), {"m": 8, "n": 8, "k": 8, "l": 8}
    kept = permutation_movements(chain, "nmlk", tiles)
    recomputed = permutation_movements(chain, "nmlk", tiles, storage=Storage.RECOMPUTE)
    assert (kept["A"], recomputed["A"]) == (32 * 8, 32 * 8 * 4)
    assert kept["E"] == recomputed["E"]


@given(
    st.permutations("mnkl"), st.tuples(*(st.integers(1, 9) for _ in range(4))), st.tuples(*(st.integers(1, 9) for _ in range(4)))
)
def test_ragged_shapes_and_tiles_move_what_the_walk_moves(order, extents, tiles) -> None:
    chain = gemm_chain(*extents)
    schedule = permuted(chain, order, dict(zip("mnkl", tiles, strict=True)))
    assert schedule_movements(chain, schedule) == walked_movements(chain, schedule)


def test_tiles_may_be_arrays() -> None:
    chain = gemm_chain(7, 5, 6, 8)
    tiles = {"m": np.array([2, 3, 7])[:, None], "l": np.array([1, 4, 5, 8])[None, :], "k": 6, "n": 2}
    moved = permutation_movements(chain, "mnlk", tiles)
    for i, t_m in enumerate((2, 3, 7)):
        for j, t_l in enumerate((1, 4, 5, 8)):
            single = permutation_movements(chain, "mnlk", {"m": t_m, "l": t_l, "k": 6, "n": 2})
            assert {name: int(np.broadcast_to(count, (3, 4))[i, j]) for name, count in moved.items()} == single


PREFIXES = ["".join(p) for size in range(4) for p in permutations("mln", size)]


@pytest.mark.parametrize("outer_loops", PREFIXES)
def test_prefixed_schedules_move_what_the_walk_moves(outer_loops: str) -> None:
    chain = ragged_chain()
    for tiles in tile_choices():
        first, second = ([x for x in letters if x not in outer_loops] for letters in ("kml", "lnm"))
        schedule = fused_schedule(chain, outer_loops, {"C": first, "E": second}, tiles)
        assert is_executable(chain, schedule)
        assert schedule_movements(chain, schedule) == walked_movements(chain, schedule), tiles


def longer_chain():
    extents = {"m": 6, "k": 4, "l": 5, "n": 4, "p": 3}
    return chain_of(
        (
            contraction("C", "mk,kl->ml", "AB", extents),
            elementwise("R", "ml", [("C", "ml"), ("bias", "l")], extents),
            contraction("E", "ml,ln->mn", "RD", extents),
            contraction("G", "mn,np->mp", "EF", extents),
        )
    )


@pytest.mark.parametrize("storage", list(Storage)[:2])
def test_four_operators_in_one_nest_move_what_the_walk_moves(storage: Storage) -> None:
    chain = longer_chain()
    tiles = {"m": 4, "k": 2, "l": 2, "n": 3, "p": 2}
    executable = 0
    for order in permutations("mklnp"):
        schedule = permuted(chain, order, tiles, storage=storage)
        if is_executable(chain, schedule):
            executable += 1
            assert schedule_movements(chain, schedule) == walked_movements(chain, schedule), order
    assert executable > 5


@pytest.mark.parametrize("outer_loops", ["l", "ml", "lm", "bml", "blm", "nml"])
def test_online_schedules_move_what_the_walk_moves(outer_loops: str) -> None:
    chain = batch_chain(2, 7, 3, 4, 6, with_softmax=True)
    for own in ({}, {"C": "k", "E": "n"}, {"C": "mlk", "E": "nml"}):
        below = {name: [axis for axis in order if axis not in outer_loops] for name, order in own.items()}
        schedule = fused_schedule(chain, outer_loops, below, {"b": 1, "m": 3, "n": 2, "k": 3, "l": 2})
        assert is_executable(chain, schedule)
        assert schedule_movements(chain, schedule) == walked_movements(chain, schedule), below


def test_loops_nested_on_one_axis_move_what_the_walk_moves() -> None:
    chain = batch_chain(2, 7, 3, 4, 6, with_softmax=True)
    inner = fused_schedule(chain, "m", {"C": "lk", "E": "n"}, {"m": 2, "l": 3, "k": 3, "n": 2})
    nested = Schedule((Loop("m", 4, inner.body),), inner.storage)
    assert is_executable(chain, nested)
    assert schedule_movements(chain, nested) == walked_movements(chain, nested)
