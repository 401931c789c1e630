"""Any number of shapes through one function or session: what is kept of them is bounded, and unloaded beyond."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import tilewright as tw
from tests.support.onnx_models import info, model
from tilewright.api import jit, recent
from tilewright.api.calls import plain_calls
from tilewright.api.onnx import steps
from tilewright.onnx import InferenceSession
from tilewright.runtime import native

LIMIT = 6


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    native.library()  # which stays
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(jit, "MOST_KERNELS", LIMIT)
    monkeypatch.setattr(steps, "MOST_STEPS", LIMIT)
    return tmp_path / "cache"


def function() -> Callable[[np.ndarray], Any]:
    return tw.jit(lambda x: x + x, threads=1, dynamic=False)


def session() -> Callable[[np.ndarray], Any]:
    nodes = [helper.make_node("Add", ["x", "x"], ["y"])]
    made = InferenceSession(model(nodes, [info("x", None)], [info("y", None)]))
    return lambda x: made.run(None, {"x": x})[0]


def shapes() -> list[tuple[int, ...]]:
    """Of different ranks and buckets."""
    return [(2,) * rank + (4**power,) for rank in range(6) for power in range(3)]


def loaded(directory: Path) -> int:
    names = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line}
    return sum(name.startswith(str(directory)) for name in names)


@pytest.mark.parametrize("make", [function, session])
def test_kernels_beyond_the_limit_are_unloaded_and_come_back(make: Callable[[], Callable[..., Any]], directory: Path) -> None:
    called = make()
    already = loaded(directory)
    for shape in shapes():
        np.testing.assert_array_equal(called(np.ones(shape, np.float32)), np.full(shape, 2))
        assert loaded(directory) - already <= LIMIT
    np.testing.assert_array_equal(called(np.ones(shapes()[0], np.float32)), np.full(shapes()[0], 2))
    del called
    gc.collect()
    assert loaded(directory) == already


def test_what_is_called_stays(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add = tw.jit(lambda x: x + x, threads=1, dynamic=False)
    often = np.ones(7, np.float32)
    add(often)
    (kernel,) = add.kernels
    for shape in shapes():
        add(np.ones(shape, np.float32))
        add(often)
    assert kernel in add.kernels
    assert len(add.kernels) <= LIMIT


def test_very_many_shapes_leave_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of functions that need no kernel; `tests/sweeps/test_very_many_shapes.py` runs 100,000 shapes of real ones."""
    monkeypatch.setattr(plain_calls, "MOST_REMEMBERED", 64)
    monkeypatch.setattr(jit, "MOST_STRUCTURES", 64)
    by_shape = tw.jit(lambda x: None, dynamic=False)
    by_keyword = tw.jit(lambda x, count=0: None, static_argnames="count", dynamic=False)
    line = np.zeros(1000, np.float32)
    kept = []
    tracemalloc.start()
    for numbers in (range(1, 250), range(250, 500), range(500, 750), range(750, 1000)):
        for number in numbers:
            by_shape(line[:number])
            by_keyword(line, count=number)
        gc.collect()
        kept.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert kept[3] < 1.1 * kept[1]


def test_the_least_recently_used_is_forgotten() -> None:
    forgotten: list[int] = []
    kept: recent.Recent[int, str] = recent.Recent(10, lambda: forgotten.append(1))
    for number in range(100):
        kept.put(number, str(number))
        assert kept.get(0) == "0"
        assert len(kept.values()) <= 10
    assert kept.get(1) is None
    assert kept.values()[-1] in ("0", "99")
    assert len(forgotten) > 10


class Counted:
    alive = 0

    def __init__(self) -> None:
        Counted.alive += 1

    def __del__(self) -> None:
        Counted.alive -= 1


def test_what_is_forgotten_is_let_go_a_few_at_a_time() -> None:
    kept: recent.Recent[int, Counted] = recent.Recent(30)
    for number in range(200):
        before = Counted.alive
        kept.put(number, Counted())
        assert before + 1 - Counted.alive <= recent.RELEASED_AT_ONCE
        assert Counted.alive <= 30
