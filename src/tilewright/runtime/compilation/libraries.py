"""Libraries of artifacts: the key of the cache, and building."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from tilewright import settings
from tilewright.artifact import CONTEXT_DECLARATION, Artifact
from tilewright.errors import CacheError, InternalError, ToolchainError
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.runtime.compilation import toolchain as toolchains
from tilewright.runtime.compilation.toolchain import Remembered, Toolchain
from tilewright.runtime.loader import Library, is_refused_by_the_directory, load, load_exporting, not_loaded, unload
from tilewright.runtime.store.cache import MAGIC, KernelCache, private_directory

LOGGER = logging.getLogger("tilewright.cache")


def library_key(artifact: Artifact, toolchain: Toolchain) -> str:
    """A digest of all that decides what the compiled library is: text, compiler, flags, ABI."""
    parts = (artifact.key, *toolchain.identity(artifact.architecture, artifact.features), CONTEXT_DECLARATION)
    return hashlib.sha256(MAGIC + "\0".join(parts).encode()).hexdigest()


def available(artifact: Artifact, cache: KernelCache, exported: Sequence[str] = ()) -> Path:
    """The library of an artifact that the cache has; else it is built. Raises as `build`.

    No compiler is looked for where one that was found for this TILEWRIGHT_CC before has made the library, be it gone or not.
    Without any compiler, the library of every other one serves, unless TILEWRIGHT_CC asks for one.
    """
    found = kept(artifact, cache)
    if found is not None:
        return found
    try:
        toolchain = toolchains.find()
    except ToolchainError:
        found = None if settings.current().cc else _made_by(filter(Remembered.is_plain, toolchains.remembered()), artifact, cache)
        if found is None:
            raise
        return found
    return build(artifact, toolchain, cache, exported)


def kept(artifact: Artifact, cache: KernelCache) -> Path | None:
    """The library of an artifact that the cache has from a compiler that was found for this TILEWRIGHT_CC before."""
    known, chosen = toolchains.remembered(), settings.current().cc or ""
    return _made_by((one for one in known if one.chosen == chosen and one.is_current()), artifact, cache)


def _made_by(compilers: Iterable[Remembered], artifact: Artifact, cache: KernelCache) -> Path | None:
    """The library that the first of some compilers has made."""
    paths = (cache.library(library_key(artifact, one.toolchain)) for one in compilers)
    return next((path for path in paths if path is not None), None)


def build(artifact: Artifact, toolchain: Toolchain, cache: KernelCache, exported: Sequence[str] = ()) -> Path:
    """The library of an artifact, from the cache or compiled. Raises `ToolchainError` or `CacheError`.

    What was compiled is stored once it has been loaded and found to export these names. Objects of the artifact's files, which no
    other library has, are kept until then.
    """
    objects = toolchain.objects(cache, artifact.architecture, artifact.features)
    linked = (*artifact.linked, *artifact.kernels)

    def check(path: Path) -> None:
        try:
            unload(load_exporting(path, exported, ctypes.CDLL))
        except OSError as problem:
            raise _unusable(artifact, toolchain, exported, path, problem) from problem

    def compiled() -> bytes:
        architecture, features = artifact.architecture, artifact.features
        return toolchain.compile(artifact.text, linked, objects=objects, architecture=architecture, features=features)

    path = cache.get_or_build(library_key(artifact, toolchain), compiled, check)
    if linked:
        objects.drop((KernelSource(SourceKind.C, artifact.text), *artifact.linked))
    return path


def opened(artifact: Artifact, cache: KernelCache, exported: Sequence[str], kind: type[Library]) -> tuple[Path, Library]:
    """Load the `available` library of an artifact; one that is of no use is removed and built again, once.

    Where other processes remove what is stored before it is loaded (a small TILEWRIGHT_CACHE_SIZE), it is this process's alone.
    """
    path = available(artifact, cache, exported)
    try:
        return path, load_exporting(path, exported, kind)
    except OSError as problem:  # another process removed it, it was made on another system, or nothing can be loaded there
        if is_refused_by_the_directory(problem):
            raise not_loaded(path, problem) from problem
        LOGGER.warning("%s is built again: %s", path, problem)
    cache.drop(path.name)
    path = available(artifact, cache, exported)
    try:
        return path, load(path, kind)
    except CacheError:
        if path.exists():
            raise
    path = available(artifact, KernelCache(private_directory(os.getpid())), exported)
    return path, load(path, kind)


def _unusable(artifact: Artifact, toolchain: Toolchain, exported: Sequence[str], path: Path, problem: OSError) -> Exception:
    """The fault of the text, of the directory, or else of the compiler."""
    import shlex

    text = artifact.source
    if not all(name in text for name in exported):
        return InternalError(f"generated code cannot be used: {problem}", dump=text)
    if is_refused_by_the_directory(problem):
        return not_loaded(path, problem)
    return ToolchainError(
        "the C compiler made a library that cannot be used",
        where=shlex.join((*toolchain.command, *toolchain.flags(artifact.architecture, artifact.features))),
        why=str(problem),
        hint="its linker may be broken, or its words in TILEWRIGHT_CC hide symbols: set TILEWRIGHT_CC to another compiler",
    )
