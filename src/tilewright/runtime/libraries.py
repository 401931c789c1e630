"""From an artifact to a loaded library: the key under which it is cached, building, and loading."""

from __future__ import annotations

import ctypes
import hashlib
from pathlib import Path
from typing import TypeVar

from tilewright.codegen.artifact import CONTEXT_DECLARATION, Artifact
from tilewright.errors import CacheError, InternalError
from tilewright.runtime.cache import KernelCache
from tilewright.runtime.toolchain import Toolchain

Library = TypeVar("Library", bound=ctypes.CDLL)


def library_key(artifact: Artifact, toolchain: Toolchain) -> str:
    """A digest of all that decides what the compiled library is: text, compiler, flags, ABI."""
    flags = toolchain.flags(artifact.architecture, artifact.features)
    compiler = (*toolchain.command, toolchain.family, toolchain.version, *flags)
    parts = (artifact.key, *compiler, CONTEXT_DECLARATION)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def build(artifact: Artifact, toolchain: Toolchain, cache: KernelCache) -> Path:
    """The library of an artifact, from the cache or compiled. Raises `ToolchainError` or `CacheError`."""
    return cache.get_or_build(
        library_key(artifact, toolchain),
        lambda: toolchain.compile(
            artifact.text, linked=artifact.linked, architecture=artifact.architecture, features=artifact.features
        ),
    )


def load(path: Path, kind: type[Library]) -> Library:
    """Load a library (`ctypes.CDLL`, or `ctypes.PyDLL` to keep the GIL). Raises `CacheError` when the loader refuses it."""
    try:
        return kind(str(path))
    except OSError as problem:
        raise CacheError(
            "a compiled kernel cannot be loaded",
            where=str(path),
            why=str(problem),
            hint="the directory may be mounted without execute permission: set TILEWRIGHT_CACHE_DIR to another one",
        ) from problem


def address(library: ctypes.CDLL, name: str) -> int:
    """Where an exported function begins."""
    try:
        found = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    except AttributeError:
        found = None
    if found is None:
        raise InternalError(f"the generated library does not export {name}")
    return found
