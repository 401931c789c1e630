"""Libraries: of use before they are stored, built again where a stored one is of none, unloaded with their last user."""

from __future__ import annotations

import logging
import os
import platform
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.hand_written import dot
from tilewright.artifact import Artifact
from tilewright.errors import CacheError, ToolchainError
from tilewright.runtime import executable, native
from tilewright.runtime.compilation import libraries, toolchain
from tilewright.runtime.compilation.toolchain import Toolchain
from tilewright.runtime.native import building
from tilewright.runtime.store import cache as kernel_cache
from tilewright.runtime.store.cache import KernelCache

GCC = shutil.which("gcc")
needs_gcc = pytest.mark.skipif(GCC is None, reason="gcc is not installed")


@pytest.fixture
def cache(tmp_path: Path) -> KernelCache:
    return KernelCache(tmp_path / "cache")


def compiler(tmp_path: Path, name: str, text: str) -> Toolchain:
    """A compiler that is a shell script."""
    path = tmp_path / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return Toolchain((str(path),), "gcc", "12")


def without_symbols(tmp_path: Path) -> Toolchain:
    script = tmp_path / "hide"
    script.write_text("{ local: *; };\n")
    return compiler(tmp_path, "hiding-cc", f'exec {GCC} "$@" -Wl,--version-script={script}')


def without_format(tmp_path: Path) -> Toolchain:
    return compiler(tmp_path, "empty-cc", 'while [ "$1" != -o ]; do shift; done; echo no library > "$2"')


@needs_gcc
@pytest.mark.parametrize("broken", [without_symbols, without_format])
def test_what_cannot_be_used_is_the_compilers_fault_and_not_stored(
    broken: Callable[[Path], Toolchain], tmp_path: Path, cache: KernelCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = broken(tmp_path)
    monkeypatch.setattr(toolchain, "find", lambda: found)
    with pytest.raises(ToolchainError, match="library that cannot be used") as caught:
        executable.load(dot(), threads=1, cache=cache)
    assert found.command[0] in caught.value.where
    assert "TILEWRIGHT_CC" in caught.value.hint
    assert list(cache.directory.glob("*.so")) == []
    assert list(cache.directory.glob(".*")) == []


@needs_gcc
def test_the_runtimes_own_library_is_checked_like_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = without_symbols(tmp_path)
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(toolchain, "find", lambda: found)
    with pytest.raises(ToolchainError, match="does not export tw_python_init"):
        building.runtime_library(native.EXPORTED)


def store(cache: KernelCache, library: bytes) -> Path:
    """A library with a right checksum, of no use."""
    key = libraries.library_key(dot(), toolchain.find())
    cache.directory.mkdir(mode=0o700, exist_ok=True)
    path = cache.directory / f"{key}.so"
    path.write_bytes(library + kernel_cache.trailer(path.name, library))
    return path


def other_library() -> bytes:
    return toolchain.find().compile(toolchain.PROBE_TEXT, architecture=platform.machine())


@pytest.mark.parametrize("content", [lambda: b"no library", other_library], ids=["no ELF file", "other symbols"])
def test_a_stored_library_of_no_use_is_built_again_once(
    content: Callable[[], bytes], cache: KernelCache, caplog: pytest.LogCaptureFixture
) -> None:
    path = store(cache, content())
    with caplog.at_level(logging.WARNING, "tilewright.cache"):
        for _ in range(2):
            kernel = executable.load(dot(), threads=1, cache=cache)
    e = np.empty((3, 2), np.float32)
    kernel.run([np.ones((3, 4), np.float32), np.ones(4, np.float32)], [e])
    assert e.tolist() == [[4, 1]] * 3
    assert kernel.path == path
    assert caplog.text.count("is built again") == 1


def test_a_library_that_another_process_removed_is_built_again(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    path = executable.load(dot(), threads=1, cache=cache).path
    original = libraries.available
    asked: list[Path] = []

    def removed_at_once(*arguments: object) -> Path:
        found = original(*arguments)  # type: ignore[arg-type]
        asked.append(found)
        if len(asked) == 1:
            found.unlink()
        return found

    monkeypatch.setattr(libraries, "available", removed_at_once)
    assert executable.load(dot(), threads=1, cache=cache).path == path
    assert len(asked) == 2


def test_a_library_that_others_always_remove_is_kept_by_the_process(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    original = libraries.available

    def removed(artifact: Artifact, where: KernelCache, *rest: object) -> Path:
        found = original(artifact, where, *rest)  # type: ignore[arg-type]
        if where is cache:
            found.unlink()
        return found

    monkeypatch.setattr(libraries, "available", removed)
    kernel = executable.load(dot(), threads=1, cache=cache)
    assert kernel.path.parent == kernel_cache.private_directory(os.getpid())


def test_a_directory_that_refuses_execution_keeps_its_libraries(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    path = executable.load(dot(), threads=1, cache=cache).path

    def refuse(name: str) -> None:
        raise OSError(f"{name}: failed to map segment from shared object")

    monkeypatch.setattr(libraries.ctypes, "CDLL", refuse)
    with pytest.raises(CacheError, match="cannot be loaded"):
        libraries.opened(dot(), cache, ("dot",), libraries.ctypes.CDLL)
    assert path.exists()


def mapped(path: Path) -> bool:
    return str(path) in Path("/proc/self/maps").read_text()


def test_a_library_is_unloaded_with_its_last_kernel(cache: KernelCache) -> None:
    kernels = [executable.load(dot(), threads=2, cache=cache) for _ in range(2)]
    path = kernels[0].path
    assert mapped(path)
    kernels.pop()
    assert mapped(path)
    kernels.pop()
    assert not mapped(path)


def test_a_forked_child_unloads_nothing_of_its_parent(cache: KernelCache) -> None:
    """A thread of the parent may hold the loader's lock at the fork: the child would wait for it for ever."""
    kernels = [executable.load(dot(), threads=1, cache=cache)]
    path = kernels[0].path
    child = os.fork()
    if child == 0:
        kernels.clear()
        os._exit(0 if mapped(path) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert mapped(path)


def test_a_running_call_keeps_its_library(cache: KernelCache) -> None:
    """The only reference to the kernel is that of the call."""
    kernels = [executable.load(dot(), threads=2, cache=cache)]
    path, wrong = kernels[0].path, list[int]()
    a, b, begun = np.ones((1000, 300), np.float32), np.ones(300, np.float32), threading.Event()

    def call() -> None:
        run, e = kernels.pop().run, np.zeros((1000, 2), np.float32)
        begun.set()
        for _ in range(20):
            e.fill(0)
            run([a, b], [e])
            if not (e == [300, 1]).all() or not mapped(path):
                wrong.append(1)

    thread = threading.Thread(target=call)
    thread.start()
    begun.wait()
    thread.join()
    assert wrong == []
    assert not mapped(path)


def test_a_library_is_read_when_the_cache_has_let_go_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    kernel = executable.load(dot(), threads=1)
    kernel.path.unlink()
    assert b"dot_workspace_bytes" in kernel.origin.content()
