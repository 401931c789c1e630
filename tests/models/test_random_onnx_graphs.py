"""Random ONNX graphs agree with onnxruntime, and the generator is what it says: valid, repeatable, and able to find faults."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from tests.support.random.onnx.growing import Growing, Unfit, plain_options  # noqa: E402
from tests.support.random.onnx.judging import difference, outcome  # noqa: E402
from tests.support.random.onnx.program import Program  # noqa: E402
from tests.support.random.onnx.shrinking import shrunk  # noqa: E402
from tests.support.random.onnx.styles import ENDS, program  # noqa: E402
from tests.support.sweeps import EQUAL, WRONG, Outcome  # noqa: E402

MOST_NODES = 10
"""Of the graphs that are compiled here."""
MASKED, SUPPRESSED = 16, 24
"""Seeds of ends with logits of -inf, and with a NonMaxSuppression."""


@pytest.mark.needs("ssse3", "sse4_1")
@pytest.mark.parametrize("seed", range(30))
def test_results_are_those_of_onnxruntime(seed):
    one = program(seed, MOST_NODES)
    found = outcome(one)
    assert found.kind == EQUAL, f"{found}\n{one.text()}"


@pytest.mark.needs("ssse3", "sse4_1")
@pytest.mark.parametrize("seed", [0, 1, 2, MASKED, 20, SUPPRESSED, 28, 59])
def test_what_follows_detectors_and_language_models_is_that_of_onnxruntime(seed):
    one = program(seed, MOST_NODES, ENDS)
    found = outcome(one)
    assert found.kind == EQUAL, f"{found}\n{one.text()}"


def test_masked_logits_and_suppressed_boxes_are_among_the_programs():
    arrays = [array for value in program(MASKED, MOST_NODES, ENDS).values.values() for array in value.arrays]
    assert any((array == -np.inf).any() for array in arrays)
    assert any(node.op_type == "NonMaxSuppression" for node in program(SUPPRESSED, MOST_NODES, ENDS).nodes)


@pytest.mark.parametrize("seed", range(200, 220))
def test_graphs_are_valid_and_what_single_nodes_compute(seed):
    one = program(seed)
    model = one.model()
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), plain_options())
    for batch in one.batches:
        results = session.run(list(one.outputs), one.feeds(batch))
        assert not any(difference(found, one.values[name], batch) for name, found in zip(one.outputs, results, strict=True))


def test_a_seed_has_one_graph():
    first, second = program(7), program(7)
    assert first.model().SerializeToString() == second.model().SerializeToString()
    assert all(np.array_equal(a, second.feeds(0)[name]) for name, a in first.feeds(0).items())


def test_values_have_several_readers_and_several_are_wanted():
    many = [program(seed) for seed in range(300, 340)]
    shared = [name for one in many for name in one.values if sum(name in node.input for node in one.nodes) > 1]
    assert len(shared) > len(many)
    assert sum(len(one.outputs) > 1 for one in many) > len(many) // 2
    assert any(len(one.batches) > 1 for one in many)


def test_choices_without_a_margin_are_no_part_of_graphs():
    g = Growing(0, (1,))
    x = g.input(lambda batch: np.linspace(-1, 1, 9, dtype=np.float32))
    with pytest.raises(Unfit):
        g.add("Greater", g.add("Sin", x, terms=1), g.constant(np.float32(0)))
    assert g.add("Greater", x, g.constant(np.float32(0.1)))


def test_failing_programs_are_shrunk_to_what_fails():
    """A compiler that cannot transpose two dimensions and then reshape them: two nodes are left, with one input."""

    def judge(one: Program) -> Outcome:
        for node in one.nodes:
            before = next((n for n in one.nodes if node.op_type == "Reshape" and n.output[0] == node.input[0]), None)
            if before is not None and before.op_type == "Transpose":
                return Outcome(WRONG, "planted")
        return Outcome(EQUAL)

    found = [one for one in (program(seed) for seed in range(400, 430)) if judge(one).kind == WRONG]
    assert found
    for one in found:
        smallest = shrunk(one, WRONG, judge)
        assert [node.op_type for node in smallest.nodes] == ["Transpose", "Reshape"]
        onnx.checker.check_model(smallest.model(), full_check=True)


def test_wrong_elements_are_seen():
    one = program(12, MOST_NODES)
    value = next(one.values[name] for name in one.outputs if one.values[name].dtype.kind == "f")
    result = value.arrays[0].copy()
    assert not difference(result, value, 0)
    result.flat[0] += 1e-3 * value.largest
    assert "1 of" in difference(result, value, 0)
    result.flat[0] = np.nan
    assert "1 of" in difference(result, value, 0)
