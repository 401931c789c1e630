"""`tilewright run` and `tilewright explain` of a model."""

import numpy as np
import pytest
from onnx import helper

from tests.support.onnx_models import info, model, node
from tilewright.cli.main import main


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(model([node("Double", ["x"], ["y"])], [info("x", ["n", 3])], [info("y", None)]).SerializeToString())
    return path


def test_run_on_a_file(path, tmp_path, capsys):
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    assert main(["run", str(path), "--input", f"x={tmp_path / 'x.npy'}", "--output", str(tmp_path / "out"), "--profile"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("y: float32 2x3, 2 to 2, mean 2\n")
    assert "of peak" in text
    assert np.load(tmp_path / "out/y.npy").sum() == 12


def test_run_on_random_numbers(path, capsys):
    assert main(["run", str(path), "--shape", "n=4"]) == 0
    assert capsys.readouterr().out.startswith("y: float32 4x3")


def test_a_shape_that_is_none_is_wrong_usage(path, capsys):
    assert main(["run", str(path), "--shape", "n=few"]) == 2
    assert "expected NAME=1x128, or NAME=8 for a dimension" in capsys.readouterr().err


def test_explain(path, capsys):
    assert main(["explain", str(path), "--shape", "x=5x3", "--target", "zen4"]) == 0
    assert "on zen4" in capsys.readouterr().out


COMMANDS = [("run",), ("explain",), ("bench", "model", "--peers", ",", "--repeats", "1")]


@pytest.fixture
def images(tmp_path, monkeypatch):
    """A model whose only unknown is the batch."""
    monkeypatch.setattr("tilewright_bench.command.restart_if_unfair", lambda threads: None)
    path = tmp_path / "images.onnx"
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    path.write_bytes(model(nodes, [info("x", ["N", 3, 4, 4])], [info("y", None)]).SerializeToString())
    return str(path)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_batch_that_nobody_gives_is_one_and_said(command, images, capsys):
    assert main([*command, images]) == 0
    assert "dimensions that are not given: N = 1 (--shape N=8 sets one)\n" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_takes_dimensions(command, images, capsys):
    assert main([*command, images, "--shape", "N=8"]) == 0
    assert "not given" not in capsys.readouterr().err
    assert main([*command, images, "--shape", "n=8"]) == 1
    assert "the model has no input and no dimension 'n'\n  why: its inputs are x; its dimensions N" in capsys.readouterr().err


def test_arrays_that_are_given_say_what_dimensions_are(tmp_path, capsys):
    inputs = [info(name, ["batch", "tokens"]) for name in ("x", "z")]
    path = tmp_path / "sum.onnx"
    proto = model([helper.make_node("Add", ["x", "z"], ["y"])], inputs, [info("y", None)])
    path.write_bytes(proto.SerializeToString())
    np.save(tmp_path / "x.npy", np.ones((2, 5), np.float32))
    assert main(["run", str(path), "--input", f"x={tmp_path / 'x.npy'}"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("y: float32 2x5")
    assert "not given" not in printed.err
