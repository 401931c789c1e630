"""Sessions in packages: they compute what the session of the model does, without model, onnx, planner or compiler."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw
import tilewright.onnx as ort
from tests.support.packages import forged_plans

FLOAT, INT64, BOOL, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.STRING


def session_of(nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any], **constants: Any) -> ort.InferenceSession:
    """A session of nodes; inputs and outputs are (type, shape) by name."""
    infos = [[helper.make_tensor_value_info(name, *info) for name, info in one.items()] for one in (inputs, outputs)]
    weights = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "saved", *infos, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="tests")
    return ort.InferenceSession(model.SerializeToString())


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def same(session: ort.InferenceSession, path: Path, *feeds: dict[str, Any]) -> ort.InferenceSession:
    """Save a session that has run these feeds; what is loaded computes the same bits."""
    expected = [session.run(None, given) for given in feeds]
    session.save(path)
    loaded = ort.InferenceSession(str(path))
    for given, results in zip(feeds, expected, strict=True):
        for one, other in zip(results, loaded.run(None, given), strict=True):
            np.testing.assert_array_equal(one, other)
            assert getattr(one, "dtype", None) == getattr(other, "dtype", None)
    return loaded


LAYERS = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])]


def test_a_model_of_one_library(tmp_path: Path) -> None:
    session = session_of(LAYERS, {"x": (FLOAT, ["rows", 24])}, {"y": (FLOAT, ["rows", 9])}, w=random(24, 9))
    session.prepare(rows=range(1, 100))
    loaded = same(session, tmp_path / "layers.tw", {"x": random(5, 24)}, {"x": random(70, 24)})
    assert loaded.get_inputs() == session.get_inputs()
    assert loaded.get_outputs() == session.get_outputs()
    assert loaded.get_modelmeta() == session.get_modelmeta()
    assert (loaded.compilation_count, loaded.numpy_operators) == (1, {})
    assert isinstance(tw.load(tmp_path / "layers.tw", mmap=False, verify=True), ort.InferenceSession)
    with pytest.raises(tw.DTypeError):
        loaded.run(None, {"x": np.zeros((5, 24))})
    loaded.save(tmp_path / "again.tw")
    assert (tmp_path / "again.tw").read_bytes() == (tmp_path / "layers.tw").read_bytes()
    for refused in (loaded.explain, lambda: loaded.profile({"x": random(5, 24)})):
        with pytest.raises(tw.TilewrightError, match="a session of a package cannot be"):
            refused()


LEAN = """
import sys
import numpy as np
known = {*sys.modules}
import tilewright.onnx as ort
ort.InferenceSession(sys.argv[1]).run(None, {"x": np.ones((5, 24), np.float32)})
large = {"logging", "pathlib", "threading", "hashlib", "concurrent", "platformdirs", "tilewright.plan"}
print(*large.intersection(sys.modules) - known)
"""
"""Modules of these names take 2 MB, which processes do not share."""


def test_no_module_that_takes_much_memory_is_loaded(tmp_path: Path) -> None:
    session = session_of(LAYERS, {"x": (FLOAT, [5, 24])}, {"y": (FLOAT, [5, 9])}, w=random(24, 9))
    session.save(tmp_path / "lean.tw")
    given = {"PYTHONPATH": os.pathsep.join(sys.path), "HOME": "/nowhere"}
    command = [sys.executable, "-S", "-c", LEAN, str(tmp_path / "lean.tw")]
    done = subprocess.run(command, env=given, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("\n", "")


def test_what_was_not_compiled_is_told(tmp_path: Path) -> None:
    session = session_of(LAYERS, {"x": (FLOAT, ["rows", 24])}, {"y": (FLOAT, ["rows", 9])}, w=random(24, 9))
    with pytest.raises(tw.TilewrightError, match="has compiled nothing"):
        session.save(tmp_path / "nothing.tw")
    fixed = session_of(LAYERS, {"x": (FLOAT, [None, 24])}, {"y": (FLOAT, [None, 9])}, w=random(24, 9))
    loaded = same(fixed, tmp_path / "fixed.tw", {"x": random(1, 24)})
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.Fail, match="no library for this call"):
        loaded.run(None, {"x": random(0, 24)})


STAGES = [
    helper.make_node("NonZero", ["x"], ["places"]),
    helper.make_node("Cast", ["places"], ["c"], to=FLOAT),
    helper.make_node("Neg", ["c"], ["y"]),
]


def test_operators_run_as_numpy_and_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    session = session_of(STAGES, {"x": (FLOAT, [3, 4])}, {"y": (FLOAT, None)})
    with pytest.raises(tw.TilewrightError, match="run the session"):
        session.save(tmp_path / "stages.tw")
    x = random(3, 4)
    session.run(None, {"x": x})
    with caplog.at_level(logging.WARNING, logger="tilewright.onnx"):
        loaded = same(session, tmp_path / "stages.tw", {"x": x})
    assert "NonZero runs as NumPy from" in caplog.text
    assert list(loaded.numpy_operators) == ["NonZero"]


WITHOUT = """
import sys
for name in ("plan", "lower", "render", "leaves", "kernels", "compiler"):
    sys.modules[f"tilewright.{name}"] = None
sys.modules["onnx"] = None
import numpy as np
import tilewright.onnx as ort
from tests.support.packages import forged_plans, parts
session = ort.InferenceSession(sys.argv[1])
feeds = dict(np.load(sys.argv[2]))
np.savez(sys.argv[3], *session.run(None, feeds))
"""


def test_no_planner_and_no_onnx(tmp_path: Path) -> None:
    """An operator whose attributes are those of ONNX's schema has their defaults in the package."""
    nodes = [*STAGES, helper.make_node("TopK", ["x", "k"], ["v", "i"]), helper.make_node("Unique", ["x"], ["u"])]
    wanted = {name: (kind, None) for name, kind in (("y", FLOAT), ("v", FLOAT), ("i", INT64), ("u", FLOAT))}
    session = session_of(nodes, {"x": (FLOAT, [3, 4])}, wanted, k=np.array([2]))
    feeds, files = {"x": random(3, 4)}, [tmp_path / name for name in ("all.tw", "feeds.npz", "results.npz")]
    expected = session.run(None, feeds)
    session.save(files[0])
    np.savez(files[1], **feeds)
    given = {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PATH": "/nowhere",
        "HOME": "/nowhere",
        "TILEWRIGHT_CACHE_DIR": "/proc/none",
    }
    done = subprocess.run([sys.executable, "-c", WITHOUT, *files], env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for one, other in zip(expected, np.load(files[2]).values(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_values_that_decide_shapes(tmp_path: Path) -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["r"]), helper.make_node("Softmax", ["r"], ["y"])]
    session = session_of(nodes, {"x": (FLOAT, [4, 6]), "shape": (INT64, [2])}, {"y": (FLOAT, None)})
    feeds = [{"x": random(4, 6), "shape": np.array(shape)} for shape in ((3, 8), (24, 1))]
    loaded = same(session, tmp_path / "reshape.tw", *feeds)
    with pytest.raises(tw.ShapeError, match="no library"):
        loaded.run(None, {"x": random(4, 6), "shape": np.array((2, 12))})


def test_graphs_inside_nodes(tmp_path: Path) -> None:
    def branch(name: str, operator: str) -> Any:
        inner = helper.make_node(operator, ["x"], [name])
        return helper.make_graph([inner], name, [], [helper.make_tensor_value_info(name, FLOAT, None)])

    nodes = [
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("Greater", ["s", "zero"], ["is_positive"]),
        helper.make_node("If", ["is_positive"], ["y"], then_branch=branch("a", "Exp"), else_branch=branch("b", "NonZero")),
    ]
    session = session_of(nodes, {"x": (FLOAT, [3, 5])}, {"y": (FLOAT, None)}, zero=np.float32(0))
    x = np.abs(random(3, 5))
    loaded = same(session, tmp_path / "branches.tw", {"x": x}, {"x": -x})
    assert [loaded.run(None, {"x": sign * x})[0].shape for sign in (1, -1)] == [(3, 5), (2, 15)]


def test_texts_sequences_and_defaults(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("StringNormalizer", ["t"], ["u"], case_change_action="UPPER"),
        helper.make_node("SplitToSequence", ["x"], ["parts"], axis=0),
        helper.make_node("SequenceAt", ["parts", "which"], ["part"]),
        helper.make_node("Add", ["part", "bias"], ["y"]),
    ]
    inputs = {"t": (STRING, [2]), "x": (FLOAT, [3, 4]), "which": (INT64, []), "bias": (FLOAT, [4])}
    session = session_of(nodes, inputs, {"u": (STRING, [2]), "y": (FLOAT, None)}, bias=random(4))
    feeds = {"t": np.array(["some", "Text"], object), "x": random(3, 4), "which": np.array(1)}
    loaded = same(session, tmp_path / "texts.tw", feeds, {**feeds, "bias": random(4, seed=1)})
    assert [one.name for one in loaded.get_overridable_initializers()] == ["bias"]


def test_calls_that_report_infinities_are_computed_again(tmp_path: Path) -> None:
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])]
    info = {"x": (FLOAT, [1, 64, 56, 56])}, {"y": (FLOAT, [1, 64, 56, 56])}
    session = session_of(nodes, *info, w=random(64, 64, 3, 3, seed=1))
    x = random(1, 64, 56, 56)
    x[0, 3, 7, 9] = np.inf
    same(session, tmp_path / "checked.tw", {"x": random(1, 64, 56, 56)}, {"x": x})
    assert (tmp_path / "checked.tw").read_bytes().count(b'{"SavedKernel":') == 2


def test_forged_plans(tmp_path: Path) -> None:
    session = session_of(STAGES, {"x": (FLOAT, ["rows", 4])}, {"y": (FLOAT, None)})
    session.run(None, {"x": random(3, 4)})
    session.save(tmp_path / "stages.tw")
    count = 0
    for what, content in forged_plans((tmp_path / "stages.tw").read_bytes(), 120):
        (tmp_path / "forged.tw").write_bytes(content)
        try:
            ort.InferenceSession(tmp_path / "forged.tw")
        except tw.InvalidModel:
            count += 1
        except Exception as problem:
            raise AssertionError(what) from problem
    assert count > 60


def test_a_package_of_something_else(tmp_path: Path) -> None:
    tw.jit(lambda x: x * 2).lower(random(3)).compile().save(tmp_path / "kernel.tw")
    with pytest.raises(tw.InvalidModel, match="it holds a kernel, not a session"):
        ort.InferenceSession(tmp_path / "kernel.tw")
    (tmp_path / "cut.tw").write_bytes((tmp_path / "kernel.tw").read_bytes()[:5000])
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.Fail, match="truncated"):
        ort.InferenceSession(tmp_path / "cut.tw")
