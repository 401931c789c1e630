"""Several threads and several shapes: what exists runs while others compile, and different shapes compile side by side."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import tilewright as tw
from tests.support.onnx_models import info, model
from tilewright.errors import ToolchainError
from tilewright.onnx import InferenceSession
from tilewright.runtime import native
from tilewright.runtime.compilation import toolchain
from tilewright.runtime.compilation.toolchain import Toolchain

LIMIT_S = 60.0

Function = Callable[[np.ndarray], Any]


def jitted() -> Function:
    return tw.jit(lambda x: x + 1, threads=1, dynamic=False)


def session() -> Function:
    """Ranks differ in the tests, since extents of one rank share buckets."""
    made = InferenceSession(model([helper.make_node("Add", ["x", "x"], ["y"])], [info("x", None)], [info("y", None)]))
    return lambda x: made.run(None, {"x": x})[0]


def arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.ones(3, np.float32), np.ones((2, 3), np.float32), np.ones((2, 2, 2), np.float32)


class Compiler:
    """In the place of the real one: counts, waits to be let go, and fails if it is told to."""

    def __init__(self, original: Any) -> None:
        self.original = original
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.begun = threading.Semaphore(0)
        self.count = 0
        self.problem: Exception | None = None

    def __call__(self, *arguments: Any, **options: Any) -> bytes:
        self.count += 1
        self.begun.release()
        assert self.goes_on.wait(LIMIT_S)
        if self.problem is not None:
            raise self.problem
        result: bytes = self.original(*arguments, **options)
        return result


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Compiler:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    native.library()
    toolchain.find()
    found = Compiler(Toolchain.compile)
    monkeypatch.setattr(Toolchain, "compile", lambda *arguments, **options: found(*arguments, **options))
    return found


@pytest.fixture
def threads(compiler: Compiler) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool
        compiler.goes_on.set()


@pytest.fixture(params=[jitted, session])
def function(request: pytest.FixtureRequest, compiler: Compiler) -> Function:
    made: Function = request.param()
    return made


def test_what_exists_runs_while_another_shape_compiles(
    function: Function, compiler: Compiler, threads: ThreadPoolExecutor
) -> None:
    first, second, _ = arrays()
    expected = function(first)
    compiler.goes_on.clear()
    compiler.begun.acquire()
    late = threads.submit(function, second)
    assert compiler.begun.acquire(timeout=LIMIT_S)
    np.testing.assert_array_equal(threads.submit(function, first).result(LIMIT_S), expected)
    assert not late.done()
    compiler.goes_on.set()
    np.testing.assert_array_equal(late.result(LIMIT_S), np.full((2, 3), 2))


def test_what_exists_runs_while_its_extent_becomes_a_length(compiler: Compiler, threads: ThreadPoolExecutor) -> None:
    """A second value makes an extent a length: the kernel of the first value is found nevertheless, in every way of calling."""
    double = tw.jit(lambda x, factor=2.0: x * factor, threads=1)
    first, second = np.ones(100, np.float32), np.ones(7, np.float32)
    double(first, factor=3.0)
    compiler.goes_on.clear()
    compiler.begun.acquire()
    late = threads.submit(double, second, factor=3.0)
    assert compiler.begun.acquire(timeout=LIMIT_S)
    assert threads.submit(double, first, factor=4.0).result(LIMIT_S)[0] == 4
    compiler.goes_on.set()
    assert late.result(LIMIT_S).tolist() == [3] * 7
    assert double(first, factor=5.0)[0] == 5
    assert compiler.count == 2


def test_different_shapes_compile_side_by_side(function: Function, compiler: Compiler, threads: ThreadPoolExecutor) -> None:
    compiler.goes_on.clear()
    running = [threads.submit(function, x) for x in arrays()]
    assert all(compiler.begun.acquire(timeout=LIMIT_S) for _ in running)
    compiler.goes_on.set()
    for result, x in zip(running, arrays(), strict=True):
        np.testing.assert_array_equal(result.result(LIMIT_S), x + 1)


def test_one_shape_is_compiled_once(function: Function, compiler: Compiler, threads: ThreadPoolExecutor) -> None:
    compiler.goes_on.clear()
    running = [threads.submit(function, arrays()[0]) for _ in range(6)]
    assert compiler.begun.acquire(timeout=LIMIT_S)
    compiler.goes_on.set()
    for result in running:
        np.testing.assert_array_equal(result.result(LIMIT_S), [2, 2, 2])
    assert compiler.count == 1


def test_who_waits_is_told_of_the_failure(function: Function, compiler: Compiler, threads: ThreadPoolExecutor) -> None:
    """A compiler that hangs is waited for once, not once by every thread; a later call tries again."""
    compiler.goes_on.clear()
    compiler.problem = ToolchainError("the C compiler was given up")
    running = [threads.submit(function, arrays()[0]) for _ in range(4)]
    assert compiler.begun.acquire(timeout=LIMIT_S)
    compiler.goes_on.set()
    for result in running:
        with pytest.raises(ToolchainError, match="given up"):
            result.result(LIMIT_S)
    compiler.problem = None
    np.testing.assert_array_equal(function(arrays()[0]), [2, 2, 2])


def test_an_interrupted_compilation_is_taken_over(compiler: Compiler, threads: ThreadPoolExecutor) -> None:
    """Ctrl-C is for the thread that it reaches, not for those that wait for it."""
    function = jitted()
    compiler.goes_on.clear()
    compiler.problem = KeyboardInterrupt()  # type: ignore[assignment]
    outcome: list[BaseException] = []

    def interrupted() -> None:
        try:
            function(arrays()[0])
        except BaseException as problem:
            outcome.append(problem)

    first = threading.Thread(target=interrupted)
    first.start()
    assert compiler.begun.acquire(timeout=LIMIT_S)
    second = threads.submit(function, arrays()[0])
    while not compiler.goes_on.wait(0.2):
        compiler.goes_on.set()
    first.join(LIMIT_S)
    assert isinstance(outcome[0], KeyboardInterrupt)
    compiler.problem = None
    try:
        result = second.result(LIMIT_S)
    except KeyboardInterrupt:  # it took over before the compiler was mended
        result = function(arrays()[0])
    np.testing.assert_array_equal(result, [2, 2, 2])


def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent(compiler: Compiler, threads: ThreadPoolExecutor) -> None:
    function = jitted()
    compiler.goes_on.clear()
    late = threads.submit(function, arrays()[0])
    assert compiler.begun.acquire(timeout=LIMIT_S)
    child = os.fork()
    if child == 0:
        compiler.goes_on.set()
        os._exit(0 if function(arrays()[0]).tolist() == [2, 2, 2] else 1)
    compiler.goes_on.set()
    assert os.waitpid(child, 0)[1] == 0
    assert late.result(LIMIT_S).tolist() == [2, 2, 2]


def test_a_function_that_calls_itself_while_it_is_traced_ends(compiler: Compiler) -> None:
    """Its own unfinished kernel is nothing to wait for."""

    def recursive(x: Any) -> Any:
        return x + inner(np.ones(3, np.float32))

    inner = tw.jit(recursive, dynamic=False)
    with pytest.raises(RecursionError):
        inner(np.ones(3, np.float32))
