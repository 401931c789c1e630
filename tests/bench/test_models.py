"""`tilewright bench model`: the reference, the peers, and what was predicted."""

import json

import numpy as np
import pytest

from tests.support.onnx_models import info, model, node
from tilewright.cli.main import main
from tilewright_bench.benchmarks import MODELS
from tilewright_bench.cases.model import ModelCase, in_numpy, joined
from tilewright_bench.tables.predictions import Prediction, predicted, table

onnx = pytest.importorskip("onnx")
WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def path(tmp_path):
    """y = relu(x w) and z = x + x, of standard operators."""
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["p"]),
        onnx.helper.make_node("Relu", ["p"], ["y"]),
        onnx.helper.make_node("Add", ["x", "x"], ["z"]),
    ]
    made = model(nodes, [info("x", ["n", 3])], [info("y", ["n", 4]), info("z", ["n", 3])], {"w": WEIGHT})
    path = tmp_path / "layer.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def case(path):
    return ModelCase(path, (("n", (5,)),))


def test_the_reference_is_what_the_nodes_mean(path):
    tested = case(path)
    x = tested.feeds["x"]
    assert x.shape == (5, 3)
    y, z = tested.reference
    np.testing.assert_allclose(y, np.maximum(x.astype(np.float64) @ WEIGHT, 0), rtol=1e-5)
    np.testing.assert_allclose(z, 2 * x)


def test_every_output_has_an_error_of_its_own(path):
    tested = case(path)
    y, z = tested.reference
    assert tested.error(joined([y, z])) == 0
    wrong = z.copy()
    wrong[0, 0] += 0.5 * np.abs(z).max()
    assert tested.error(joined([y, wrong])) == pytest.approx(0.5)
    assert tested.error(joined([y])) == float("inf")
    assert tested.error(joined([y, np.full_like(z, np.nan)])) == float("inf")


def test_work_is_counted_as_the_plan_counts_it(path):
    tested = case(path)
    assert tested.flops >= 2 * 5 * 3 * 4
    assert tested.moved_bytes >= 4 * (5 * 3 + 3 * 4 + 5 * 4 + 5 * 3)


@pytest.mark.parametrize("peer", [MODELS.tilewright, *MODELS.peers.values()], ids=lambda peer: peer.name)
def test_the_peers_compute_what_the_nodes_mean(peer, path):
    if peer.missing():
        pytest.skip(f"{', '.join(peer.missing())} not installed")
    tested = case(path)
    (contender,) = peer.prepare(tested, 1)
    contender.call()
    assert tested.error(contender.result()) < 1e-5


def test_what_is_never_compiled_counts_as_numpy(tmp_path):
    file = tmp_path / "triple.onnx"
    file.write_bytes(model([node("Triple", ["x"], ["y"])], [info("x", [4])], [info("y", [4])]).SerializeToString())
    found = predicted(ModelCase(file))
    assert found.measured_s == found.numpy_s > 0
    assert found.predicted_s == found.floor_s == 0
    assert np.array_equal(in_numpy(file, {"x": np.ones(4, np.float32)})[0], np.full(4, 3))


def test_the_table_of_predictions():
    line = table([Prediction("bert", 99, 0.1, 0.09, 0.08, 0.0)])[-1].split()
    assert line == ["bert", "99", "100", "ms", "90.0", "ms", "0.90", "80.0", "ms", "80%", "0", "s"]


def test_the_command_prints_a_document_that_can_be_piped(path, monkeypatch, capsys):
    monkeypatch.setattr("tilewright_bench.command.restart_if_unfair", lambda threads: None)
    assert main(["bench", "model", str(path), "--shape", "n=5", "--peers", ",", "--repeats", "1", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["case"] for one in document["results"]] == [one["case"] for one in document["predictions"]] == ["layer"]
    assert main(["bench", "model", str(path), "--shape", "n=5", "--peers", ",", "--repeats", "1"]) == 0
    text = capsys.readouterr().out
    assert "ONNX models: ms per call" in text
    assert "predicted/measured" in text


def test_work_is_that_of_the_fed_extents(path):
    few, many = (ModelCase(path, (("n", (rows,)),)) for rows in (5, 50))
    assert many.flops == 10 * few.flops
    assert predicted(many).floor_s > predicted(few).floor_s
