"""Files of a model that are overwritten or truncated in place while a session of it lives: right results, or one clear error."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw
import tilewright.onnx as ort
from tilewright.api.building import Options
from tilewright.api.compiled import Compiled
from tilewright.backends import loading
from tilewright.errors import InvalidModel
from tilewright.frontend.onnx.model import Array
from tilewright.frontend.onnx.reading import load
from tilewright.graph.constant_values import can_change
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.runtime.constants import held, release_pages

WEIGHTS = np.random.default_rng(0).standard_normal((64, 20), np.float32)
X = np.random.default_rng(1).standard_normal((4, 64), np.float32)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))


def truncate(path: Path) -> None:
    os.truncate(path, 0)


def overwrite_and_set_the_time_back(path: Path) -> None:
    status = path.stat()
    overwrite(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES = [overwrite, truncate, overwrite_and_set_the_time_back]
changes = pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
changed = pytest.raises(InvalidModel, match="has changed since the session was made")
Change = Callable[[Path], None]


def saved(tmp_path: Path, nodes: list[object], extents: list[object], *, external: bool = False) -> tuple[Path, Path]:
    """A model of nodes on x and the weights w, and the file that has the weights."""
    constants = [numpy_helper.from_array(WEIGHTS, "w"), numpy_helper.from_array(WEIGHTS[0], "b")]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, extents)]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_empty_tensor_value_info("y")], constants)
    path = tmp_path / "model.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, path, save_as_external_data=external, location="weights", size_threshold=0)
    return path, tmp_path / ("weights" if external else "model.onnx")


def product() -> list[object]:
    return [helper.make_node("MatMul", ["x", "w"], ["y"])]


def close(session: ort.InferenceSession, x: Array, expected: Array) -> bool:
    return np.allclose(session.run(None, {"x": x})[0], expected, rtol=1e-4, atol=1e-4)


@changes
def test_lengths_that_are_compiled_later_have_the_weights_of_the_session(tmp_path: Path, change: Change) -> None:
    path, weights = saved(tmp_path, product(), ["n", 64], external=change is overwrite)
    session, careful = (ort.InferenceSession(path, mapped=mapped) for mapped in (False, True))
    change(weights)
    with changed:
        careful.run(None, {"x": X})
    for rows in (2, 4):
        assert close(session, X[:rows], X[:rows] @ WEIGHTS)


@changes
def test_what_is_compiled_behind_numpy_has_the_weights_of_the_session(tmp_path: Path, change: Change) -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("Gather", ["w", "places"], ["rows"], axis=0),
        helper.make_node("ReduceSum", ["rows"], ["y"], keepdims=0),
    ]
    path, weights = saved(tmp_path, nodes, [1, 5], external=change is overwrite)
    session, careful = (ort.InferenceSession(path, mapped=mapped) for mapped in (False, True))
    change(weights)
    x = np.array([[0, 1, 0, 1, 1]], np.float32)
    assert close(session, x, WEIGHTS[np.array(np.nonzero(x))].sum())
    with changed:
        careful.run(None, {"x": x})


@changes
def test_a_session_that_needs_its_weights_again_refuses_other_ones(tmp_path: Path, change: Change) -> None:
    """What was compiled for known shapes goes on; plans are made of weights that are kept nowhere."""
    path, weights = saved(tmp_path, product(), [4, 64], external=change is overwrite)
    session = ort.InferenceSession(path)
    change(weights)
    assert close(session, X, X @ WEIGHTS)
    with changed:
        session.explain()
    with changed:
        session.profile({"x": X})


def test_a_graph_in_a_node_has_the_weights_of_the_session(tmp_path: Path) -> None:
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "s"], ["o"]), helper.make_node("Identity", ["c"], ["co"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, [64, 20]),
        ],
        [helper.make_empty_tensor_value_info("co"), helper.make_empty_tensor_value_info("o")],
        [numpy_helper.from_array(2 * WEIGHTS, "s")],
    )
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Cast", ["sum"], ["count"], to=TensorProto.INT64),
        helper.make_node("Loop", ["count", "", "w"], ["y"], body=body),
    ]
    path, weights = saved(tmp_path, nodes, [3], external=True)
    session, careful = (ort.InferenceSession(path, mapped=mapped) for mapped in (False, True))
    truncate(weights)
    assert close(session, np.ones(3, np.float32), 7 * WEIGHTS)
    with changed:
        careful.run(None, {"x": np.ones(3, np.float32)})


def test_small_constants_of_external_data_are_copied(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Identity", ["b"], ["z"])]
    path, weights = saved(tmp_path, nodes, [4], external=True)
    model = onnx.load(path, load_external_data=False)
    model.graph.output.append(helper.make_empty_tensor_value_info("z"))
    path.write_bytes(model.SerializeToString())
    session = ort.InferenceSession(path)
    overwrite(weights)
    np.testing.assert_array_equal(session.run(["z"], {"x": np.ones(4, np.float32)})[0], WEIGHTS[0])


def test_weights_are_checked_before_a_call_that_meets_nan_packs_them_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel that computes it again is loaded then."""

    def refuse() -> Graph:
        raise InvalidModel("the file has changed")

    graph = tw.jit(lambda x: x @ tw.asarray(WEIGHTS), target="x86-64-v2").lower(tw.spec((4, 64))).graph
    monkeypatch.setattr(loading, "load", lambda *_, strict, **__: strict())
    options = Options(Machine.named("x86-64-v2"), threads=1)
    with pytest.raises(InvalidModel, match="the file has changed"):
        Compiled(*options.loaded(*options.generated(graph), copies=True, whole=refuse))


def test_another_file_in_the_place_of_a_models_is_no_change(tmp_path: Path) -> None:
    path, _ = saved(tmp_path, product(), [4, 64])
    session = ort.InferenceSession(path)
    other = tmp_path / "other"
    other.write_bytes(b"another file")
    other.rename(path)
    assert "micro kernel" in session.explain()


def test_weights_of_known_shapes_are_not_copied(tmp_path: Path) -> None:
    """They are packed when the session is made, and let go."""
    path, _ = saved(tmp_path, product(), [4, 64])
    weights = load(path).body.constants["w"]
    (copy,) = held([weights])
    assert copy is not weights
    assert held([copy]) == (copy,)
    assert not can_change(copy)
    release_pages(copy)
    np.testing.assert_array_equal(copy, WEIGHTS)
    other = tmp_path / "other"
    other.mkdir()
    models = saved(tmp_path, product(), [4, 64])[0], saved(other, product(), ["n", 64])[0]
    fixed, dynamic = (ort.InferenceSession(one, mapped=False) for one in models)
    constants = [session._source.model.body.constants["w"] for session in (fixed, dynamic)]
    assert [one is constant for one, constant in zip(held(constants), constants, strict=True)] == [False, True]
