"""The dynamic loader: libraries are opened, asked for addresses, and given back."""

from __future__ import annotations

import _ctypes
import ctypes
import os
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from tilewright.errors import CacheError, InternalError

if TYPE_CHECKING:
    from pathlib import Path

Library = TypeVar("Library", bound=ctypes.CDLL)


def load(path: Path, kind: type[Library]) -> Library:
    """Load a library (`ctypes.CDLL`, or `ctypes.PyDLL` to keep the GIL). Raises `CacheError` when the loader refuses it."""
    try:
        return kind(str(path))
    except OSError as problem:
        raise not_loaded(path, problem) from problem


def load_exporting(path: str | Path, exported: Sequence[str], kind: type[Library]) -> Library:
    """Load a library. Raises `OSError` where the loader refuses it, or it lacks names."""
    library = kind(str(path))
    missing = [name for name in exported if not _exports(library, name)]
    if missing:
        unload(library)
        raise OSError(f"it does not export {', '.join(missing)}")
    return library


def unload(library: ctypes.CDLL) -> None:
    """Give a library back: it is unmapped when nobody else has loaded it. No address in it may be used any more."""
    _ctypes.dlclose(library._handle)


def unload_when_unused(library: ctypes.CDLL) -> None:
    """Unload a library with its object: who keeps addresses in it keeps the object, too. At the end of the process it stays.

    A forked child keeps what its parent loaded: another thread of the parent may have held the loader's lock at the fork.
    """
    weakref.finalize(library, _unload_in, os.getpid(), library._handle).atexit = False


def _unload_in(process: int, handle: int) -> None:
    if os.getpid() == process:
        _ctypes.dlclose(handle)


def address(library: ctypes.CDLL, name: str) -> int:
    """Where an exported function begins. Nothing is kept in the library's object, so that this goes with its last user."""
    try:
        found: int = _ctypes.dlsym(library._handle, name)
    except OSError:
        raise InternalError(f"the generated library does not export {name}") from None
    return found


def _exports(library: ctypes.CDLL, name: str) -> bool:
    try:
        address(library, name)
    except InternalError:
        return False
    return True


def is_refused_by_the_directory(problem: OSError) -> bool:
    """Whether it is mounted without the permission to execute: glibc's words, musl's are those of the system call."""
    return any(words in str(problem) for words in ("failed to map segment", "Operation not permitted"))


def not_loaded(path: Path, problem: OSError) -> CacheError:
    """The error of a library that the loader refuses."""
    return CacheError(
        "a compiled kernel cannot be loaded",
        where=str(path),
        why=str(problem),
        hint="the directory may be mounted without execute permission: set TILEWRIGHT_CACHE_DIR to another one",
    )
