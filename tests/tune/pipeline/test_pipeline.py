"""Tuning a function: what is measured, what is kept, what calls use then, and that all of it can be undone."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import tilewright as tw
from tests.support.tuning import tune
from tests.support.verdicts import judged
from tilewright.cli.explain import explain
from tilewright.cli.tune import tune as command
from tilewright.cli.tuning import _line_of
from tilewright.errors import TilewrightError
from tilewright.machine import Machine
from tilewright.plan.tuned import choice_of, decoded, encoded, problem_key, with_choice
from tilewright.plan.types import Tuned
from tilewright.runtime import artifacts, calibration
from tilewright.runtime.tuning import database as tuning_database
from tilewright.runtime.tuning import plans as tuned_plans
from tilewright.runtime.tuning.database import TuningDatabase, Winner
from tilewright.tune.chain_functions import attention, gemm_chain
from tilewright.tune.pipeline import names, ranking, trials, work
from tilewright.tune.pipeline.executors import Here
from tilewright.tune.pipeline.trials import variants
from tilewright.tune.pipeline.tuning import Judgement, Request, Result, plans_of, tune_chains, untuned
from tilewright.tune.rankers import tournament
from tilewright.tune.rankers.ranker import ByPrice
from tilewright.tune.schedules.cases import Case
from tilewright.tune.timing import Verdict

CASE = Case("small chain", gemm_chain, ((2, 96, 64), (2, 64, 80), (2, 80, 48)))
SHAPES = tuple(map(tw.spec, CASE.shapes))


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TuningDatabase:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(cache))
    return tuning_database.default()


def plan_of_case():
    (plan,) = tw.jit(CASE.function).lower(*SHAPES).model_plan.plans
    return plan


def test_variants_begin_with_the_choice_and_are_distinct():
    plan = plan_of_case()
    found = variants(plan, 20, 0, ByPrice())
    assert found[0].source == "choice"
    assert found[0].plan.schedule == plan.schedule
    assert len(found) == len({variant.digest for variant in found}) == 21
    assert [one.digest for one in variants(plan, 20, 0, ByPrice())] == [one.digest for one in found]


def test_a_split_sum_has_undivided_variants_that_may_win(database, monkeypatch):
    case = Case("long sums", lambda a, b: a @ b, ((24, 60000), (60000, 16)))
    (plan,) = tw.jit(case.function).lower(*map(tw.spec, case.shapes)).model_plan.plans
    assert plan.schedule.split
    found = variants(plan, 6, 0, ByPrice())
    assert found[0].plan.schedule.split
    assert not any(one.plan.schedule.split for one in found[1:])
    judged(monkeypatch, 0.5)
    (result,) = tune(case, database, Request(trials=4))
    assert result.judgement is Judgement.KEPT
    tuned = tw.jit(case.function)
    assert not tuned.lower(*map(tw.spec, case.shapes)).model_plan.plans[0].schedule.split
    assert case.error(tuned(*case.inputs)) < 1e-4


def test_a_winner_is_used_and_explained_and_forgotten(database, monkeypatch):
    before = tw.jit(CASE.function)(*CASE.inputs)
    judged(monkeypatch, 0.5)
    (result,) = tune(CASE, database, Request(trials=6))
    assert result.judgement is Judgement.KEPT
    assert result.measured == 7
    plan = plan_of_case()
    assert plan.tuned is not None
    assert plan.tuned.measured == 7
    assert "tuned: measured" in tw.jit(CASE.function).lower(*SHAPES).explain()
    after = tw.jit(CASE.function)(*CASE.inputs)
    assert CASE.error(after) < 1e-4
    assert untuned(plans_of(CASE), database, plan.machine) == 1
    assert plan_of_case().tuned is None
    assert np.array_equal(tw.jit(CASE.function)(*CASE.inputs), before)


def test_without_the_database_everything_is_as_before(database, monkeypatch):
    lowered = tw.jit(CASE.function).lower(*SHAPES)
    key = artifacts.request(lowered.graph, lowered.machine, None)
    before, plan = tw.jit(CASE.function)(*CASE.inputs), plan_of_case()
    judged(monkeypatch, 0.5)
    tune(CASE, database, Request(trials=4))
    assert artifacts.request(lowered.graph, lowered.machine, None) != key
    assert plan_of_case() != plan
    database.path.unlink()
    assert artifacts.request(lowered.graph, lowered.machine, None) == key
    assert plan_of_case() == plan
    assert np.array_equal(tw.jit(CASE.function)(*CASE.inputs), before)


@pytest.mark.parametrize("search", ["evolution", "boosting"])
def test_searches_that_learn_are_kept_if_they_win(database, monkeypatch, search):
    pytest.importorskip("sklearn")
    judged(monkeypatch, 0.5)
    (result,) = tune(CASE, database, Request(trials=6, search=search))
    assert result.judgement is Judgement.KEPT
    assert result.measured == len(database.measurements()) == 6
    assert CASE.error(tw.jit(CASE.function)(*CASE.inputs)) < 1e-4


def test_searches_that_learn_say_which_package_is_missing(database, monkeypatch):
    for module in ("tilewright.tune.pipeline.guided", "tilewright.tune.rankers.boosting"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(TilewrightError, match="the search by evolution needs the package sklearn") as refused:
        tune(CASE, database, Request(trials=2, search="evolution"))
    assert refused.value.hint == "in a checkout of Tilewright: pip install -e '.[tune]'"


def test_nothing_is_kept_that_does_not_win_the_re_measurement(database, monkeypatch):
    judged(monkeypatch, 0.99)
    (result,) = tune(CASE, database, Request(trials=4))
    assert result.judgement is Judgement.STAYS
    assert len(database.measurements()) == 5
    assert plan_of_case().tuned is None


def test_an_interrupted_run_goes_on_where_it_was(database, monkeypatch):
    judged(monkeypatch, 1.0)
    monkeypatch.setattr(trials, "BATCH", 4)
    measured, batches = trials.measure, []

    def interrupted(case, plans, best_s):
        batches.append(len(plans))
        if len(batches) == 2:
            raise KeyboardInterrupt
        return measured(case, plans, best_s)

    monkeypatch.setattr(trials, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tune(CASE, database, Request(trials=5))
    assert len(database.measurements()) == 4
    tune(CASE, database, Request(trials=5))
    assert batches == [4, 2, 2]
    assert len(database.measurements()) == 6


def test_wrong_results_are_neither_timed_nor_kept(database, monkeypatch):
    judged(monkeypatch, 0.5)
    answers = iter([True])
    monkeypatch.setattr(work, "wrong", lambda case, runnables: {} if next(answers, False) else {0: 1.0})
    (result,) = tune(CASE, database, Request(trials=4))
    assert result.judgement is Judgement.STAYS
    assert [one.seconds is None for one in database.measurements()] == [False, True, True, True, True]


def test_a_later_run_replaces_a_tuned_plan_only_where_it_beats_that(database, monkeypatch):
    judged(monkeypatch, 0.5)
    tune(CASE, database, Request(trials=4))
    kept = plan_of_case().tuned
    references = []

    def slower(case, own, best, threads):
        references.append(own.schedule)
        return work.Paired(Verdict(0, 1.1, 0.0), 1e-3)

    monkeypatch.setattr(trials, "measure_pairs", slower)
    (result,) = tune(CASE, database, Request(trials=4, seed=1))
    assert (result.was_tuned, result.judgement) == (True, Judgement.STAYS)
    assert plan_of_case().tuned == kept
    assert references == [plan_of_case().schedule], "the plan in use is the reference"


def test_a_plan_that_wins_once_is_not_kept_unless_it_wins_loaded_anew(database, monkeypatch):
    verdicts = iter([Verdict(0, 0.5, 1.0), Verdict(0, 0.7, 0.9), Verdict(0, 1.1, 0.2)])
    monkeypatch.setattr(work, "fastest", lambda own, others, budget_s: next(verdicts))
    (result,) = tune(CASE, database, Request(trials=4))
    assert (result.judgement, result.ratio) == (Judgement.STAYS, 1.1)
    assert plan_of_case().tuned is None


def test_a_plan_that_stays_is_told_with_what_was_missing():
    result = Result("products", 101, 0.91, Judgement.STAYS, wins=0.6)
    planner = "the choice of the planner"
    said = "products: 101 plans measured; the best takes {} of the time of " + planner + "{}: " + planner + " stays"
    assert _line_of(result) == said.format("0.910", ", but wins 60% of the pairs, and 75% are asked for")
    assert _line_of(replace(result, ratio=0.99)) == said.format("0.990", ", and 0.98 is asked for")
    assert _line_of(replace(result, ratio=1.02)) == said.format("1.020", "")


def test_every_machine_has_all_trials(database):
    cascade_lake = Machine.named("cascadelake-4208")

    class Two(Here):
        def machines(self):
            return [calibration.ensure(), cascade_lake]

        def run(self, machine, function, tasks):
            return iter(())

    found = tune_chains(plans_of(CASE), database, Request(trials=4), silent, Two(), is_shared=True)
    names = [result.machine for result in found if not tuned_plans._ignored.get()]
    assert names == [tuning_database.machine_key(one) for one in Two().machines()]


def silent(chain):
    return lambda done, total: None


def test_the_choice_of_one_function_serves_another_of_the_same_structure(database, monkeypatch):
    judged(monkeypatch, 0.5)
    tune(CASE, database, Request(trials=4))

    def renamed(first, second, third):
        return tw.einsum("zab,zbc->zac", tw.einsum("zab,zbc->zac", first, second), third)

    (plan,) = tw.jit(renamed).lower(*SHAPES).model_plan.plans
    assert plan.tuned is not None
    assert CASE.error(tw.jit(renamed)(*CASE.inputs)) < 1e-4


def test_choices_are_bytes_and_back():
    plan = plan_of_case()
    choice = choice_of(plan, Tuned(1.0, 2.0, 3))
    again = decoded(encoded(choice))
    assert again == choice
    tuned = with_choice(plan, again)
    assert (tuned.schedule, tuned.operators, tuned.execution) == (plan.schedule, plan.operators, plan.execution)
    assert problem_key(tuned.chain) == problem_key(plan.chain)


def test_choices_that_cannot_be_read_or_need_unknown_kernels_are_left_aside(database):
    plan = plan_of_case()
    machine, problem = tuning_database.machine_key(plan.machine), problem_key(plan.chain)
    database.keep(machine, [Winner(problem, "chain", b"damaged")])
    assert plan_of_case() == plan
    content = encoded(choice_of(plan, Tuned(1.0, 2.0, 3)))
    kernel = next(one.micro_kernel for one in plan.operators if one.micro_kernel)
    database.keep(machine, [Winner(problem, "chain", content.replace(kernel.encode(), b"kernel_of_tomorrow"))])
    assert plan_of_case() == plan


def test_choices_that_are_of_another_chain_are_left_aside(database):
    plan = plan_of_case()
    machine, problem = tuning_database.machine_key(plan.machine), problem_key(plan.chain)
    (longer,) = tw.jit(attention).lower(*map(tw.spec, ((2, 96, 64), (2, 64, 80), (2, 80, 48)))).model_plan.plans
    (product,) = tw.jit(lambda a, b: a @ b).lower(*map(tw.spec, ((96, 64), (64, 80)))).model_plan.plans
    mine = choice_of(plan, Tuned(1.0, 2.0, 3))
    for choice in (
        *(choice_of(other, Tuned(1.0, 2.0, 3)) for other in (longer, product)),
        replace(mine, operators=mine.operators[:1]),
        replace(mine, parallel_axes=("x99",)),
        replace(mine, schedule=replace(mine.schedule, body=())),
    ):
        database.keep(machine, [Winner(problem, "chain", encoded(choice))])
        assert plan_of_case() == plan
        assert tuned_plans.choice_for(plan, database) is None


@pytest.mark.parametrize("name", names.LEARNING)
def test_rankers_that_learn_see_what_was_measured_of_other_chains(database, monkeypatch, name):
    judged(monkeypatch, 1.0)
    monkeypatch.setattr(ranking, "LEAST_MEASUREMENTS", 4)
    monkeypatch.setattr(tournament, "ALIKE", 0.0)
    tune(CASE, database, Request(trials=3))
    with pytest.raises(TilewrightError, match=f"the {name} ranker has too little to learn from") as refused:
        tune(CASE, database, Request(trials=3, ranker=name))
    assert "measured 0 plans of other chains" in refused.value.why
    cache = database.path.parent
    other = Case("product", lambda a, b: a @ b, ((96, 64), (64, 80)))
    (result,) = tune(other, database, Request(trials=3, ranker=name, ranker_file=cache / "ranker"))
    assert result.measured == 4
    rows = database.measurements()
    tune(other, database, Request(trials=3, ranker=name))
    assert database.measurements() == rows, "its own rows change no order"
    tune(CASE, database, Request(trials=2, ranker=name, ranker_file=cache / "ranker"))
    (cache / "ranker").write_text((cache / "ranker").read_text().replace(rows[0].machine, "another"))
    with pytest.raises(TilewrightError, match="the saved ranker has another machine"):
        tune(CASE, database, Request(trials=2, ranker=name, ranker_file=cache / "ranker"))


def test_a_database_that_cannot_be_used_warns_once_and_changes_nothing(database, caplog):
    plan = plan_of_case()
    database.path.write_bytes(b"no database" * 1000)
    tuned_plans._warned.clear()
    assert plan_of_case() == plan
    assert plan_of_case() == plan
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["plans are the planner's"]


def test_the_command_line(database, monkeypatch, tmp_path):
    judged(monkeypatch, 0.5)
    runner = CliRunner()
    source = tmp_path / "mine.py"
    source.write_text("def double(x, y):\n    return x @ y\n")
    given = [f"{source}:double", "--arg", "24x32", "--arg", "32x40"]
    tuned = runner.invoke(command, [*given, "--trials", "3"])
    assert tuned.exit_code == 0, tuned.output
    assert "4 plans measured; the best takes 0.500 of the time" in tuned.output
    assert "used from now on" in tuned.output
    assert "tuned: measured" in runner.invoke(explain, [*given]).output
    exported = tmp_path / "rows.jsonl"
    assert "4 measurements written" in runner.invoke(command, ["--export", str(exported)]).output
    assert "4 measurements read" in runner.invoke(command, ["--import", str(exported)]).output
    assert (
        "the choice of the planner is back: 1 of its chains had tuned plans"
        in runner.invoke(command, [*given, "--forget"]).output
    )
    assert "nothing was tuned for " in runner.invoke(command, [*given, "--forget"]).output
    assert "tuned" not in runner.invoke(explain, [*given]).output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say what to tune"),
        (["G1", "--trials", "0"], "is not in the range"),
        (["nothing"], "is neither MODEL.onnx"),
        (["G1", "--fit"], "WHAT and --fit are two commands"),
        (["--export", "a.jsonl", "--fit"], "--fit and --export are two commands"),
        (["G1", "--dry-run"], "--dry-run says something of --fit only"),
        (["--forget"], "--forget says something of WHAT only"),
        (["G1", "--shape", "x=1x2"], "--arg is of a function's"),
        (["G1", "--ranker", "random", "--search", "evolution"], "--ranker orders the plans of --search ranked"),
        (["G1", "--ranker-file", "a"], "--ranker-file is of rankers that learn"),
    ],
)
def test_wrong_usage_says_what(arguments, message):
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 2
    assert message in result.output
