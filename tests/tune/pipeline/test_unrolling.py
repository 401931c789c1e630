"""Unroll factors of the best plans: legal ones, results of NumPy, kernels that plans name, and searches that keep to a budget."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tests.support.tuning import tune
from tests.support.verdicts import judged
from tilewright.errors import TilewrightError
from tilewright.kernels import registry
from tilewright.kernels.f32.unrolled import named, unrolled_kernel
from tilewright.runtime.tuning import database as tuning_database
from tilewright.runtime.tuning.database import TuningDatabase
from tilewright.tune.chain_functions import gemm_chain
from tilewright.tune.pipeline import names, unrolling, work
from tilewright.tune.pipeline.tuning import Judgement, Request
from tilewright.tune.pipeline.unrolling import Unrolling
from tilewright.tune.schedules.cases import Case, choice
from tilewright.tune.schedules.chain_case import chain_case
from tilewright.tune.schedules.timing import compiled_models, wrong
from tilewright.tune.unroll.searches import Factors

CASE = Case("small chain", gemm_chain, ((2, 96, 64), (2, 64, 80), (2, 80, 48)))


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TuningDatabase:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(cache))
    return tuning_database.default()


def test_names_say_all_of_a_kernel():
    for dialect in registry.dialects():
        kernel = unrolled_kernel(dialect, 3, 2, 5, ("right",))
        again = named(kernel.name, registry.dialects())
        assert again is not None
        assert (again.rows, again.columns, again.depth, again.prefetch) == (3, 2 * dialect.lanes, 5, ("right",))
        assert again.features == dialect.features


@pytest.mark.parametrize(
    "name",
    [
        "matmul_avx2_f32_6x16",  # registered, and no unrolled one
        "matmul_avx2_f32_9x16_unroll2",  # more sums than registers
        "matmul_avx2_f32_4x12_unroll2",  # no whole vectors
        "matmul_avx2_f32_4x16_unroll9",
        "matmul_avx2_f32_4x16_prefetch_middle_unroll2",
        "matmul_avx9_f32_4x16_unroll2",
        "nothing",
    ],
)
def test_no_kernel_has_such_a_name(name):
    assert named(name, registry.dialects()) is None


def test_kernels_of_names_are_not_offered_to_the_planner():
    before = registry.registered()
    assert registry.by_name()["matmul_portable_f32_3x8_unroll2"].rows == 3
    assert registry.registered() == before
    with pytest.raises(KeyError):
        registry.by_name()["matmul_portable_f32_30x8_unroll2"]


def test_plans_on_other_factors_compute_the_chain(tmp_path):
    model = CASE.model_plan(fuse=None)
    case, own = chain_case(model, 0), Unrolling(choice(model.plans[0]))
    every = list(own.registers.all_factors())
    found = [own.with_factors(factors) for factors in every[:: len(every) // 10]]
    plans = [one.plan for one in found if one is not None]
    assert len(plans) >= 8
    assert all(part.micro_kernel.rpartition("_")[2].startswith("unroll") for plan in plans for part in plan.operators)
    assert wrong(case, compiled_models(case, [case.model.with_plan(0, plan) for plan in plans], tmp_path)) == {}


def test_factors_of_the_choice_are_those_of_its_kernel():
    own = Unrolling(choice(CASE.model_plan(fuse=None).plans[0]))
    kernel = next(iter(own.kernels.values()))
    assert own.start == Factors(kernel.rows, kernel.columns, kernel.depth)
    assert own.registers.holds(own.start)


@pytest.mark.parametrize("agent", ["random", "hill"])
def test_an_unrolled_plan_that_wins_is_used_and_undone(database, monkeypatch, agent):
    before = tw.jit(CASE.function)(*CASE.inputs)
    judged(monkeypatch, 0.5)
    monkeypatch.setattr(work, "_timed", lambda runnable, best_s: 1.0 if is_unrolled(runnable) else 2.0)
    (result,) = tune(CASE, database, Request(trials=10, unroll=agent))
    rows = [row.source for row in database.measurements()]
    assert result.judgement is Judgement.KEPT
    assert result.measured == len(rows) == 11
    assert sum(source.startswith("unrolled") for source in rows) == 4
    (plan,) = tw.jit(CASE.function).lower(*map(tw.spec, CASE.shapes)).model_plan.plans
    assert plan.tuned is not None
    assert all("_unroll" in part.micro_kernel for part in plan.operators)
    assert CASE.error(tw.jit(CASE.function)(*CASE.inputs)) < 1e-4
    database.path.unlink()
    assert np.array_equal(tw.jit(CASE.function)(*CASE.inputs), before)


def is_unrolled(runnable: object) -> bool:
    return "_unroll" in runnable.executable.source  # type: ignore[attr-defined]


def test_a_search_that_is_interrupted_asks_for_nothing_twice(database, monkeypatch):
    judged(monkeypatch, 1.0)
    monkeypatch.setattr(work, "_timed", lambda runnable, best_s: 1.0)
    request = Request(trials=10, unroll="hill")
    tune(CASE, database, request)
    rows = database.measurements()
    monkeypatch.setattr(work, "compiled_models", lambda *_: pytest.fail("it was measured before"))
    tune(CASE, database, request)
    assert database.measurements() == rows


def test_the_agent_says_which_package_is_missing(monkeypatch):
    import sys

    monkeypatch.delitem(sys.modules, "tilewright.tune.unroll.agent", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(TilewrightError, match="the agent that unrolls needs the package torch"):
        unrolling.searcher("agent")


def test_default_begins_at_the_kernel_of_the_plan():
    from tilewright.tune.unroll import searches

    trace = searches.Trace(lambda factors: 1.0, 1, start=Factors(2, 8, 2))
    unrolling.searcher(names.DEFAULT_AGENT)(trace, unrolling.Registers(16, 8), 0)
    assert list(trace.found) == [Factors(2, 8, 2)]
