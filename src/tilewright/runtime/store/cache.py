"""The on-disk cache of compiled libraries, and of objects that they link.

Each entry is one file, `<key>.so` or `<key>.o`: the content followed by a trailer with the SHA-256 of the file's name and of what
precedes it (the dynamic loader ignores bytes behind the sections; objects are linked without it). A file appears under its name
complete or not at all, and is used only when its trailer matches: neither damaged, nor what belongs to another name. Files beyond
TILEWRIGHT_CACHE_SIZE go, the least recently used first (`cache_size.py`).
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from tilewright import settings
from tilewright.errors import CacheError
from tilewright.records import record
from tilewright.runtime.store import cache_size
from tilewright.runtime.store.cache_size import SizeLimit, touch
from tilewright.runtime.store.directories import TEMPORARY_SUFFIX, check_private, check_trusted, write_atomically

LOGGER = logging.getLogger("tilewright.cache")
MAGIC = b"tilewright-sha256-2:"
"""What keys depend on, too: releases with other trailers share a directory."""
TRAILER_BYTES = len(MAGIC) + 64
LEFTOVER_S = 600
"""A temporary file lives for milliseconds; its age is as good as the clocks of machines that share a directory."""


@record
class CacheInfo:
    """What `tilewright cache info` prints: files that count against the limit."""

    directory: Path
    files: int
    bytes: int


@dataclass(slots=True)
class KernelCache:
    """Compiled libraries in one directory, shared by any number of processes.

    Where the directory cannot be written (full, read-only, not there), libraries go to a directory private to this process,
    and one warning says so.
    """

    directory: Path
    shared: Path | None = None
    """A directory that is looked into before, and never written to."""
    _unusable: bool = field(default=False, repr=False)
    _looked_s: float = field(default=-math.inf, repr=False)
    """When this process last looked for what killed writers left: it passes over all files."""
    _sizes: dict[Path, SizeLimit] = field(default_factory=dict, repr=False)

    def get_or_build(self, key: str, build: Callable[[], bytes], check: Callable[[Path], None] = lambda path: None) -> Path:
        """The path of the library called `key` (a file name: a digest), built and stored where it is missing or damaged.

        `check` sees what was built before it is stored. Errors of `build` and `check` pass through, and nothing is stored then.
        Raises `CacheError` where the directory is unsafe or nothing can be stored anywhere.
        """
        found, name = self.library(key), library_name(key)
        if found is not None:
            return found
        if self._unusable:
            return self.keep(name, build(), check=check)
        with self._locked(key):
            if _content(self.directory / name) is not None:  # another process has built it meanwhile
                return self.directory / name
            LOGGER.info("building %s", key)
            return self.keep(name, build(), check=check)

    def library(self, key: str) -> Path | None:
        """The path of the library called `key`; None where it is missing or damaged. Raises `CacheError` as `find`."""
        found = self._found(library_name(key))
        if found is None:
            return None
        LOGGER.debug("hit %s", key)
        return found[0]

    def find(self, name: str) -> bytes | None:
        """The content of another file that was kept here; None where it is missing or damaged: then it is deleted, too.

        Raises `CacheError` where the directory is unsafe.
        """
        found = self._found(name)
        return None if found is None else found[1]

    def _found(self, name: str) -> tuple[Path, bytes] | None:
        """A file of the shared directory, of the directory or, where that cannot be written, of this process, and its content."""
        if self.shared is not None and (content := _shared(self.shared / name)) is not None:
            return self.shared / name, content
        with self._fallback_on_failure(name):
            check_private(self.directory)
            content = _content(self.directory / name)
            if content is not None:
                return self.directory / name, content
        if not self._unusable:
            return None
        content = _content(self._fallback() / name)
        return None if content is None else (self._fallback() / name, content)

    def keep(
        self, name: str, content: bytes, beside: Iterable[Path] = (), check: Callable[[Path], None] = lambda path: None
    ) -> Path:
        """Store a file that `check` has seen; those `beside` are not removed for it.

        Raises `CacheError` where nothing can be stored anywhere, and what `check` raises.
        """
        content += trailer(name, content)
        with self._fallback_on_failure(name):
            if not self._unusable:
                return self._write(self.directory / name, content, beside, check)
        try:
            return self._write(self._fallback() / name, content, beside, check)
        except OSError as problem:
            raise self._nowhere(problem) from problem

    def drop(self, name: str) -> None:
        """Delete a file that was kept, wherever that was."""
        for directory in self._sizes.keys() | {self.directory}:
            with contextlib.suppress(OSError):
                (directory / name).unlink(missing_ok=True)

    def info(self) -> CacheInfo:
        """How many files there are, and their size."""
        files = cache_size.stored(self.directory)
        return CacheInfo(self.directory, len(files), sum(file.size_bytes for file in files))

    def prune(self) -> CacheInfo:
        """Remove what is beyond TILEWRIGHT_CACHE_SIZE; how much that was."""
        removed = cache_size.prune(self.directory, settings.current().cache_size_bytes)
        return CacheInfo(self.directory, len(removed), sum(file.size_bytes for file in removed))

    def clear(self) -> None:
        """Delete every library, result of planning, lock and left-over. Libraries in use stay loaded."""
        for pattern in (*(f"*{suffix}" for suffix in cache_size.SUFFIXES), f".*{TEMPORARY_SUFFIX}", "*.lock"):
            for path in self._files(pattern):
                path.unlink(missing_ok=True)

    def _files(self, pattern: str) -> list[Path]:
        return sorted(self.directory.glob(pattern)) if self.directory.is_dir() else []

    def _write(self, path: Path, content: bytes, beside: Iterable[Path], check: Callable[[Path], None]) -> Path:
        write_atomically(path, content, check)
        size = self._sizes.setdefault(path.parent, SizeLimit(path.parent))
        size.count(path, len(content), settings.current().cache_size_bytes, beside)
        return path

    @contextlib.contextmanager
    def _fallback_on_failure(self, key: str) -> Iterator[None]:
        """From the first failure of the file system on, this process stores what it builds in a directory of its own."""
        try:
            yield
        except OSError as problem:
            if not self._unusable:
                LOGGER.warning(
                    "the kernel cache %s cannot be used (%s): kernels compiled by this process are kept in a temporary directory",
                    self.directory,
                    problem,
                )
            LOGGER.debug("not stored in the cache: %s (%s)", key, problem)
            self._unusable = True

    def _fallback(self) -> Path:
        try:
            return private_directory(os.getpid())
        except OSError as problem:
            raise self._nowhere(problem) from problem

    def _nowhere(self, problem: OSError) -> CacheError:
        return CacheError(
            "a compiled kernel can be stored nowhere",
            where=f"{self.directory}, then a temporary directory",
            why=str(problem),
            hint="free some space, or set TILEWRIGHT_CACHE_DIR to a directory that can be written",
        )

    @contextlib.contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        """Hold the lock of the keys that share the first two digits.

        The lock saves work, it protects nothing: without it (a file system without locks, a stuck owner) two processes may
        build the same library, and the later rename wins. The kernel drops the lock of a killed process.
        """
        import filelock  # 5 ms: not for the path of every import

        lock = filelock.FileLock(self.directory / f"{key[:2]}.lock", timeout=settings.current().cc_timeout_s)
        try:
            lock.acquire()
        except (OSError, NotImplementedError, filelock.Timeout) as problem:
            LOGGER.info("building %s without a lock: %s", key, problem)
            yield
            return
        try:
            self._remove_leftovers()
            yield
        finally:
            lock.release()

    def _remove_leftovers(self) -> None:
        """Objects are written without the lock: only the age of a temporary file tells that its writer was killed."""
        if time.monotonic() - self._looked_s < LEFTOVER_S:
            return
        self._looked_s = time.monotonic()
        for path in self._files(f".*{TEMPORARY_SUFFIX}"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > LEFTOVER_S:
                    LOGGER.info("removing %s, left by a writer that was killed", path.name)
                    path.unlink()


def default() -> KernelCache:
    """The cache in `TILEWRIGHT_CACHE_DIR`, one object per directory."""
    knobs = settings.current()
    return at(knobs.cache_dir, knobs.shared_cache_dir)


@lru_cache(maxsize=16)
def at(directory: Path, shared: Path | None = None) -> KernelCache:
    """The cache in a directory, behind one that is shared."""
    return KernelCache(directory, shared)


def without_trailer(content: bytes) -> bytes:
    """The library in a cache file."""
    return content[:-TRAILER_BYTES]


def trailer(name: str, content: bytes) -> bytes:
    """What stands behind the content of a file: a digest of its name and of its content, which so belong together."""
    digest = hashlib.sha256(name.encode() + b"\0")
    digest.update(content)
    return MAGIC + digest.hexdigest().encode()


def library_name(key: str) -> str:
    """The name of the file of a library."""
    return f"{key}.so"


def _shared(path: Path) -> bytes | None:
    """What precedes the trailer of a file that belongs to others; None where it is missing or damaged."""
    try:
        content = path.read_bytes()
        check_trusted(path.parent)
    except OSError:
        return None
    kept = content[:-TRAILER_BYTES]
    return kept if content[-TRAILER_BYTES:] == trailer(path.name, kept) else None


def _content(path: Path) -> bytes | None:
    """What precedes the trailer of a file, which is deleted where that does not match."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    kept, found = content[:-TRAILER_BYTES], content[-TRAILER_BYTES:]
    if found == trailer(path.name, kept):
        touch(path)
        return kept
    LOGGER.warning("%s does not match its checksum: it is deleted and built again", path)
    path.unlink(missing_ok=True)
    return None


@lru_cache(maxsize=2)
def private_directory(process: int) -> Path:
    """A directory of this process alone, removed at its exit; a forked child gets its own."""
    import tempfile

    directory = Path(tempfile.mkdtemp(prefix="tilewright-"))
    atexit.register(_remove, directory, process)
    return directory


def _remove(directory: Path, process: int) -> None:
    if os.getpid() == process:
        import shutil

        shutil.rmtree(directory, ignore_errors=True)
