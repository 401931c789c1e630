"""The compiled core beside the Python formulas: equal to the last bit, and without a compiler the same plans."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.searches import by_arrays, compared
from tests.plan.cases import batch_chain, gemm_chain
from tests.replay.planning import graphs_of
from tests.support.halo_chains import convolution_chain
from tests.support.random.chains import random_graph
from tilewright import compiler
from tilewright.coefficients import coefficients_for
from tilewright.graph.types import Chain
from tilewright.kernels import registry
from tilewright.machine import Machine
from tilewright.plan.planner import forget_plans, plan_chain
from tilewright.plan.search.core import library
from tilewright.plan.search.exact_search import least_times_above, planning_problem, search_problem
from tilewright.runtime import search_core

MACHINES = ("cascadelake-6240", "power10", "x86-64-v3")
EXTENTS = st.sampled_from((1, 2, 3, 7, 16, 31, 64, 129, 1024, 1 << 16, 1 << 31))
SIDES = st.sampled_from((5, 7, 8, 14, 28, 55, 224))


def check_equal(chain: Chain, machine: Machine) -> None:
    """The core finds what the arrays find."""
    kernels = registry.for_machine(machine, element_types=None)
    library.core(builds=True)
    problem = planning_problem(chain, machine, kernels, coefficients_for(machine))
    assert problem.in_core is not None
    assert search_problem(problem) == by_arrays(problem)


@settings(max_examples=12)
@given(st.sampled_from(MACHINES), EXTENTS, EXTENTS, EXTENTS, st.sampled_from((1, 2, 16, 64, 300)))
def test_products_of_any_extents(machine: str, m: int, n: int, k: int, length: int) -> None:
    check_equal(gemm_chain(m, n, k, length), Machine.named(machine))


@settings(max_examples=6)
@given(st.sampled_from(MACHINES), st.sampled_from((1, 3, 12)), st.sampled_from((1, 17, 512)), st.sampled_from((1, 64, 200)))
def test_softmax_between_products(machine: str, batch: int, rows: int, length: int) -> None:
    check_equal(batch_chain(batch, rows, 64, 64, length, with_softmax=True), Machine.named(machine))


@settings(max_examples=8)
@given(st.sampled_from(MACHINES), SIDES, SIDES, st.sampled_from(((1, 3), (3, 3), (3, 1), (5, 3))))
def test_required_regions(machine: str, height: int, width: int, kernels: tuple[int, int]) -> None:
    check_equal(convolution_chain(height=height, width=width, channels=(8, 16, 8), kernels=kernels), Machine.named(machine))


def test_problems_are_asked_in_turns() -> None:
    """The core keeps the last problem of a thread for its next call."""
    machine = Machine.named("zen5")
    kernels, coefficients = registry.for_machine(machine, element_types=None), coefficients_for(machine)
    library.core(builds=True)
    chains = gemm_chain(64, 48, 80, 32), convolution_chain(height=14, width=28, channels=(8, 16, 8), kernels=(3, 3))
    problems = [planning_problem(chain, machine, kernels, coefficients) for chain in chains]
    first = [(least_times_above(problem, 0.0), search_problem(problem)) for problem in problems]
    asked = [least_times_above(problem, 0.0) for problem in problems], [search_problem(problem) for problem in problems]
    assert list(zip(*asked, strict=True)) == first
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(search_problem, problems * 3)) == [found for _, found in first] * 3


@pytest.mark.parametrize("subject", ["attention", "gathers", "scalar_loops", "rows"])
def test_searches_of_graphs_of_the_replay(subject: str) -> None:
    with compared() as counts:
        for planned in graphs_of(subject).values():
            planned("cascadelake-6240")
    assert set(counts) == {"equal"}


def test_random_graphs() -> None:
    with compared() as counts:
        for seed in range(8):
            forget_plans()
            compiler.plan(random_graph(seed), Machine.named("zen5"))
    assert set(counts) == {"equal"}


COMPILERS = {"fails": "#!/bin/sh\nexit 1\n", "is killed": "#!/bin/sh\nkill -9 $$\n"}


@pytest.mark.parametrize("what", COMPILERS)
def test_plans_are_the_same_without_the_core(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    chain, machine = gemm_chain(64, 48, 80, 32), Machine.named("zen4")
    library.core(builds=True)
    by_core = plan_chain(chain, machine)
    broken = tmp_path / "cc"
    broken.write_text(COMPILERS[what])
    broken.chmod(0o755)
    monkeypatch.setenv("TILEWRIGHT_CC", str(broken))
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    try:
        library.use(search_core.opened)
        forget_plans()
        planning_problem.cache_clear()
        assert library.core(builds=True) is None
        assert plan_chain(chain, machine) == by_core
        assert "planning goes on without its compiled core" in caplog.text
    finally:
        monkeypatch.undo()
        library.use(search_core.opened)
        forget_plans()
        planning_problem.cache_clear()
    assert library.core(builds=True) is not None


def test_planning_goes_on_while_another_thread_compiles_the_core() -> None:
    loaded, is_compiled = library.core(builds=True), threading.Event()

    def opener(*, builds: bool) -> library.Core | None:
        return loaded if builds and is_compiled.wait(60) else None

    try:
        library.use(opener)
        with ThreadPoolExecutor(1) as pool:
            library.begin(pool.submit)
            library.searched_by_arrays(2 * library.WORTH_S)
            assert library.core() is None
            is_compiled.set()
            library.finish()
            assert library.core() is loaded
    finally:
        library.use(search_core.opened)
