"""The limit of the cache's directory: what was unused for longest goes, and only as much as must."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright import settings
from tilewright.cli.main import main
from tilewright.errors import TilewrightError
from tilewright.runtime.store import cache_size
from tilewright.runtime.store.cache import TRAILER_BYTES, KernelCache

SIZE = 1000
FILE = SIZE + TRAILER_BYTES


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelCache:
    monkeypatch.setenv("TILEWRIGHT_CACHE_SIZE", str(10 * FILE))
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    return KernelCache(tmp_path / "cache")


def add(cache: KernelCache, number: int, age_s: int = 0) -> Path:
    """A library that was used so long ago."""
    path = cache.get_or_build(f"{number:04x}", lambda: bytes(SIZE))
    then_ns = path.stat().st_mtime_ns - age_s * 10**9
    os.utime(path, ns=(then_ns, then_ns))
    return path


def names(cache: KernelCache) -> list[int]:
    return sorted(int(path.stem, 16) for path in cache.directory.glob("*.so"))


def test_the_least_recently_used_go(cache: KernelCache) -> None:
    for number in range(10):
        add(cache, number, age_s=100 - number)
    cache.get_or_build("0000", lambda: b"never built")  # a use
    assert len(names(cache)) == 10
    add(cache, 10)
    assert names(cache) == [0, 3, 4, 5, 6, 7, 8, 9, 10]


def test_reading_remembered_code_is_a_use(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_SIZE", "1M")
    x = np.ones(5, np.float32)
    tw.jit(lambda x: x + 1)(x)
    entry = max(cache.directory.glob("*.planned"), key=lambda path: path.stat().st_size)
    os.utime(entry, (0, 0))
    tw.jit(lambda x: x + 1)(x)
    assert entry.stat().st_mtime > 0


def test_both_kinds_of_files_count_and_nothing_else(cache: KernelCache) -> None:
    add(cache, 0)
    (cache.directory / "00.planned").write_bytes(bytes(SIZE))
    (cache.directory / "toolchains.json").write_bytes(bytes(100 * FILE))
    assert cache.info().files == 2
    assert cache.info().bytes == FILE + SIZE
    assert cache_size.prune(cache.directory, 10 * FILE) == []


def test_what_was_just_written_stays(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loader wants it next, whatever the limit."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_SIZE", "1")
    assert add(cache, 0, age_s=-100).exists()
    assert add(cache, 1).exists()
    assert names(cache) == [1]


def test_functions_work_with_any_limit(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_SIZE", "1")
    function = tw.jit(lambda x: x + 1, dynamic=False)
    for count in (3, 4, 3):
        assert function(np.ones(count, np.float32)).tolist() == [2] * count


def test_files_of_other_processes_count_as_soon_as_they_are_seen(cache: KernelCache) -> None:
    add(cache, 0)
    for number in range(1, 30):
        add(KernelCache(cache.directory / "other"), number)
        (cache.directory / "other" / f"{number:04x}.so").rename(cache.directory / f"{number:04x}.so")
    for number in range(100, 103 + cache_size.FILES_BETWEEN_LOOKS):
        add(cache, number)
    assert cache.info().bytes <= 10 * FILE


def test_looks_become_rare_where_they_take_long(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every file would cost as much as there are files."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_SIZE", "1G")
    monkeypatch.setattr(cache_size, "FILES_BETWEEN_LOOKS", 2)
    looks, stored = [0], cache_size.stored
    monkeypatch.setattr(cache_size, "stored", lambda directory: looks.append(1) or stored(directory))
    for number in range(400):
        add(cache, number)
    assert sum(looks) < 100


def test_a_directory_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    assert cache_size.stored(tmp_path / "gone") == []
    assert cache_size.prune(tmp_path / "gone", 0) == []


def test_the_command_prunes(cache: KernelCache, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        add(cache, number, age_s=100 - number)
    monkeypatch.setenv("TILEWRIGHT_CACHE_SIZE", str(2 * FILE))
    assert main(["cache", "prune"]) == 0
    assert capsys.readouterr().err.startswith("3 files (")
    assert names(cache) == [3]
    assert main(["cache", "prune"]) == 0
    assert capsys.readouterr().err.startswith("0 files")


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("1000", 1000), ("500M", 500 << 20), ("2G", 2 << 30), ("1.5g", 3 << 29), ("2GiB", 2 << 30), ("10 kB", 10240), ("0", 0)],
)
def test_sizes_have_units(text: str, size_bytes: int) -> None:
    assert settings.current({"TILEWRIGHT_CACHE_SIZE": text}).cache_size_bytes == size_bytes


@pytest.mark.parametrize("text", ["many", "-1", "2X", "G", "1e9"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(TilewrightError, match="TILEWRIGHT_CACHE_SIZE") as caught:
        settings.current({"TILEWRIGHT_CACHE_SIZE": text})
    assert "500M" in caught.value.why
