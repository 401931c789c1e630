"""`tilewright compile`: packages of models, for this machine and for others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw
import tilewright.onnx as ort
from tests.support.packages import parts
from tilewright.api import building
from tilewright.cli.main import main

FLOAT = TensorProto.FLOAT


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A product with weights that are packed."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])]
    infos = [helper.make_tensor_value_info(name, FLOAT, ["rows", width]) for name, width in (("x", 24), ("y", 40))]
    weights = np.random.default_rng(0).standard_normal((24, 40), np.float32)
    graph = helper.make_graph(nodes, "layer", infos[:1], infos[1:], [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "layer.onnx")
    return tmp_path / "layer.onnx"


def run(*arguments: object) -> int:
    return main([*map(str, arguments)])


def test_the_best_of_several_targets_is_loaded(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    package = model.with_name("layer.tw")
    targets = ("--target", "x86-64-v2", "--target", "x86-64-v4")
    assert run("compile", model, "-o", package, *targets, "--shape", "rows=1..100") == 0
    told = capsys.readouterr().out
    assert "x86-64-v4: libraries: 1, " in told
    assert "predicted for one call" in told
    assert run("compile", "--check", package) == 0
    assert "x86-64-v4: x86_64, avx2, avx512bw" in capsys.readouterr().out
    monkeypatch.setenv("TILEWRIGHT_MAX_ISA", "x86-64-v2")
    feeds = {"x": np.random.default_rng(1).standard_normal((7, 24), np.float32)}
    loaded = ort.InferenceSession(str(package))
    assert "x86-64-v2" in loaded.explain()
    (found,) = loaded.run(None, feeds)
    (expected,) = ort.InferenceSession(str(model), target="x86-64-v2").run(None, feeds)
    np.testing.assert_array_equal(found, expected)


def test_constants_are_packed_alike_where_the_code_cannot_run(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = [model.with_name(name) for name in ("here.tw", "elsewhere.tw")]
    assert run("compile", model, "-o", packages[0], "--target", "x86-64-v2") == 0
    monkeypatch.setattr(building, "usable_features", frozenset)
    assert run("compile", model, "-o", packages[1], "--target", "x86-64-v2") == 0
    here, elsewhere = (parts(package.read_bytes()).sections for package in packages)
    assert sorted(here) == sorted(elsewhere)


def test_damage_and_wrong_usage_are_told(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    package = model.with_name("layer.tw")
    assert run("compile", model, "-o", package, "--shape", "rows=3") == 0
    content = bytearray(package.read_bytes())
    content[-1] ^= 1
    package.write_bytes(content)
    assert run("compile", "--check", package) == 1
    assert "is damaged: its digest differs" in capsys.readouterr().err
    assert run("compile", model) == 2
    assert run("compile", model, "-o", package, "--target", "x86-64-v9") == 2
    assert "did you mean" in capsys.readouterr().err
    with pytest.raises(tw.InvalidModel, match="it is no package"):
        tw.load(model)
