"""Tuning of chains that read weights, and of the chains of models; what cannot be tuned is told with its reason."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw
import tilewright.onnx as ort
from tests.support.tuning import tune
from tests.support.verdicts import judged
from tilewright.cli.tune import tune as command
from tilewright.plan.tuned import choice_of, problem_key
from tilewright.plan.types import Tuned
from tilewright.runtime.tuning import database as tuning_database
from tilewright.runtime.tuning.database import TuningDatabase, machine_key
from tilewright.tune.pipeline import tuning, work
from tilewright.tune.pipeline.executors import HERE
from tilewright.tune.pipeline.tuning import Judgement, Request
from tilewright.tune.schedules.cases import Case, choice, kernels_for
from tilewright.tune.schedules.chain_case import NotTunable, chain_case
from tilewright.tune.schedules.sampling import Sampler
from tilewright.tune.schedules.timing import compiled_models, wrong

SOURCE = np.random.default_rng(7)
FIRST, SECOND = (SOURCE.standard_normal(shape).astype(np.float32) / 8 for shape in ((72, 300), (300, 200)))
BIAS = SOURCE.standard_normal(300).astype(np.float32)
FILTERS = SOURCE.standard_normal((16, 8, 3, 3)).astype(np.float32) / 8


def layers(x):
    return tw.maximum(x @ FIRST + BIAS, 0.0) @ SECOND


def image(x):
    return tw.relu(tw.conv2d(x, FILTERS, padding=1))


LAYERS, IMAGE = Case("layers", layers, ((50, 72),)), Case("image", image, ((1, 8, 12, 12),))


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TuningDatabase:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(cache))
    return tuning_database.default()


@pytest.mark.parametrize("case", [LAYERS, IMAGE], ids=lambda case: case.name)
def test_variants_of_chains_with_weights_compute_what_the_chain_means(case, tmp_path):
    model = case.model_plan(fuse=None)
    for at, plan in enumerate(model.plans):
        alone = chain_case(model, at)
        sampler = Sampler(choice(plan), kernels_for(plan.machine), 0)
        found = [sampler.choice, *(one for _, one in sampler.neighbours()), *(one for _, one in sampler.drawn(4))]
        directory = tmp_path / str(at)
        directory.mkdir()
        assert wrong(alone, compiled_models(alone, [alone.model.with_plan(0, one.plan) for one in found], directory)) == {}


def test_weights_are_packed_ahead_in_trials_as_in_calls():
    model = LAYERS.model_plan(fuse=None)
    ahead = [len(choice(plan).plan.schedule.ahead) for plan in model.plans]
    assert ahead == [len(plan.schedule.ahead) for plan in model.plans]
    assert sum(ahead) == 2


def test_a_case_that_is_sent_has_no_large_weights_and_the_same_chain():
    model = LAYERS.model_plan(fuse=None)
    alone = chain_case(model, 0)
    content = pickle.dumps(alone)
    assert len(content) < FIRST.nbytes
    there = pickle.loads(content)
    assert there.model.plans == alone.model.plans
    assert [constant.array.shape for _, constant in there.graph.constants] == [c.array.shape for _, c in alone.graph.constants]


def test_a_function_with_weights_is_tuned_and_undone(database, monkeypatch):
    before = tw.jit(layers)(*LAYERS.inputs)
    judged(monkeypatch, 0.5)
    results = tune(LAYERS, database, Request(trials=3))
    assert results[-1].judgement is Judgement.KEPT
    assert "tuned: measured" in tw.jit(layers).lower(tw.spec((50, 72))).explain()
    after = tw.jit(layers)(*LAYERS.inputs)
    assert np.abs(after - before).max() < 1e-4 * np.abs(before).max()
    database.path.unlink()
    assert np.array_equal(tw.jit(layers)(*LAYERS.inputs), before)


def judged_as_a_whole(monkeypatch, ratio):
    monkeypatch.setattr(tuning, "worst_ratio", lambda case, plans, threads: ratio)


def test_plans_that_make_whole_calls_slower_are_not_kept(database, monkeypatch):
    judged(monkeypatch, 0.5)
    judged_as_a_whole(monkeypatch, 1.1)
    *chains, whole = tune(LAYERS, database, Request(trials=3))
    assert {result.judgement for result in chains} == {Judgement.WINS}
    assert (whole.is_whole, whole.judgement, whole.ratio) == (True, Judgement.STAYS, 1.1)
    (machine,) = {result.machine for result in chains}
    assert database.winners(machine) == {}
    judged_as_a_whole(monkeypatch, 0.9)
    assert tune(LAYERS, database, Request(trials=3))[-1].judgement is Judgement.KEPT
    kept = database.winners(machine)
    assert len(kept) == len(chains) == 2
    judged_as_a_whole(monkeypatch, 1.1)
    tune(LAYERS, database, Request(trials=3, seed=1))
    assert database.winners(machine) == kept, "those of an earlier run stay"


def test_a_run_that_is_interrupted_before_whole_calls_are_compared_keeps_nothing(database, monkeypatch):
    judged(monkeypatch, 0.5)

    def interrupted(case, plans, threads):
        raise KeyboardInterrupt

    monkeypatch.setattr(tuning, "worst_ratio", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tune(LAYERS, database, Request(trials=3))
    rows = database.measurements()
    assert database.winners(rows[0].machine) == {}
    judged_as_a_whole(monkeypatch, 0.9)
    *chains, whole = tune(LAYERS, database, Request(trials=3))
    assert database.measurements() == rows, "nothing is measured again"
    assert whole.judgement is Judgement.KEPT
    assert len(database.winners(whole.machine)) == len(chains)


def test_models_are_compared_again_without_what_another_lost(database, monkeypatch):
    first = LAYERS.model_plan(fuse=None)
    *_, alone = IMAGE.model_plan(fuse=None).plans
    second = replace(first, plans=(first.plans[1], alone))
    verdicts = iter([0.9, 1.1, 0.95])
    monkeypatch.setattr(tuning, "worst_ratio", lambda case, plans, threads: next(verdicts))
    won = tuning.Winners(first.machine, [first, second], database, HERE, None)
    judgements = [won.add(plan, choice_of(plan, Tuned(1.0, 2.0, 3))) for plan in (*first.plans, alone)]
    assert judgements == [Judgement.WINS] * 3
    assert [(one.judgement, one.ratio) for one in won.kept()] == [
        (Judgement.KEPT, 0.9),
        (Judgement.STAYS, 1.1),
        (Judgement.KEPT, 0.95),
    ]
    assert set(database.winners(machine_key(first.machine))) == {problem_key(first.plans[0].chain)}


@pytest.mark.parametrize("is_sent", [False, True])
def test_whole_calls_are_compared_with_drawn_inputs(monkeypatch, is_sent, tmp_path):
    calls = []

    def paired(first, others, budget_s):
        calls.extend([first(), *(other() for other in others)])
        return [[1.0 + len(calls) / 100]]

    monkeypatch.setattr(work, "paired_ratios", paired)
    for model in (LAYERS.model_plan(fuse=None), *ort.InferenceSession(folded_model(tmp_path), prepare=False).model_plans()):
        calls.clear()
        case = work.WholeCase(model)
        content = pickle.dumps(case)
        assert len(content) < FIRST.nbytes
        case = pickle.loads(content) if is_sent else case
        assert work.worst_ratio(case, model.plans, 1) == 1.06
        assert all(seconds > 0 for seconds in calls)


def folded_model(directory: Path) -> str:
    """A model with weights that are computed from others when it is loaded."""
    nodes = [
        helper.make_node("Transpose", ["weights"], ["turned"]),
        helper.make_node("MatMul", ["x", "turned"], ["h"]),
        helper.make_node("Softmax", ["h"], ["s"]),
        helper.make_node("MatMul", ["s", "second"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (50, 72))]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, (50, 200))]
    weights = [numpy_helper.from_array(np.ascontiguousarray(FIRST.T), "weights"), numpy_helper.from_array(SECOND, "second")]
    path = directory / "folded.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "folded", inputs, outputs, weights)), path)
    return str(path)


def small_model(directory: Path) -> str:
    """Two layers as a model of ONNX."""
    nodes = [
        helper.make_node("MatMul", ["x", "first"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "second"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (50, 72))]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, (50, 200))]
    weights = [numpy_helper.from_array(FIRST, "first"), numpy_helper.from_array(SECOND, "second")]
    path = directory / "layers.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "layers", inputs, outputs, weights)), path)
    return str(path)


def test_a_model_is_tuned_used_by_sessions_and_undone(database, monkeypatch, tmp_path):
    path = small_model(tmp_path)
    before = ort.InferenceSession(path).run(None, {"x": LAYERS.inputs[0]})[0]
    judged(monkeypatch, 0.5)
    told = CliRunner().invoke(command, [path, "--trials", "12"])
    assert told.exit_code == 0, told.output
    assert "used from now on" in told.output
    session = ort.InferenceSession(path)
    assert "tuned: measured" in session.explain()
    after = session.run(None, {"x": LAYERS.inputs[0]})[0]
    assert np.abs(after - before).max() < 1e-4 * np.abs(before).max()
    database.path.unlink()
    assert np.array_equal(ort.InferenceSession(path).run(None, {"x": LAYERS.inputs[0]})[0], before)


def test_the_most_expensive_chains_of_a_model_are_tuned_first_while_trials_last(database, monkeypatch, tmp_path):
    judged(monkeypatch, 0.5)
    told = CliRunner().invoke(command, [small_model(tmp_path), "--trials", "1"])
    assert told.exit_code == 0, told.output
    assert sum("plans measured" in line for line in told.output.splitlines()) == 1
    assert {row.source for row in database.measurements()} > {"choice"}


def test_what_cannot_be_tuned_is_told_with_its_reason(database):
    case = Case("case", lambda x: tw.log(x - 1e9), ((8, 9),))
    (result,) = tune(case, database, Request(trials=2))
    assert "not finite" in result.why
    assert not database.path.exists()


def test_operands_of_other_types_are_not_drawn():
    lowered = tw.jit(lambda x, y: x + y.astype(np.float32)).lower(tw.spec((8, 16)), tw.spec((8, 16), "int32"))
    with pytest.raises(NotTunable, match="int32"):
        chain_case(lowered.model_plan, 0)
