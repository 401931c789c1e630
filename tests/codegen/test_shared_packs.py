"""Operands above all parallel axes: packed once by all threads, where the work is large; the same bits as packed by each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.codegen.test_packed_ahead import RIGHTS, random_plan, run
from tests.support.chains import artifact_of, random_inputs
from tests.support.expected import EPS
from tilewright.plan.regions.loop_views import block_count, parallel_axes
from tilewright.plan.schedule import Loop, Schedule
from tilewright.plan.threads import LEAST_PARALLEL_S
from tilewright.plan.types import Plan, Price, PriceTerm, TermKind
from tilewright.runtime.executable import load

pytestmark = pytest.mark.needs("avx2", "fma")
PLANS = 12


def packed_by_each(plan: Plan) -> Plan:
    """The Pack that `random_plan` has ahead of all calls at the top of the schedule instead, and a parallel loop below it."""
    schedule = Schedule((*plan.schedule.ahead, Loop("m", 4, plan.schedule.body)))
    return replace(plan, schedule=schedule, parallel_axes=parallel_axes(plan.chain, schedule))


def packed_together(plan: Plan) -> Plan:
    """As if the work were worth a region of its own."""
    term = PriceTerm(TermKind.SPILLS, 2 * LEAST_PARALLEL_S)
    return replace(plan, price=Price((term,), block_count(plan.chain, plan.schedule)))


@pytest.mark.parametrize("right", RIGHTS)
def test_any_loops_give_the_product(right: str) -> None:
    random = np.random.default_rng(RIGHTS.index(right))
    plans = [packed_by_each(random_plan(random, number, right)) for number in range(PLANS)]
    inputs = {name: x for number, plan in enumerate(plans) for name, x in random_inputs(plan.chain, seed=number).items()}
    together = artifact_of([packed_together(plan) for plan in plans])
    assert together.source.count("/*\n * packs ") > PLANS // 3
    expected = run(load(artifact_of(plans), threads=1), inputs)
    for threads in (1, 2, 3):
        for number, (got, same) in enumerate(zip(run(load(together, threads=threads), inputs), expected, strict=True)):
            np.testing.assert_array_equal(got, same, err_msg=str(plans[number].schedule))
    for number, got in enumerate(expected):
        x, y = inputs[f"x{number}"].astype("f8"), inputs[f"y{number}"].astype("f8")
        bound = 150 * EPS * np.einsum(f"bmk,{right}->bmn", np.abs(x), np.abs(y))
        assert (np.abs(got - np.einsum(f"bmk,{right}->bmn", x, y)) <= bound).all(), plans[number].schedule


def test_short_work_opens_no_region_more() -> None:
    plan = packed_by_each(random_plan(np.random.default_rng(0), 0, "kn"))
    assert "_pack_f" not in artifact_of([plan]).source
