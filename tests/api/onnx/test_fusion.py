"""Sessions and commands that fuse whatever can be executed, nothing, or what pays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

import tilewright.onnx as ort
from tests.support.onnx_models import info, model
from tilewright.cli.main import main
from tilewright.errors import TilewrightError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two products of an argument with constants, with a relu in between."""
    random = np.random.default_rng(0)
    constants = {"w": random.standard_normal((24, 40), np.float32), "v": random.standard_normal((40, 16), np.float32)}
    first, relu = helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["b"])
    nodes = [first, relu, helper.make_node("MatMul", ["b", "v"], ["y"])]
    file = tmp_path / "model.onnx"
    file.write_bytes(model(nodes, [info("x", [64, 24])], [info("y", None)], constants).SerializeToString())
    return file


def test_results_are_equal_within_rounding(path: Path) -> None:
    x = np.random.default_rng(1).standard_normal((64, 24), np.float32)
    by_price, fused, apart = (ort.InferenceSession(path, fuse=fuse).run(None, {"x": x})[0] for fuse in (None, True, False))
    np.testing.assert_allclose(fused, by_price, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(apart, by_price, rtol=1e-4, atol=1e-4)


def test_explain_says_that_fusion_is_switched_off(path: Path) -> None:
    assert "fusion is switched off" in ort.InferenceSession(path, fuse=False).explain()
    assert "fusion is switched off" not in ort.InferenceSession(path, fuse=True).explain()


def test_commands_know_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(path), "--fuse", "never"]) == 0
    assert "fusion is switched off" in capsys.readouterr().out
    assert main(["run", str(path), "--fuse", "never"]) == 0
    assert capsys.readouterr().out.startswith("y: float32 64x16")
    assert main(["run", str(path), "--fuse", "sometimes"]) == 2


def test_other_values_are_refused(path: Path) -> None:
    with pytest.raises(TilewrightError, match="fuse='no' is no choice") as caught:
        ort.InferenceSession(path, fuse="no")
    assert "InferenceSession" in str(caught.value)
    assert "use True, False or None" in str(caught.value)
