"""Formulas, simulator and a literal walk count the same; results are those of the graph."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.npu_chains import (
    Case,
    chain_of,
    check,
    counted,
    fitting_tiles,
    in_names_of_the_walk,
    npu,
    planned,
    random_case,
    walk_of,
)
from tilewright.backends.npu_simulator.lowering import tiles_of
from tilewright.backends.npu_simulator.planner import plan_chain


@pytest.mark.parametrize("seed", range(12))
def test_a_dozen_of_random_chains(seed: int) -> None:
    """All sixty: `pytest -m sweep tests/sweeps/test_npu_chains.py`."""
    case = random_case(seed)
    check(case, fitting_tiles(chain_of(case), seed) if seed % 2 else None, seed)


def test_a_load_that_is_counted_once_too_often_is_found() -> None:
    """The left operand is kept, and the walk loads it for every block of columns."""
    case = Case(0, 100, 40, 90, 48)
    chain = chain_of(case)
    kept = replace(tiles_of(plan_chain(chain, npu())), columns=32, second_depth=16, keeps_left=1)
    moved = {(tensor, way): size for tensor, way, size in counted(planned(chain, kept)).moved}
    assert in_names_of_the_walk(chain, moved) == walk_of(case, chain, kept).moved
    loaded = walk_of(case, chain, replace(kept, keeps_left=0)).moved["A", "memory>L1"]
    assert loaded == 3 * moved["A", "memory>L1"]
