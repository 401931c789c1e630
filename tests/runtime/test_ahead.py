"""What is compiled ahead of a library is found by it; an error or an interrupt leaves nothing behind that matters."""

from __future__ import annotations

import platform
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

import tilewright as tw
from tilewright import compiler
from tilewright.kernels import KernelSource, SourceKind
from tilewright.runtime import ahead, native
from tilewright.runtime.ahead import compiling_ahead
from tilewright.runtime.compilation import toolchain
from tilewright.runtime.compilation.processes import Processes
from tilewright.runtime.store import cache as kernel_cache
from tilewright.runtime.store.objects import Objects

ONE, TWO = (KernelSource(SourceKind.C, f"int kernel{number}(void) {{ return {number}; }}\n") for number in (1, 2))
ENDING = 200
"""Characters at the end of a kernel, by which it is known among others in a text."""
WRONG = KernelSource(SourceKind.C, "int kernel(void) { return }\n")


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that compilers made objects of."""
    native.library()
    texts: list[str] = []
    run = Processes.run

    def watched(
        self: Processes, command: Sequence[str], limit_s: float, environment: Mapping[str, str]
    ) -> CompletedProcess[bytes]:
        if "-c" in command:
            texts.append(Path(command[-1]).read_text())
        return run(self, command, limit_s, environment)

    monkeypatch.setattr(Processes, "run", watched)
    return texts


def objects(features: frozenset[str] = frozenset()) -> Objects:
    return toolchain.find().objects(kernel_cache.default(), platform.machine(), features)


def test_what_has_begun_is_waited_for(compiled: list[str]) -> None:
    began = threading.Event()
    find = toolchain.find

    def found() -> toolchain.Toolchain:
        began.set()
        return find()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toolchain, "find", found)
        with compiling_ahead() as work:
            work.begin((ONE, ONE), platform.machine(), frozenset())
            assert began.wait(60)
    assert compiled == [ONE.content]
    assert objects().find(ONE) is not None


def test_kernels_that_are_kept_are_not_compiled(compiled: list[str]) -> None:
    for _ in range(2):
        with compiling_ahead() as work:
            work.begin((TWO,), platform.machine(), frozenset())
            work.pool.submit(lambda: None).result()
    assert compiled == [TWO.content]


def test_kernels_that_fail_are_no_matter_here(compiled: list[str]) -> None:
    with compiling_ahead() as work:
        work.begin((WRONG, ONE), platform.machine(), frozenset())
        work.pool.submit(lambda: None).result()
    assert objects().find(WRONG) is None
    assert objects().find(ONE) is not None


def test_an_exception_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    held = threading.Event()
    monkeypatch.setattr(ahead.native, "library", lambda: held.wait(60))

    def interrupted() -> None:
        with compiling_ahead() as work:
            work.begin((ONE,), platform.machine(), frozenset())
            raise KeyboardInterrupt

    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    finally:
        held.set()


def layer(x: tw.Array, w: tw.Array, b: tw.Array) -> tw.Array:
    return tw.maximum(x @ w + b, 0.0)


def layers(x: tw.Array, w: tw.Array, b: tw.Array) -> tw.Array:
    return layer(layer(layer(x, w, b), w, b), w, b)


ARGUMENTS = [np.ones(shape, np.float32) for shape in ((200, 96), (96, 96), (96,))]
SHORT = [np.ones(shape, np.float32) for shape in ((24, 64), (64, 64), (64,))]
"""Of so few tiles that calls of a micro kernel cost nothing: it is linked."""


def test_the_library_links_what_was_compiled_ahead(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text is compiled once, whoever asked for it."""
    begun: list[KernelSource] = []
    begin = ahead.Ahead.begin

    def watched(self: ahead.Ahead, kernels: Sequence[KernelSource], architecture: str, features: frozenset[str]) -> None:
        begun.extend(kernels)
        begin(self, kernels, architecture, features)

    monkeypatch.setattr(ahead.Ahead, "begin", watched)
    artifacts = []
    generate = compiler.generate
    monkeypatch.setattr(compiler, "generate", lambda plan: artifacts.append(generate(plan)) or artifacts[-1])
    tw.jit(layer)(*SHORT)
    assert begun
    assert set(begun) <= set(artifacts[0].kernels)
    endings = [str(kernel.content)[-ENDING:] for kernel in artifacts[0].kernels]
    assert [sum(text.count(ending) for text in compiled) for ending in endings] == [1] * len(endings)


@pytest.mark.parametrize("stage", ["choose_algorithms", "partition_with", "with_inlined_kernels", "generate"])
def test_an_interrupt_while_planning_leaves_everything_usable(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = tw.jit(layers)

    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(compiler, stage, interrupted)
        with pytest.raises(KeyboardInterrupt):
            function(*ARGUMENTS)
    np.testing.assert_array_equal(function(*ARGUMENTS), function(*ARGUMENTS, interpret=True))
