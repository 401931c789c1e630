"""Schedules drawn beside a plan: executable, of its space, the same for a seed; neighbours differ in one step; all compute."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.studies.schedules import regret
from benchmarks.studies.schedules import results as schedule_results
from benchmarks.studies.schedules.results import case_named
from tests.support.chains import gemm_chain as chain_of
from tilewright.kernels.registry import for_machine
from tilewright.machine import Machine
from tilewright.plan.planner import plan_chain
from tilewright.plan.repriced import context_for
from tilewright.plan.space.executability import why_not_executable
from tilewright.plan.space.schedule_space import space_of
from tilewright.tune.chain_functions import attention, gemm_chain
from tilewright.tune.schedules.cases import CASES, Case, choice
from tilewright.tune.schedules.sampling import Sampler, population
from tilewright.tune.schedules.space import Point, Sampled
from tilewright.tune.schedules.timing import compiled, timed, wrong
from tilewright.tune.timing import ratios

MACHINE = Machine.named("x86-64-v4")
SIZES = [
    {"b": 4, "m": 83, "n": 97, "k": 61, "l": 131},
    {"b": 1, "m": 211, "n": 33, "k": 131, "l": 67},
    {"b": 12, "m": 16, "n": 64, "k": 1, "l": 65},
]
SMALL = (
    Case("small", gemm_chain, ((2, 37, 19), (2, 19, 45), (2, 45, 21))),
    Case("softmax", attention, ((2, 23, 17), (2, 17, 41), (2, 41, 13))),
)


def sampler(sizes: dict[str, int], middle: str = "", seed: int = 0) -> Sampler:
    """Around the plan of a chain for a machine with five kernels of its widest vectors."""
    plan = plan_chain(chain_of(sizes, batch=True, middle=middle), MACHINE)
    return Sampler(choice(plan), for_machine(MACHINE), seed)


def cuts(point: Point) -> Counter[tuple[str, str, int]]:
    """(operator, axis, tile) of every loop of a point."""
    outer = [(op, loop.axis, loop.tile) for op, _ in point.kernels for loop in point.outer.path(op)]
    return Counter([*outer, *((op, axis, tile) for op, loops in point.inner for axis, tile in loops)])


@pytest.mark.parametrize("middle", ["", "relu", "softmax"])
@pytest.mark.parametrize("sizes", SIZES)
def test_drawn_schedules_are_executable_and_of_the_space(sizes: dict[str, int], middle: str) -> None:
    own = sampler(sizes, middle)
    space, context = own.space, own.choice.context
    points = [one.point for one in own.uniform(20)]
    assert len(set(points)) == len(points) == 20
    for point in points:
        assert not why_not_executable(context.chain, point.outer)
        shared = [loop.axis for loop in point.outer.path(context.chain.operators[0].name)]
        assert all(loop.tile in (*space.tiles[loop.axis], 1) for op, _ in point.kernels for loop in point.outer.path(op))
        assert not space.batch or shared[0] in space.batch


def test_a_seed_gives_the_same_schedules_and_another_one_others() -> None:
    first, again, other = (sampler(SIZES[0], seed=seed) for seed in (7, 7, 8))
    points = [[one.point for one in own.uniform(10)] for own in (first, again, other)]
    assert points[0] == points[1] != points[2]
    assert [what for what, _ in first.neighbours()] == [what for what, _ in again.neighbours()]


def test_the_best_decile_is_cheaper_than_what_it_is_drawn_from() -> None:
    drawn, best = sampler(SIZES[0]).uniform(50), sampler(SIZES[0]).best_decile(5)
    assert [one.point for one in best] == [one.point for one in sorted(drawn, key=lambda one: one.predicted_s)[:5]]


@pytest.mark.parametrize("middle", ["", "softmax"])
@pytest.mark.parametrize("sizes", SIZES)
def test_neighbours_are_one_step_away(sizes: dict[str, int], middle: str) -> None:
    own = sampler(sizes, middle)
    found = own.neighbours()
    assert len({one.point for _, one in found}) == len(found) > 0
    assert any(" on matmul_" in what for what, _ in found)
    for what, one in found:
        assert not why_not_executable(one.context.chain, one.point.outer), what
        assert steps_between(own.choice, one) == 1, what


def steps_between(one: Sampled, other: Sampled) -> int:
    """Kernels, packings, and loops that differ; tiles that follow a kernel do not count, nor do tiles against other orders."""
    kernels = len(set(one.point.kernels) ^ set(other.point.kernels)) // 2
    packings = len(one.point.in_place ^ other.point.in_place)
    if kernels:
        return kernels + packings
    own, new = cuts(one.point), cuts(other.point)
    loops = [{key[1:] for key in own - new}, {key[1:] for key in new - own}]
    changed = max(len(loops[0]), len(loops[1]))
    is_reordered = changed == 0 and (one.point.outer, one.point.inner) != (other.point.outer, other.point.inner)
    return packings + changed + is_reordered


def test_the_choice_keeps_its_schedule_and_its_price() -> None:
    for sizes in SIZES:
        plan = plan_chain(chain_of(sizes, batch=True), MACHINE)
        own = choice(plan)
        assert own.plan.schedule == plan.schedule
        assert own.predicted_s == plan.predicted_seconds


def test_sampled_schedules_share_libraries_and_compute_the_chain(tmp_path: Path) -> None:
    case = SMALL[1]
    named = population(case, uniform=3, best=1, neighbours=3)
    assert named[0][0] == "choice"
    runnables = compiled(case, [one.plan for _, _, one in named], tmp_path)
    assert len(runnables) == len(named)
    assert len(list(tmp_path.iterdir())) == -(-len(named) // 12)
    assert not wrong(case, runnables)


def test_wrong_results_are_found(tmp_path: Path) -> None:
    (_, _, one), *_ = population(SMALL[0], uniform=0, best=0, neighbours=0)
    broken = Case("broken", gemm_chain, SMALL[0].shapes)
    broken.__dict__["reference"] = SMALL[0].reference + 1.0
    assert list(wrong(broken, compiled(broken, [one.plan], tmp_path))) == [0]


def test_timing_gives_every_plan_a_figure_per_round(tmp_path: Path) -> None:
    named = population(SMALL[0], uniform=2, best=0, neighbours=0)
    runnables = compiled(SMALL[0], [one.plan for _, _, one in named], tmp_path)
    times = timed(runnables, 2, 0.0)
    assert [len(one) for one in times.rounds] == [3, 3]
    assert times.least_s(1) <= times.median_s(1)
    assert len(ratios(runnables[0].seconds, [one.seconds for one in runnables[1:]], budget_s=0.0)) == 2


def test_all_cases_are_planned_and_repeat_their_plan() -> None:
    assert len(CASES) == 29
    for name in ("R2", "R4", "R9", "R10"):
        (plan,) = case_named(name).model_plan().plans
        assert space_of(context_for(plan, plan.chain)).outer_orders()
        assert choice(plan).predicted_s == plan.predicted_seconds


def test_the_table_names_what_is_lost_and_which_terms_differ() -> None:
    named = population(SMALL[0], uniform=1, best=0, neighbours=1)
    plans = [{"measured_s": 1e-3, "ratio": None, **regret.document(*entry)} for entry in named]
    plans[1]["ratio"], plans[2]["ratio"] = 1.25, 0.9
    case = {"case": "small", "wall_s": 1.0, "peak_flops_per_s": 1e11, "fused_by_price": True, "wrong": [], "plans": plans}
    text = "\n".join(regret.table({"machine": {"peak_flops_per_s": 1e11}, "cases": [case]}))
    assert regret.regret(case) == 1.25
    assert "choice/best: geometric mean 1.250, worst 1.250, 1 cases" in text
    assert "small: 200 us of 1000 are lost to uniform" in text
    assert "the price expects" in text
    plans[1]["ratio"] = 0.99
    assert regret.regret(case) == 1.0


def test_a_file_grows_case_by_case(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    for name, figure in (("G1", 1.0), ("G2", 2.0), ("G1", 3.0)):
        schedule_results.save(path, {"case": name, "wall_s": figure, "plans": []})
    content = schedule_results.load(path)
    assert [(case["case"], case["wall_s"]) for case in content["cases"]] == [("G2", 2.0), ("G1", 3.0)]
    assert schedule_results.has(path, "G2")
    assert not schedule_results.has(path, "G3")
    assert not schedule_results.has(tmp_path / "none.json", "G1")


def test_errors_are_those_of_timed_plans_that_the_model_accepts() -> None:
    plans = [
        {"source": "choice", "measured_s": 2.0, "predicted_s": 1.0},
        {"source": "uniform", "measured_s": None, "predicted_s": 1.0},
        {"source": "uniform", "measured_s": 1.0, "predicted_s": None},
    ]
    content = {"machine": {"peak_flops_per_s": 2e11}, "cases": [{"peak_flops_per_s": 1e11, "plans": plans}]}
    assert schedule_results.errors(content) == [0.5]
    assert schedule_results.errors(content, "uniform") == []
    assert schedule_results.errors(content, beside=True) == [0.0]
