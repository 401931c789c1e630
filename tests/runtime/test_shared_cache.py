"""One cache directory for several compilers, several versions of the package, and processes that prune it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tests.runtime.test_objects import called, library
from tilewright.runtime.artifacts import PACKAGE
from tilewright.runtime.compilation import libraries, toolchain
from tilewright.runtime.compilation.toolchain import Toolchain
from tilewright.runtime.store.cache import KernelCache


@pytest.fixture
def cache(tmp_path: Path) -> KernelCache:
    return KernelCache(tmp_path / "cache")


@pytest.fixture(params=["clang", "ziglang"])
def compilers(request: pytest.FixtureRequest) -> tuple[Toolchain, Toolchain]:
    """gcc and another compiler."""
    gcc, other = toolchain.named("gcc"), toolchain.named(request.param)
    if gcc is None or other is None:
        pytest.skip(f"gcc or {request.param} is not installed")
    return gcc, other


def files(directory: Path) -> dict[str, int]:
    """The libraries, objects and results of planning of a directory; a file that is written again has another number."""
    kinds = (".so", ".o", ".planned")
    return {path.name: path.stat().st_ino for path in directory.iterdir() if path.suffix in kinds}


def test_each_compiler_has_its_libraries_and_objects(cache: KernelCache, compilers: tuple[Toolchain, Toolchain]) -> None:
    paths = [libraries.build(library(), compiler, cache) for compiler in compilers]
    assert [called(path, 5) for path in paths] == [10, 10]
    filled = files(cache.directory)
    assert sorted(Path(name).suffix for name in filled) == [".o", ".o", ".so", ".so"]
    assert [libraries.build(library(), compiler, cache) for compiler in reversed(compilers)] == paths[::-1]
    assert files(cache.directory) == filled


def test_a_cache_filled_by_another_compiler_gives_the_same_bits(
    compilers: tuple[Toolchain, Toolchain], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was planned and generated serves both compilers; each compiles it."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    x, w = (np.random.default_rng(0).standard_normal(shape, np.float32) for shape in ((19, 33), (33, 21)))
    results = []
    for compiler in (*compilers, *compilers):
        monkeypatch.setenv("TILEWRIGHT_CC", shlex.join(compiler.command))
        results.append(tw.jit(lambda x, w: tw.softmax(tw.tanh(x @ w) * 0.7 + 0.1, axis=-1), target="x86-64-v2")(x, w))
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    assert sum(name.endswith(".planned") for name in files(tmp_path / "cache")) == 2  # code, fusion partition


USER = """
import numpy as np
import tilewright as tw
x, w = (np.random.default_rng(0).standard_normal(shape, np.float32) for shape in ((19, 33), (33, 21)))
result = tw.jit(lambda x, w: tw.softmax(x @ w, axis=-1))(x, w)
print(tw.__file__, result.tobytes().hex())
"""


def test_versions_of_the_package_share_a_directory(tmp_path: Path) -> None:
    """Neither takes or replaces what the other has stored."""
    packages = [tmp_path / version / "tilewright" for version in ("old", "new")]
    for package in packages:
        shutil.copytree(PACKAGE, package)
    emission = packages[1] / "render" / "c" / "c_file.py"
    emission.write_text(f'{emission.read_text()}\nDECLARATIONS += "/* emitted by another version */\\n"\n')
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
    results, filled = [], []
    for package in (*packages, *packages):
        answer = subprocess.run(
            [sys.executable, "-c", USER],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(package.parent)},
        ).stdout.split()
        assert Path(answer[0]).parent == package
        results.append(answer[1])
        filled.append(files(tmp_path / "cache"))
    assert len(set(results)) == 1
    assert [sum(name.endswith(".planned") for name in found) for found in filled] == [2, 4, 4, 4]
    assert filled[0].items() <= filled[1].items()
    assert filled[1] == filled[2] == filled[3]


PRUNER = """
import sys
from pathlib import Path
from tilewright.runtime.store import cache_size
print("ready", flush=True)
while True:
    cache_size.prune(Path(sys.argv[1]), 0)
"""


@contextmanager
def pruned_meanwhile(directory: Path) -> Iterator[None]:
    """Another process removes every file as soon as it sees it."""
    pruner = subprocess.Popen([sys.executable, "-c", PRUNER, str(directory)], stdout=subprocess.PIPE, text=True)
    try:
        assert pruner.stdout is not None
        assert pruner.stdout.readline() == "ready\n"
        yield
    finally:
        pruner.kill()
        pruner.communicate()


def test_libraries_are_linked_and_loaded_while_another_process_prunes(cache: KernelCache) -> None:
    with pruned_meanwhile(cache.directory):
        for number in range(6):
            _, loaded = libraries.opened(library(added=number), cache, ("entry",), libraries.ctypes.CDLL)
            assert loaded.entry(5) == 10 + number
