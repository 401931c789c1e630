"""Stages that are kept on disk: found by sessions of the same model, and by no others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import tilewright.onnx as ort
from tests.support.onnx_models import info, model, node
from tilewright.api.building import Options
from tilewright.api.onnx.kept_stages import KeptModel
from tilewright.backends import loading
from tilewright.frontend.onnx import reading
from tilewright.runtime import artifacts
from tilewright.runtime.store.cache import at, without_trailer

pytestmark = pytest.mark.unverified

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((4, 64), np.float32)
W = RANDOM.standard_normal((64, 48), np.float32)
V = RANDOM.standard_normal((48, 48), np.float32)


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on no model is read."""

    def refuse(*_: Any) -> None:
        raise AssertionError("a model is read")

    return lambda: monkeypatch.setattr(reading, "model_of", refuse)


def saved(path: Path, nodes: list[Any], constants: dict[str, Any], *, extent: Any = 4, external: bool = False) -> Path:
    """A model of nodes on x (extent, 64) with these constants; its bytes are those of no other test."""
    inputs, outputs = [info("x", [extent, 64])], [info("y", None)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(v, k) for k, v in constants.items()])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, doc_string=str(path))
    onnx.save(proto, path, save_as_external_data=external, location="weights", size_threshold=0)
    return path


def product() -> list[Any]:
    return [helper.make_node("MatMul", ["x", "w"], ["y"])]


def run(path: Path, **options: Any) -> Any:
    (result,) = ort.InferenceSession(path, **options).run(None, {"x": X})
    return result


def test_a_second_session_reads_no_model(tmp_path: Path, unread: Callable[[], None]) -> None:
    path = saved(tmp_path / "model.onnx", product(), {"w": W})
    first = ort.InferenceSession(path)
    meta, (expected,) = first.get_modelmeta(), first.run(None, {"x": X})
    unread()
    second = ort.InferenceSession(path)
    np.testing.assert_array_equal(second.run(None, {"x": X})[0], expected)
    assert (second.get_modelmeta(), second.get_inputs(), second.get_outputs()) == (meta, first.get_inputs(), first.get_outputs())
    assert second.compilation_count == 1
    second.save(tmp_path / "saved")
    np.testing.assert_array_equal(ort.InferenceSession(tmp_path / "saved").run(None, {"x": X})[0], expected)
    with pytest.raises(AssertionError, match="a model is read"):
        second.explain()


def test_plans_and_strict_kernels_of_a_second_session_are_of_the_whole_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict: list[Any] = []
    load = loading.load
    monkeypatch.setattr(loading, "load", lambda *args, **options: (strict.append(options["strict"]), load(*args, **options))[1])
    path = saved(tmp_path / "model.onnx", product(), {"w": W})
    first, second = ort.InferenceSession(path), ort.InferenceSession(path)
    assert second.explain() == first.explain()
    assert strict[1]() == strict[0]()
    assert len(second.profile({"x": X}).chains) == len(first.profile({"x": X}).chains) > 0


ADDED = [helper.make_node("Add", ["w", "v"], ["s"]), helper.make_node("MatMul", ["x", "s"], ["y"])]
SCALED = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Mul", ["p", "scale"], ["y"])]
RESHAPED = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Reshape", ["p", "shape"], ["y"])]
CHOSEN = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Gather", ["p", "columns"], ["y"], axis=1)]
MASKED = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "mask"], ["y"])]
TRIANGLE = np.where(np.tri(4, 48, dtype=bool), np.float32(0), np.float32(-np.inf))
CHANGES: dict[str, tuple[list[Any], dict[str, Any], dict[str, Any], Callable[..., Any]]] = {
    "packed": (product(), {"w": W}, {"w": 2 * W}, lambda w: X @ w),
    "folded": (ADDED, {"w": W[:, :32], "v": W[:, 16:]}, {"w": W[:, :32], "v": W[:, 8:40]}, lambda w, v: X @ (w + v)),
    "few": (SCALED, {"w": W, "scale": np.float32(2)}, {"w": W, "scale": np.float32(3)}, lambda w, scale: X @ w * scale),
    "shape": (
        RESHAPED,
        {"w": W, "shape": np.array([2, 96])},
        {"w": W, "shape": np.array([8, 24])},
        lambda w, shape: (X @ w).reshape(shape),
    ),
    "positions": (
        CHOSEN,
        {"w": W, "columns": np.arange(30)},
        {"w": W, "columns": np.arange(30)[::-1].copy()},
        lambda w, columns: (X @ w)[:, columns],
    ),
    "mask": (MASKED, {"w": W, "mask": TRIANGLE}, {"w": W, "mask": TRIANGLE[::-1].copy()}, lambda w, mask: X @ w + mask),
}


@pytest.mark.parametrize(("change", "external"), [*((change, False) for change in CHANGES), ("packed", True), ("folded", True)])
def test_a_change_of_any_constant_is_seen(tmp_path: Path, change: str, external: bool) -> None:
    """Whether it is packed, or what was planned and generated depends on it."""
    nodes, before, after, expected = CHANGES[change]
    path = tmp_path / "model.onnx"
    for constants in (before, after, before):
        (tmp_path / "weights").unlink(missing_ok=True)
        saved(path, nodes, constants, external=external)
        np.testing.assert_allclose(run(path), expected(**constants), rtol=1e-4, atol=1e-4)


def test_a_change_of_a_file_beside_the_model_is_seen(tmp_path: Path) -> None:
    """The model itself stays the same to the byte."""
    path = saved(tmp_path / "model.onnx", product(), {"w": W}, external=True)
    before, content = run(path), path.read_bytes()
    (tmp_path / "weights").write_bytes((tmp_path / "weights").read_bytes()[:-4] + np.float32(1000).tobytes())
    assert path.read_bytes() == content
    changed = W.copy()
    changed[-1, -1] = 1000
    np.testing.assert_allclose(run(path), X @ changed, rtol=1e-4, atol=1e-3)
    assert not np.allclose(before, run(path))


class Asked(Exception):
    """Ends a session that asks for a stage."""


def test_options_and_shapes_are_questions_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def find(self: KeptModel, question: str, options: Options) -> None:
        store = options.store()
        assert store is not None
        asked.append(store.key(question))
        raise Asked

    def first_question(make: Callable[[], object]) -> str:
        asked.clear()
        with pytest.raises(Asked):
            make()
        return asked[0]

    monkeypatch.setattr(KeptModel, "find", find)
    path = saved(tmp_path / "model.onnx", product(), {"w": W}, extent="n")
    sessions = [
        ort.InferenceSession(path, **options)
        for options in ({}, {"precision": "strict"}, {"fuse": False}, {"target": "x86-64-v3"})
    ]
    questions = [first_question(partial(session.prepare, x=(4, 64))) for session in sessions]
    for rows in (4, 3):
        fixed = ort.SessionOptions()
        fixed.add_free_dimension_override_by_name("n", rows)
        questions.append(first_question(partial(ort.InferenceSession, path, fixed)))
    assert len(set(questions)) == 6


def test_dynamic_models_are_neither_read_nor_needed_again(tmp_path: Path, unread: Callable[[], None]) -> None:
    path = saved(tmp_path / "model.onnx", product(), {"w": W}, extent="n", external=True)
    ort.InferenceSession(path).run(None, {"x": X})
    unread()
    session = ort.InferenceSession(path)
    for file in (path, tmp_path / "weights"):
        file.write_bytes(bytes(file.stat().st_size))
        file.unlink()
    np.testing.assert_allclose(session.run(None, {"x": X[:3]})[0], X[:3] @ W, rtol=1e-4, atol=1e-4)


def test_extents_that_were_refused_are_not_tried_again(
    tmp_path: Path, unread: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows must be even: that is found out once."""
    refused: list[str] = []
    refuse = KeptModel.refuse
    monkeypatch.setattr(KeptModel, "refuse", lambda *args: (refused.append(args[1]), refuse(*args))[1])
    halves = helper.make_node("Reshape", ["p", "shape"], ["y"])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), halves]
    path = saved(tmp_path / "model.onnx", nodes, {"w": W, "shape": np.array([2, -1, 48])}, extent="n")
    expected = run(path)
    assert refused
    unread()
    np.testing.assert_array_equal(run(path), expected)


def test_values_of_inputs_that_decide_are_part_of_the_question() -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["t"]), helper.make_node("Neg", ["t"], ["y"])]
    shape_info = helper.make_tensor_value_info("shape", onnx.TensorProto.INT64, [2])
    proto = model(nodes, [info("x", [4, 6]), shape_info], [info("y", None)])
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    for shape in ((6, 4), (2, 12), (6, 4)):
        session = ort.InferenceSession(proto.SerializeToString())
        (result,) = session.run(None, {"x": x, "shape": np.array(shape)})
        np.testing.assert_array_equal(result, -x.reshape(shape))


def test_overridden_defaults_are_not_those_of_the_model(tmp_path: Path) -> None:
    inputs, defaults = [info("x", [4, 64]), info("w", W.shape)], [numpy_helper.from_array(W, "w")]
    graph = helper.make_graph(product(), "g", inputs, [info("y", None)], defaults)
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    for _ in range(2):
        session = ort.InferenceSession(path)
        np.testing.assert_allclose(session.run(None, {"x": X, "w": 3 * W})[0], 3 * X @ W, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(session.run(None, {"x": X})[0], X @ W, rtol=1e-4, atol=1e-4)


def test_operators_of_others_are_looked_up_again(tmp_path: Path, unread: Callable[[], None]) -> None:
    """Nothing tells when what they mean has changed."""
    path = tmp_path / "model.onnx"
    onnx.save(model([node("Double", ["x"], ["y"])], [info("x", [4, 64])], [info("y", None)]), path)
    run(path)
    unread()
    with pytest.raises(AssertionError, match="a model is read"):
        run(path)


def test_damaged_exchanged_and_missing_entries_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"  # of its own: other workers write entries into that of the run
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(cache))
    path = saved(tmp_path / "model.onnx", product(), {"w": W})
    expected = run(path)
    every = sorted(cache.glob(f"*{artifacts.SUFFIX}"))
    entries = [entry for entry in every if b"KeptDivision" not in entry.read_bytes()]  # no plan is read where the code is kept
    assert len(entries) == 3  # the description, the stage and the code
    contents = [without_trailer(entry.read_bytes()) for entry in entries]
    for entry, content, other in zip(entries, contents, contents[::-1], strict=True):
        for damaged in (None, content[:-20], other):
            entry.unlink()
            if damaged is not None:
                at(cache).keep(entry.name, damaged)
            np.testing.assert_array_equal(run(path), expected)
            assert without_trailer(entry.read_bytes()) == content
