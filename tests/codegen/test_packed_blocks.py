"""Packed panels below whose Pack loops cut the depth: laid out block by block, whatever the loops leave over."""

from __future__ import annotations

import numpy as np
import pytest

from tests.codegen.test_single_operators import KERNEL, MACHINE, artifact_of, run_all
from tests.support.chains import chain, hand_plan
from tests.support.expected import EPS
from tests.support.operators import contraction
from tilewright.errors import PlanningError
from tilewright.plan.layout import panels
from tilewright.plan.schedule import Compute, Loop, Node, Pack, Schedule
from tilewright.plan.types import Plan

EXTENTS = {"b": 2, "m": 13, "n": 2 * KERNEL.columns + 5, "k": 37}
LOOPS = [
    [("k", 8)],
    [("k", 16), ("k", 4)],
    [("k", 12), ("k", 5)],
    [("m", 5), ("k", 16), ("n", KERNEL.columns)],
    [("k", 64)],
    [("n", KERNEL.columns), ("m", 5), ("k", 9), ("k", 3)],
]
"""Loops below the Pack: rests, nested blocks, nested blocks with a rest (which keep whole panels), one trip."""


def plan_of(number: int, loops: list[tuple[str, int]], right: str) -> Plan:
    operator = contraction(f"f{number}", f"x{number}:bmk", f"y{number}:{right}", f"z{number}:bmn", EXTENTS)
    body: tuple[Node, ...] = (Compute(operator.name),)
    for letter, tile in reversed(loops):
        body = (Loop(letter, tile, body),)
    body = (Pack(operator.name, 1, panels(KERNEL.columns)), *body)
    outer = (Loop("b", 1, body),) if number % 2 else body
    return hand_plan(chain(f"chain_{number}", [operator]), Schedule(outer), MACHINE, KERNEL)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("right", ["kn", "bkn", "bnk"])
def test_blocks_of_depth_give_the_product(right: str) -> None:
    plans = [plan_of(number, loops, right) for number, loops in enumerate([*LOOPS, *reversed(LOOPS)])]
    inputs, outputs = run_all(plans)
    for number, got in enumerate(outputs):
        x, y = inputs[f"x{number}"].astype("f8"), inputs[f"y{number}"].astype("f8")
        bound = 150 * EPS * np.einsum(f"bmk,{right}->bmn", np.abs(x), np.abs(y))
        assert (np.abs(got - np.einsum(f"bmk,{right}->bmn", x, y)) <= bound).all(), plans[number].schedule


def test_a_loop_that_cuts_panels_is_refused() -> None:
    plan = plan_of(0, [("n", KERNEL.columns - 1)], "kn")
    with pytest.raises(PlanningError, match="a loop over n cuts the packed panels of f0") as problem:
        artifact_of([plan])
    assert f"multiple of {KERNEL.columns}" in problem.value.hint
