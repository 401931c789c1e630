from __future__ import annotations

import errno
import logging
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import filelock
import pytest

from tilewright.errors import CacheError, ToolchainError
from tilewright.runtime.store import cache as kernel_cache
from tilewright.runtime.store import directories
from tilewright.runtime.store.cache import CacheInfo, KernelCache

KEY = "ab" * 32
LIBRARY = b"\x7fELF and so on" * 100


def never() -> bytes:
    raise AssertionError("the library was built again")


@pytest.fixture
def cache(tmp_path: Path) -> KernelCache:
    return KernelCache(tmp_path / "cache")


def library_in(path: Path) -> bytes:
    return kernel_cache.without_trailer(path.read_bytes())


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    source = Path(kernel_cache.__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def test_built_once_then_found(cache: KernelCache) -> None:
    path = cache.get_or_build(KEY, lambda: LIBRARY)
    assert library_in(path) == LIBRARY
    assert cache.get_or_build(KEY, never) == path
    assert KernelCache(cache.directory).get_or_build(KEY, never) == path


def test_directory_is_made_private(cache: KernelCache) -> None:
    path = cache.get_or_build(KEY, lambda: LIBRARY)
    assert stat.S_IMODE(cache.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_info_and_clear(cache: KernelCache) -> None:
    assert cache.info() == CacheInfo(cache.directory, 0, 0)
    cache.get_or_build(KEY, lambda: LIBRARY)
    cache.get_or_build("cd" * 32, lambda: LIBRARY)
    assert cache.info() == CacheInfo(cache.directory, 2, 2 * (len(LIBRARY) + kernel_cache.TRAILER_BYTES))
    cache.clear()
    assert cache.info().files == 0
    assert list(cache.directory.iterdir()) == []


def test_errors_of_the_build_pass_and_leave_nothing(cache: KernelCache) -> None:
    def fail() -> bytes:
        raise ToolchainError("the C compiler failed")

    with pytest.raises(ToolchainError):
        cache.get_or_build(KEY, fail)
    assert cache.info().files == 0
    assert library_in(cache.get_or_build(KEY, lambda: LIBRARY)) == LIBRARY


@pytest.mark.parametrize(
    "damage", ["flipped byte", "truncated", "truncated in the trailer", "empty", "no trailer", "flipped checksum"]
)
def test_damaged_libraries_are_built_again(cache: KernelCache, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    path = cache.get_or_build(KEY, lambda: LIBRARY)
    content = bytearray(path.read_bytes())
    match damage:
        case "flipped byte":
            content[100] ^= 1
        case "truncated":
            del content[len(content) // 2 :]
        case "truncated in the trailer":
            del content[-3:]
        case "empty":
            content.clear()
        case "no trailer":
            content = bytearray(LIBRARY)
        case "flipped checksum":
            content[-1] ^= 1
    path.write_bytes(content)
    assert library_in(cache.get_or_build(KEY, lambda: LIBRARY)) == LIBRARY
    assert "does not match its checksum" in caplog.text


def test_exchanged_libraries_are_built_again(cache: KernelCache, caplog: pytest.LogCaptureFixture) -> None:
    """Both are whole, and each has the other's name."""
    keys, libraries = (KEY, "cd" * 32), (LIBRARY, b"another")
    paths = [cache.get_or_build(key, lambda library=library: library) for key, library in zip(keys, libraries, strict=True)]
    exchange(*paths)
    for key, library in zip(keys, libraries, strict=True):
        assert library_in(cache.get_or_build(key, lambda library=library: library)) == library
    assert caplog.text.count("does not match its checksum") == 2


@pytest.mark.parametrize("suffix", [".o", ".planned", ".index"])
def test_other_files_that_were_exchanged_are_not_found(cache: KernelCache, suffix: str) -> None:
    cache.get_or_build(KEY, lambda: LIBRARY)
    names = [f"{letter}{suffix}" for letter in "ab"]
    for name in names:
        cache.keep(name, name.encode())
    exchange(*(cache.directory / name for name in names))
    assert [cache.find(name) for name in names] == [None, None]
    assert cache.info().files == 1


def exchange(first: Path, second: Path) -> None:
    contents = first.read_bytes(), second.read_bytes()
    first.write_bytes(contents[1])
    second.write_bytes(contents[0])


def test_a_directory_that_became_read_only_serves_other_files_too(cache: KernelCache) -> None:
    cache.get_or_build(KEY, lambda: LIBRARY)
    cache.keep("a.index", b"held")
    cache._unusable = True
    assert cache.find("a.index") == b"held"


def test_killed_writer_leaves_nothing_that_is_used(cache: KernelCache) -> None:
    script = """
import os, sys, time
from pathlib import Path
from tilewright.runtime.store import directories
from tilewright.runtime.store.cache import KernelCache
def stuck(*paths):
    print("writing", flush=True)
    time.sleep(60)
directories.os.rename = stuck
KernelCache(Path(sys.argv[1])).get_or_build(sys.argv[2], lambda: b"half of a library")
"""
    writer = start(script, cache.directory, KEY)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "writing\n"
    writer.send_signal(signal.SIGKILL)
    writer.wait(timeout=20)
    [leftover] = cache.directory.glob(".*")
    assert leftover.suffix == ".tmp"
    an_hour_ago = time.time() - 3600
    os.utime(leftover, (an_hour_ago, an_hour_ago))
    assert library_in(cache.get_or_build(KEY, lambda: LIBRARY)) == LIBRARY
    assert list(cache.directory.glob(".*")) == []


def test_leftovers_are_looked_for_now_and_then(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for every library: a look passes over all files."""
    cache.directory.mkdir(mode=0o700)
    now = [1000.0]
    monkeypatch.setattr("tilewright.runtime.store.cache.time.monotonic", lambda: now[0])
    left = []
    for seconds in (0, 1, 700):
        now[0] += seconds
        (cache.directory / ".ab-left.tmp").write_bytes(b"half")
        os.utime(cache.directory / ".ab-left.tmp", (0, 0))
        cache.get_or_build(f"{seconds:02x}{KEY}", lambda: LIBRARY)
        left.append((cache.directory / ".ab-left.tmp").exists())
    assert left == [False, True, False]


def test_object_that_is_being_written_is_no_leftover(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    original = os.rename

    def build_between(temporary: Path, path: Path) -> None:
        monkeypatch.setattr(directories.os, "rename", original)
        cache.get_or_build(KEY, lambda: LIBRARY)
        original(temporary, path)

    assert cache.find(f"{KEY}.o") is None
    monkeypatch.setattr(directories.os, "rename", build_between)
    cache.keep(f"{KEY}.o", b"an object")
    assert cache.find(f"{KEY}.o") == b"an object"
    assert (cache.directory / f"{KEY}.o").exists()


def test_two_processes_build_once(cache: KernelCache, tmp_path: Path) -> None:
    script = """
import sys, time
from pathlib import Path
from tilewright.runtime.store.cache import KernelCache
def build():
    with open(sys.argv[3], "a") as log:
        log.write("built\\n")
    time.sleep(0.5)
    return b"library" * 1000
print(KernelCache(Path(sys.argv[1])).get_or_build(sys.argv[2], build))
"""
    processes = [start(script, cache.directory, KEY, tmp_path / "log") for _ in range(3)]
    answers = {process.communicate(timeout=60)[0] for process in processes}
    assert answers == {f"{cache.directory / KEY}.so\n"}
    assert (tmp_path / "log").read_text() == "built\n"


def test_two_threads_build_once(cache: KernelCache) -> None:
    built: list[int] = []

    def build() -> bytes:
        built.append(1)
        time.sleep(0.1)
        return LIBRARY

    threads = [threading.Thread(target=cache.get_or_build, args=(KEY, build)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == [1]


def test_without_locks_work_is_repeated_not_lost(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object) -> None:
        raise NotImplementedError("no flock here")

    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    assert library_in(cache.get_or_build(KEY, lambda: LIBRARY)) == LIBRARY


@pytest.mark.parametrize("function", ["fdopen", "rename"])
def test_full_disk_falls_back_with_one_warning(
    cache: KernelCache, function: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fail_in_cache(monkeypatch, function, cache.directory)
    with caplog.at_level(logging.WARNING, "tilewright.cache"):
        first = cache.get_or_build(KEY, lambda: LIBRARY)
        second = cache.get_or_build("cd" * 32, lambda: LIBRARY)
    assert library_in(first) == library_in(second) == LIBRARY
    assert cache.directory not in (first.parent, second.parent)
    assert cache.get_or_build(KEY, never) == first
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "No space left" in caplog.text
    assert list(cache.directory.glob(".*")) == []


def fail_in_cache(monkeypatch: pytest.MonkeyPatch, function: str, directory: Path) -> None:
    """Let a function of `os` find the disk full where it works on a file of the directory."""
    original = getattr(os, function)

    def fail(first: int | Path, *rest: object) -> object:
        path = Path(os.readlink(f"/proc/self/fd/{first}")) if isinstance(first, int) else first
        if path.parent == directory:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(first, *rest)

    monkeypatch.setattr(directories.os, function, fail)


def test_unwritable_directory_falls_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("not a directory")
    cache = KernelCache(tmp_path / "file" / "cache")
    path = cache.get_or_build(KEY, lambda: LIBRARY)
    assert library_in(path) == LIBRARY
    assert cache.get_or_build(KEY, never) == path
    assert caplog.text.count("cannot be used") == 1


def test_read_only_directory_still_serves_what_it_holds(
    cache: KernelCache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    held = cache.get_or_build(KEY, lambda: LIBRARY)
    original = os.open

    def read_only(path: Path, flags: int, *rest: int) -> int:
        if Path(path).parent == cache.directory and flags & os.O_CREAT:
            raise OSError(errno.EROFS, "Read-only file system")
        return original(path, flags, *rest)

    monkeypatch.setattr(directories.os, "open", read_only)
    other = cache.get_or_build("cd" * 32, lambda: LIBRARY)
    assert other.parent != cache.directory
    assert cache.get_or_build(KEY, never) == held
    assert "Read-only file system" in caplog.text


def test_nowhere_to_store_is_an_error(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(directories.os, "fdopen", full)
    with pytest.raises(CacheError, match="stored nowhere") as caught:
        cache.get_or_build(KEY, lambda: LIBRARY)
    assert "No space left" in caught.value.why
    assert "TILEWRIGHT_CACHE_DIR" in caught.value.hint


def test_no_directory_for_temporary_files_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(prefix: str) -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory")

    (tmp_path / "file").write_text("")
    kernel_cache.private_directory.cache_clear()
    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(CacheError, match="stored nowhere"):
        KernelCache(tmp_path / "file" / "cache").get_or_build(KEY, lambda: LIBRARY)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_directory_that_others_can_write_is_refused(cache: KernelCache, mode: int) -> None:
    cache.get_or_build(KEY, lambda: LIBRARY)
    cache.directory.chmod(mode)
    with pytest.raises(CacheError, match=f"mode {mode:04o} lets other users write") as caught:
        cache.get_or_build(KEY, lambda: LIBRARY)
    assert str(cache.directory) in str(caught.value)


def run_as_another_user(monkeypatch: pytest.MonkeyPatch, root: int) -> str:
    """This process seems to be another user's than its directories, and root another one; what refusals say."""
    user = os.geteuid()
    monkeypatch.setattr(directories, "ROOT", root)
    monkeypatch.setattr(directories.os, "geteuid", lambda: user + 1)
    return f"belongs to user {user}, this process runs as user {user + 1}"


def test_directory_of_another_user_is_refused(cache: KernelCache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cache.get_or_build(KEY, lambda: LIBRARY)
    refusal = run_as_another_user(monkeypatch, root=-1)
    for refused in (cache, KernelCache(tmp_path / "mine", shared=cache.directory)):
        with pytest.raises(CacheError, match=refusal):
            refused.get_or_build(KEY, never)


def test_directory_of_root_serves_everybody(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    held = cache.get_or_build(KEY, lambda: LIBRARY)
    run_as_another_user(monkeypatch, root=os.geteuid())
    assert cache.get_or_build(KEY, never) == held


def test_shared_directory_is_read_and_never_written(cache: KernelCache, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What it has is found before anything is made of the own directory; what is damaged there is built in that one."""
    held = cache.get_or_build(KEY, lambda: LIBRARY)
    both = KernelCache(tmp_path / "mine", shared=cache.directory)
    assert both.get_or_build(KEY, never) == held
    assert not both.directory.exists()
    other = both.get_or_build("cd" * 32, lambda: LIBRARY)
    assert other.parent == both.directory
    held.write_bytes(held.read_bytes()[:-1])
    before = held.stat()
    assert both.get_or_build(KEY, lambda: LIBRARY).parent == both.directory
    assert held.stat() == before
    assert caplog.text == ""
    assert KernelCache(tmp_path / "third", shared=tmp_path / "nowhere").library(KEY) is None


def test_private_directory_goes_with_the_process(tmp_path: Path) -> None:
    script = """
import os, sys
from pathlib import Path
from tilewright.runtime.store.cache import KernelCache
cache = KernelCache(Path(sys.argv[1]) / "below")
path = cache.get_or_build("ab", lambda: b"library")
child = os.fork()
if child:
    assert os.waitpid(child, 0)[1] == 0
    assert path.exists()
    print(path)
else:
    own = cache.get_or_build("ab", lambda: b"library")
    assert own.exists() and own != path
"""
    (tmp_path / "file").write_text("")
    path = Path(start(script, tmp_path / "file").communicate(timeout=60)[0].strip())
    assert path.name == "ab.so"
    assert path.is_relative_to(tempfile.gettempdir())
    assert not path.parent.exists()


def test_default_is_where_the_setting_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "chosen"))
    assert kernel_cache.default().directory == tmp_path / "chosen"
    assert kernel_cache.default() is kernel_cache.default()
