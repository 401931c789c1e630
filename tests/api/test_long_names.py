"""Names of any length and of any characters: models and functions keep them, explanations and files do not suffer from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

import tilewright as tw
from tests.support.onnx_models import info, model
from tilewright.graph.short_names import MOST_CHARACTERS, file_name, short_name
from tilewright.onnx import InferenceSession

LONG = 70_000
X = np.ones((2, 3), np.float32)


def long_names(mark: str = "n") -> InferenceSession:
    """Values that differ in the middle of their names alone."""
    x, h, y = (mark * LONG + letter + mark * LONG for letter in "xhy")
    nodes = [
        helper.make_node("Relu", [x], [h], name=mark * LONG),
        helper.make_node("MatMul", [h, "w"], [y], name=mark * LONG + "2"),
    ]
    proto = model(nodes, [info(x, [2, 3])], [info(y, [2, 3])], {"w": np.eye(3, dtype=np.float32)})
    proto.graph.name = mark * LONG
    return InferenceSession(proto)


def test_explanations_are_readable_whatever_the_names() -> None:
    session = long_names()
    (given,), (result,) = session.get_inputs(), session.get_outputs()
    assert len(given.name) == len(result.name) == 2 * LONG + 1
    np.testing.assert_array_equal(session.run([result.name], {given.name: X})[0], X)
    assert len(session.get_modelmeta().graph_name) == LONG
    assert len(session.explain()) < 20_000


def test_dumps_are_written_whatever_the_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_DUMP_DIR", str(tmp_path / "dumps"))
    long_names("/")

    def function(x: object) -> object:
        return x + 1  # type: ignore[operator]

    function.__name__ = "../" + "f" * LONG
    tw.jit(function).lower(tw.spec((3,)))
    names = [path.name for path in (tmp_path / "dumps").iterdir()]
    assert len(names) >= 6
    assert all(len(name) < 2 * MOST_CHARACTERS for name in names)
    assert [path.name for path in tmp_path.iterdir()] == ["dumps"]


def test_lowered_functions_are_explained_whatever_their_names() -> None:
    def function(x: object) -> object:
        return x + 1  # type: ignore[operator]

    function.__name__ = "f" * LONG
    assert len(tw.jit(function).lower(tw.spec((3,))).explain()) < 10_000


def test_short_names_stay_and_long_ones_keep_their_ends() -> None:
    assert short_name("x" * MOST_CHARACTERS) == "x" * MOST_CHARACTERS
    assert short_name("begin" + "x" * LONG + "end").startswith("begin")
    assert short_name("begin" + "x" * LONG + "end").endswith("end")
    assert file_name("é/:*\0 name") == "______name"
