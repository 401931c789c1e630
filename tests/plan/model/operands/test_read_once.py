"""What few rows read once takes no room, and is read in whole rows: blocks narrower than that cost runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.cases import chain_of, contraction
from tilewright.coefficients import coefficients_for
from tilewright.kernels.registry import for_machine
from tilewright.machine.machine import Machine
from tilewright.plan.decisions.micro_kernel import chain_context
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.traffic import footprints
from tilewright.plan.model.operands.packing_cost import has_all_rows, operand_read_once, run_seconds
from tilewright.plan.planner import plan_chain

MACHINE = Machine.named("zen5")


def context(spec: str, sizes: dict[str, int]) -> CostContext:
    one = chain_of([contraction("C", spec, "AB", sizes)])
    return chain_context(one, MACHINE, for_machine(MACHINE), coefficients_for(MACHINE))[0]


@pytest.mark.parametrize(
    ("spec", "sizes", "streams"),
    [
        ("mk,kn->mn", {"m": 1, "k": 4096, "n": 4096}, True),
        ("mk,nk->mn", {"m": 4, "k": 4096, "n": 4096}, True),
        ("mk,kn->mn", {"m": 512, "k": 4096, "n": 4096}, False),
        ("bmk,kn->bmn", {"b": 7, "m": 1, "k": 4096, "n": 4096}, False),
        ("bmk,bkn->bmn", {"b": 7, "m": 1, "k": 4096, "n": 4096}, True),
    ],
)
def test_what_few_rows_read_once_streams(spec: str, sizes: dict[str, int], streams: bool) -> None:
    one = context(spec, sizes)
    assert (operand_read_once(one, one.chain.operators[0]) is not None) == streams


def constant_product(rows: int, depth: int) -> CostContext:
    """x W with constant W."""
    one = replace(chain_of([contraction("C", "mk,kn->mn", "AB", {"m": rows, "k": depth, "n": 4096})]), constants=("B",))
    return chain_context(one, MACHINE, for_machine(MACHINE), coefficients_for(MACHINE))[0]


@pytest.mark.parametrize(("rows", "depth", "streams"), [(16, 2048, True), (64, 1024, True), (65, 1024, False), (64, 8192, False)])
def test_constants_stream_past_rows_that_a_cache_holds(rows: int, depth: int, streams: bool) -> None:
    one = constant_product(rows, depth)
    assert (operand_read_once(one, one.chain.operators[0]) is not None) == streams


def test_a_loop_over_rows_reads_panels_again() -> None:
    one = constant_product(32, 1024)
    (operator,) = one.chain.operators
    assert has_all_rows(one, operator, {"m": 32, "k": 1024, "n": 64})
    assert not has_all_rows(one, operator, {"m": 6, "k": 1024, "n": 64})


def test_blocks_narrower_than_rows_in_memory_cost_runs() -> None:
    one = context("mk,kn->mn", {"m": 1, "k": 4096, "n": 4096})
    operator = one.chain.operators[0]
    costs = []
    for columns in (128, 1024, 4096):
        tiles = {"m": 1, "k": 4096, "n": columns}
        costs.append(float(run_seconds(one, operator, footprints(one, operator, tiles), tiles)))
    assert costs[0] == pytest.approx(8 * costs[1])
    assert costs[2] == 0, "whole rows follow one another"


def test_one_row_sums_parts_of_whole_rows_of_a_matrix_in_memory() -> None:
    one = chain_of([contraction("C", "mk,kn->mn", "AB", {"m": 1, "k": 4096, "n": 4096})])
    plan = plan_chain(one, replace(MACHINE, cores=2))
    assert plan.schedule.split == "k"
    assert all(loop.axis == "k" for loop in plan.schedule.path("C"))
    assert plan.levels[1].used_bytes < 1 << 16, "the matrix takes no room in L2"
