"""`tilewright run` and `tilewright explain` of a model."""

import numpy as np
import pytest

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


def test_what_is_missing_is_said(path, capsys):
    assert main(["run", str(path)]) == 1
    assert "use --shape x=1x128" in capsys.readouterr().err
    assert main(["run", str(path), "--shape", "n=few"]) == 2


def test_explain(path, capsys):
    assert main(["explain", str(path), "--shape", "x=5x3", "--target", "zen4"]) == 0
    assert "on zen4" in capsys.readouterr().out
    assert main(["explain", str(path)]) == 1
    assert "the shape of 'x' is not known" in capsys.readouterr().err
