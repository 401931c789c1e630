"""Tracebacks of a user's errors end at the user's line; those of bugs are whole."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.onnx as ort
from tests.support.onnx_models import info, model, node
from tilewright import compiler
from tilewright.api.lengths import symbols
from tilewright.frontend.tracing.traced import Traced

X = np.ones((2, 3), np.float32)


def mismatched(x: Any) -> Any:
    return x @ x


def doubling() -> ort.InferenceSession:
    return ort.InferenceSession(model([node("Double", ["x"], ["y"])], [info("x", [2, 3])], [info("y", [2, 3])]))


def frames(call: Callable[[], Any], error: type[BaseException]) -> list[str]:
    with pytest.raises(error) as caught:
        call()
    return [entry.name for entry in traceback.extract_tb(caught.value.__traceback__) if "pytest" not in entry.filename]


CASES: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "while a function is traced": (lambda: tw.jit(mismatched)(X), ["frames", "<lambda>", "mismatched"]),
    "while it is lowered": (lambda: tw.jit(mismatched).lower(X), ["frames", "<lambda>", "mismatched"]),
    "in the arguments": (lambda: tw.jit(mismatched)(X.astype("c8")), ["frames", "<lambda>"]),
    "in a model": (lambda: ort.InferenceSession(b"nothing"), ["frames", "<lambda>"]),
    "in what a session is fed": (lambda: doubling().run(None, {"x": X[0]}), ["frames", "<lambda>"]),
}


@pytest.mark.parametrize("name", CASES)
def test_frames_of_the_package_are_left_out(name: str) -> None:
    call, expected = CASES[name]
    assert frames(call, tw.TilewrightError) == expected


def test_errors_behind_an_error_are_short_as_well() -> None:
    with pytest.raises(tw.TilewrightError) as caught:
        ort.InferenceSession(b"nothing")
    text = "".join(traceback.format_exception(caught.value))
    assert "src/tilewright" not in text


def test_a_setting_keeps_all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_FULL_TRACEBACKS", "1")
    assert len(frames(lambda: tw.jit(mismatched)(X), tw.TilewrightError)) > 3


def test_bugs_keep_all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("m")

    monkeypatch.setattr(compiler, "partition_with", broken)
    assert "plan" in frames(lambda: tw.jit(lambda x: x * 2).lower(X), tw.InternalError)


def test_what_this_package_raises_without_meaning_to_keeps_all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Traced, "reshape", lambda *_: symbols(None))  # type: ignore[arg-type]
    assert "symbols" in frames(lambda: tw.jit(lambda x: x.reshape(6))(X), TypeError)
