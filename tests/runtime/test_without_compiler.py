"""A process whose cache is full needs no compiler, and looks for none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.runtime.hand_written import dot
from tilewright.errors import ToolchainError
from tilewright.package_files import PACKAGE
from tilewright.runtime import executable
from tilewright.runtime.compilation import flags, libraries, toolchain
from tilewright.runtime.store.cache import KernelCache

USER = """
import hashlib, json
import numpy as np
import tilewright as tw
import tilewright.onnx as ort
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(0)

@tw.jit
def attention(q, k, v):
    scores = tw.einsum("bmk,bkl->bml", q, k)
    return tw.einsum("bml,bln->bmn", tw.softmax(scores, axis=-1), v)

q, k, v = (random.standard_normal(shape, np.float32) for shape in ((2, 5, 4), (2, 4, 6), (2, 6, 3)))
weights = random.standard_normal((8, 2, 3, 3), np.float32)
graph = helper.make_graph(
    [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["y"])],
    "small",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 6, 6])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 6, 6])],
    [numpy_helper.from_array(weights, "w")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
session = ort.InferenceSession(model.SerializeToString())
results = [attention(q, k, v), *session.run(None, {"x": random.standard_normal((1, 2, 6, 6), np.float32)})]
print(json.dumps([hashlib.sha256(np.ascontiguousarray(one)).hexdigest() for one in results]))
"""
BLOCKED = """
import sys
sys.modules["ziglang"] = None
refused = ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system")
def hook(event, arguments):
    if event in refused:
        raise AssertionError(f"a compiler was probed: {event} {arguments}")
sys.addaudithook(hook)
"""


READ_ONLY = """
import errno, os
opened, changed = os.open, os.utime
def refuse(*_, **__):
    raise OSError(errno.EROFS, "Read-only file system")
os.open = lambda path, flags, *rest, **named: refuse() if flags & os.O_CREAT else opened(path, flags, *rest, **named)
os.utime = os.rename = os.unlink = os.mkdir = refuse
"""


def results(cache: Path, *, blocked: bool, script: str = "", **variables: str) -> list[str]:
    """Digests of what a process computes with a cache; `blocked`, it has no PATH, no ziglang, and may start no process."""
    environment = {name: value for name, value in os.environ.items() if name not in ("TILEWRIGHT_CC", "TILEWRIGHT_DUMP_DIR")}
    environment |= {"TILEWRIGHT_CACHE_DIR": str(cache), **({"PATH": ""} if blocked else {}), **variables}
    command = [sys.executable, "-c", (BLOCKED if blocked else "") + script + USER]
    answer = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert answer.returncode == 0, answer.stderr
    return list(json.loads(answer.stdout))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A cache, and what the process that filled it computed."""
    cache = tmp_path_factory.mktemp("filled") / "cache"
    return cache, results(cache, blocked=False)


def test_a_full_cache_serves_without_a_compiler(filled: tuple[Path, list[str]]) -> None:
    cache, expected = filled
    assert results(cache, blocked=True) == expected


@pytest.fixture
def cache(tmp_path: Path) -> KernelCache:
    return KernelCache(tmp_path / "cache")


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, nothing can be compiled."""

    def find() -> toolchain.Toolchain:
        raise ToolchainError("no working C compiler was found")

    monkeypatch.delenv("TILEWRIGHT_CC", raising=False)
    monkeypatch.setattr(toolchain, "find", find)


def made_by(cache: KernelCache, monkeypatch: pytest.MonkeyPatch, *commands: str) -> list[Path]:
    """The library that each TILEWRIGHT_CC makes, in their order."""
    paths = []
    for command in commands:
        monkeypatch.setenv("TILEWRIGHT_CC", command)
        paths.append(libraries.available(dot(), cache))
    monkeypatch.delenv("TILEWRIGHT_CC")
    return paths


def link_to_compiler(tmp_path: Path, name: str) -> Path:
    """A script that calls the compiler, which it is for whoever looks at its file."""
    words = " ".join(toolchain.find().command)
    path = tmp_path / name
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("damage", [None, b"", b"no JSON", b"[[1, 2]]", b"{}", b"7"])
def test_where_nothing_is_known_of_compilers_they_are_asked_and_not_run(
    cache: KernelCache, damage: bytes | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "known"))
    path, known = libraries.available(dot(), cache), tmp_path / "known" / toolchain.PROBE_FILE
    toolchain.find()
    known.unlink()
    if damage is not None:
        known.write_bytes(damage)
    monkeypatch.setattr(toolchain.Toolchain, "compile", None)
    assert libraries.available(dot(), cache) == path


def test_what_the_cache_lacks_needs_a_compiler(cache: KernelCache, without_compiler: None) -> None:
    with pytest.raises(ToolchainError, match="no working C compiler was found"):
        libraries.available(dot(), cache)


def test_a_library_that_was_pruned_is_built_again(cache: KernelCache) -> None:
    path = libraries.available(dot(), cache)
    path.unlink()
    assert libraries.available(dot(), cache) == path
    assert path.exists()


def test_a_library_that_is_pruned_before_it_is_loaded_is_built_again(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    path, original, found = libraries.available(dot(), cache), KernelCache.library, []

    def pruned(self: KernelCache, key: str) -> Path | None:
        found.append(original(self, key))
        path.unlink(missing_ok=True)
        return found[-1]

    monkeypatch.setattr(KernelCache, "library", pruned)
    assert executable.load(dot(), threads=1, cache=cache).path == path
    assert found[:2] == [path, None]


def test_each_compiler_that_is_asked_for_has_its_library(
    cache: KernelCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = [str(link_to_compiler(tmp_path, name)) for name in ("one-cc", "other-cc")]
    first = made_by(cache, monkeypatch, *commands)
    assert len(set(first)) == 2
    monkeypatch.setattr(toolchain, "find", None)
    assert made_by(cache, monkeypatch, *commands, *commands) == first * 2


def test_the_library_of_some_compiler_serves_where_there_is_none(
    cache: KernelCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    commands = [str(link_to_compiler(tmp_path, name)) for name in ("one-cc", "other-cc")]
    paths = made_by(cache, monkeypatch, *commands)
    request.getfixturevalue("without_compiler")
    assert libraries.available(dot(), cache) == paths[1]
    paths[1].unlink()
    assert libraries.available(dot(), cache) == paths[0]


def test_options_of_a_compiler_are_not_taken_over(
    cache: KernelCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """They may ask for a sanitizer, which the process lacks."""
    made_by(cache, monkeypatch, f"{link_to_compiler(tmp_path, 'one-cc')} -O0")
    request.getfixturevalue("without_compiler")
    with pytest.raises(ToolchainError):
        libraries.available(dot(), cache)


def test_a_compiler_that_is_asked_for_and_missing_is_not_replaced(
    cache: KernelCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    libraries.available(dot(), cache)
    request.getfixturevalue("without_compiler")
    monkeypatch.setenv("TILEWRIGHT_CC", str(tmp_path / "missing-cc"))
    with pytest.raises(ToolchainError):
        libraries.available(dot(), cache)


def test_a_compiler_that_was_replaced_is_asked_again(cache: KernelCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = link_to_compiler(tmp_path, "one-cc")
    monkeypatch.setenv("TILEWRIGHT_CC", str(command))
    libraries.available(dot(), cache)
    asked: list[object] = []
    original = toolchain.find
    monkeypatch.setattr(toolchain, "find", lambda: (asked.append(1), original())[1])
    libraries.available(dot(), cache)
    assert asked == []
    command.write_text(command.read_text() + "# another version\n")
    libraries.available(dot(), cache)
    assert asked == [1]


def test_other_features_and_flags_have_other_libraries(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    path = libraries.available(dot(), cache)
    assert libraries.available(replace(dot(), features=frozenset({"sse4_2"})), cache) != path
    monkeypatch.setattr(flags, "COMMON", (*flags.COMMON, "-DANOTHER_RELEASE"))
    assert libraries.available(dot(), cache) != path


def test_a_read_only_cache_serves_without_a_compiler(filled: tuple[Path, list[str]]) -> None:
    cache, expected = filled
    present = sorted(path.name for path in cache.iterdir())
    assert results(cache, blocked=True, script=READ_ONLY) == expected
    assert sorted(path.name for path in cache.iterdir()) == present


def test_a_copy_of_the_cache_serves_a_copy_of_the_package(filled: tuple[Path, list[str]], tmp_path: Path) -> None:
    """As in an image: at other places, made at another time, and read-only before a directory of which nothing is made."""
    cache, expected = filled
    image, packages = tmp_path / "image", tmp_path / "packages"
    shutil.copytree(cache, image, copy_function=shutil.copyfile)
    shutil.copytree(PACKAGE, packages / "tilewright", copy_function=shutil.copyfile)
    present = {path: path.stat().st_mtime_ns for path in image.rglob("*")}
    variables = {"TILEWRIGHT_SHARED_CACHE_DIR": str(image), "PYTHONPATH": str(packages)}
    assert results(tmp_path / "mine", blocked=True, **variables) == expected
    assert {path: path.stat().st_mtime_ns for path in image.rglob("*")} == present
    assert not (tmp_path / "mine").exists()
