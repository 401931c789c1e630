"""Micro kernels are chosen by padded work, edges in rows and columns included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tests.leaves.test_matrix_tile_work import work_of
from tests.plan.cases import CASCADE_LAKE, KERNELS, chain_of, contraction, kernel
from tilewright.arrays import pieces
from tilewright.coefficients import DEFAULT
from tilewright.errors import PlanningError
from tilewright.graph.types import Operator
from tilewright.kernels.contract import DEPTH, MicroKernel
from tilewright.kernels.registry import for_machine
from tilewright.leaves.declaration import CostProblem, Problem
from tilewright.leaves.registry import tiles_of
from tilewright.machine.machine import Machine
from tilewright.plan.decisions.micro_kernel import RightOperand, chain_context, choose_kernel


def work(m: int, n: int, k: int, rows: int, columns: int, row_tile: int = 0):
    operator = contraction("C", "mk,kn->mn", "AB", {"m": m, "n": n, "k": k})
    sizes = {"m": m, "n": n, "k": k}
    one = kernel(rows, columns)
    done = work_of(operator, one, CASCADE_LAKE, sizes, {**sizes, "m": row_tile or m})
    return done, 2 * m * n * k / done.seconds / one.attainable(CASCADE_LAKE)


def chosen_of(
    operator: Operator, machine: Machine, sizes: Mapping[str, int], kernels: Sequence[MicroKernel], copied_s: float = 0.0
):
    found = tiles_of(Problem(operator, ("float32", "float32"), "float32", tuple(kernels)))
    known = {one.name: one for one in kernels}
    candidates = {known[binding.tile.micro_kernel]: binding for binding in found}
    problem = CostProblem(operator, machine, DEFAULT, sizes, sizes, lanes=1)
    return choose_kernel(candidates, problem, RightOperand(copied_s))


def test_pieces_cover_the_axis() -> None:
    for size, tile, step in ((100, 40, 16), (7, 7, 3), (64, 64, 64), (5, 9, 4)):
        assert sum(count * length for count, length in pieces(size, tile, step)) == size


def test_full_tiles_are_all_useful() -> None:
    done, share = work(48, 128, 64, 6, 64)
    assert share == pytest.approx(1.0)
    assert done.calls == 16


def test_a_column_edge_costs_whole_vectors() -> None:
    assert work(48, 65, 64, 6, 64)[1] < 0.85
    assert work(48, 80, 64, 8, 48)[1] == pytest.approx(1.0), "80 columns are 3 and 2 vectors"


def test_blocks_that_cut_tiles_cost_short_tiles() -> None:
    whole, cut = work(48, 128, 64, 6, 64)[0], work(48, 128, 64, 6, 64, 7)[0]
    assert cut.seconds > whole.seconds
    assert cut.calls > whole.calls


def test_the_kernel_that_fits_the_columns_is_chosen() -> None:
    sizes = {"m": 208, "n": 80, "k": 208}
    operator = contraction("C", "mk,kn->mn", "AB", sizes)
    chosen, ranked = chosen_of(operator, CASCADE_LAKE, sizes, KERNELS)
    assert chosen.name == "test_8x48"
    assert [seconds for _, seconds in ranked] == sorted(seconds for _, seconds in ranked)


def test_narrow_vectors_reach_their_share_of_the_peak_only() -> None:
    sizes = {"m": 48, "n": 64, "k": 64}
    operator = contraction("C", "mk,kn->mn", "AB", sizes)
    narrow = kernel(6, 16, vector_bits=256)
    chosen, _ = chosen_of(operator, CASCADE_LAKE, sizes, (narrow, kernel(6, 64)))
    assert chosen.name == "test_6x64"


def test_no_kernel_is_an_error_that_says_what_to_do() -> None:
    operator = contraction("C", "mk,kn->mn", "AB", {"m": 4, "n": 4, "k": 4})
    with pytest.raises(PlanningError, match="no micro kernel can compute C on cascadelake-6240") as caught:
        chain_context(chain_of((operator,)), CASCADE_LAKE, (), DEFAULT)
    assert "register" in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "sizes", "is_dot"),
    [
        ("mk,kn->mn", {"m": 2048, "n": 1, "k": 128}, True),
        ("mk,kn->mn", {"m": 2048, "n": 2, "k": 128}, False),
        ("mk,kn->mn", {"m": 2048, "n": 16, "k": 128}, False),
        ("km,kn->mn", {"m": 2048, "n": 1, "k": 128}, False),
    ],
)
def test_lanes_run_along_the_depth_of_one_contiguous_column(spec: str, sizes: dict[str, int], is_dot: bool) -> None:
    operator = contraction("C", spec, "AB", sizes)
    machine = Machine.named("zen5")
    chosen, _ = chosen_of(operator, machine, sizes, for_machine(machine))
    assert (chosen.lanes_along == DEPTH) == is_dot


@pytest.mark.parametrize(("rows", "copied_s", "by_columns"), [(1, 1e-3, True), (4, 1e-3, True), (512, 1e-3, False)])
def test_few_rows_read_columns_in_place_and_many_pay_for_a_copy(rows: int, copied_s: float, by_columns: bool) -> None:
    sizes = {"m": rows, "n": 4096, "k": 128}
    operator = contraction("C", "mk,nk->mn", "AB", sizes)
    machine = Machine.named("zen5")
    chosen, _ = chosen_of(operator, machine, sizes, for_machine(machine), copied_s)
    assert chosen.right_by_columns == by_columns
    strided = contraction("C", "mk,kn->mn", "AB", sizes)
    chosen, _ = chosen_of(strided, machine, sizes, for_machine(machine), copied_s)
    assert not chosen.right_by_columns, "rows of B are contiguous here"
