"""Packages in several processes: read while they are replaced, after a fork, in threads, and beside another version."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.packages import behind_header, parts, with_header
from tilewright.runtime.packages import code

X = np.random.default_rng(1).standard_normal((3, 24), np.float32)
LOADS = """
import sys
import numpy as np
import tilewright as tw
x = np.random.default_rng(1).standard_normal((3, 24), np.float32)
found = set()
for _ in range(int(sys.argv[2])):
    found.add(float(tw.load(sys.argv[1], threads=1, verify=True)(x)[0, 0] / x[0].sum()))
print(sorted(round(factor, 3) for factor in found))
"""
"""Of packages that multiply sums of rows by a factor."""
WITHOUT = """
import os, sys, errno
for name in ("plan", "lower", "render", "leaves", "kernels", "compiler"):
    sys.modules[f"tilewright.{name}"] = None
sys.modules["onnx"] = None
refused = ("subprocess.Popen", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.mkdir", "os.rename")
def hook(event, arguments):
    is_path = event == "open" and isinstance(arguments[0], str) and isinstance(arguments[1], str)
    writes = is_path and set(arguments[1]) & set("wax+")
    if event in refused or writes:
        raise OSError(errno.EROFS, f"{event} {arguments}")
sys.addaudithook(hook)
"""
"""A process that has neither planner nor compiler, and may write nothing."""


def save(path: Path, factor: float) -> None:
    weights = np.full((24, 40), factor, np.float32)
    tw.jit(lambda x: x @ weights, threads=1).lower(X).compile().save(path)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save(tmp_path / "twice.tw", 2.0)
    return tmp_path / "twice.tw"


def started(text: str, *arguments: object, **environment: str) -> subprocess.Popen[str]:
    given = {"PYTHONPATH": os.pathsep.join(sys.path), "TILEWRIGHT_CALIBRATE": "0", **environment}
    command = [sys.executable, "-S", "-c", text, *map(str, arguments)]
    return subprocess.Popen(command, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answer(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output.strip()


def test_a_process_without_compiler_home_and_directories_to_write_to(saved: Path) -> None:
    found = started(WITHOUT + LOADS, saved, 1, PATH="/nowhere", HOME="/nowhere", TILEWRIGHT_CACHE_DIR="/proc/nowhere")
    assert answer(found) == "[2.0]"


def test_four_processes_load_what_is_replaced_meanwhile(saved: Path) -> None:
    others = saved.with_name("thrice.tw"), saved.with_name("again.tw")
    save(others[0], 3.0)
    contents = [saved.read_bytes(), others[0].read_bytes()]
    processes = [started(LOADS, saved, 12) for _ in range(4)]
    number = 0
    while any(process.poll() is None for process in processes):
        number += 1
        others[1].write_bytes(contents[number % 2])
        os.replace(others[1], saved)
    assert {answer(process) for process in processes} <= {"[2.0]", "[3.0]", "[2.0, 3.0]"}


def test_a_loaded_file_that_is_replaced_lives_on(saved: Path) -> None:
    kernel = tw.load(saved, threads=1)
    expected = kernel(X)
    save(saved, 3.0)
    assert (kernel(X) == expected).all()
    assert np.allclose(tw.load(saved)(X), 1.5 * expected, rtol=1e-5)


def test_threads_and_children(saved: Path) -> None:
    kernel = tw.load(saved, threads=2)
    expected, found = kernel(X), list[Any]()
    threads = [threading.Thread(target=lambda: found.append(tw.load(saved, threads=2)(X))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all((one == expected).all() for one in found)
    child = os.fork()
    if child == 0:
        os._exit(0 if (kernel(X) == expected).all() and (tw.load(saved, threads=2)(X) == expected).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_two_versions_in_one_directory(saved: Path) -> None:
    older = saved.with_name("older.tw")
    older.write_bytes(with_header(parts(saved.read_bytes()).text, behind_header(saved), version="0.0.9"))
    with pytest.raises(tw.InvalidModel, match=r"'0.0.9' wrote it"):
        tw.load(older)
    assert tw.load(saved)(X).shape == (3, 40)


def test_without_memory_files_a_temporary_one_is_loaded(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = tw.load(saved)(X)
    monkeypatch.delattr(code.os, "memfd_create")
    assert (tw.load(saved)(X) == expected).all()
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", _refused)
    with pytest.raises(tw.InvalidModel, match="its code cannot be loaded"):
        tw.load(saved)


def _refused(**options: object) -> None:
    raise OSError("read-only")
