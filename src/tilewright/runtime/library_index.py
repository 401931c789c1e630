"""Which libraries the cache has of an artifact, so that a process that finds one looks for no compiler, and needs none.

The key of a library names the compiler that made it. An index has these keys by what TILEWRIGHT_CC was; its own name is a digest
of the artifact and of all flags that a compiler of any family would be given for its CPU features. It is a file of the cache,
`<digest>.index`, and an accelerator: where it is missing or damaged, the compiler is asked, and found to have made the library.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tilewright.codegen.artifact import CONTEXT_DECLARATION, Artifact
from tilewright.errors import CacheError
from tilewright.runtime import flags
from tilewright.runtime.cache import MAGIC, KernelCache, library_name
from tilewright.runtime.cache_size import touch
from tilewright.runtime.toolchain import Toolchain

SUFFIX = ".index"


class Made(NamedTuple):
    """A library that a compiler made: its key, the compiler's file, and the size and time of that."""

    chosen: str
    """TILEWRIGHT_CC, "" where it was not set."""
    key: str
    compiler: str
    size_bytes: int
    modified_ns: int

    def is_current(self) -> bool:
        """Whether no other compiler is in the place of the one that made it."""
        return _state(self.compiler) in ((self.size_bytes, self.modified_ns), None)

    def is_plain(self) -> bool:
        """Whether TILEWRIGHT_CC gave the compiler no options, which may ask for a sanitizer."""
        return not any(word.startswith("-") for word in shlex.split(self.chosen))


@dataclass(frozen=True, slots=True)
class LibraryIndex:
    """The libraries of one artifact in a cache."""

    cache: KernelCache
    name: str

    @staticmethod
    def of(cache: KernelCache, artifact: Artifact) -> LibraryIndex:
        """That of an artifact."""
        return LibraryIndex(cache, _key(artifact) + SUFFIX)

    def find(self, chosen: str | None) -> Path | None:
        """The library last used where TILEWRIGHT_CC was `chosen`; None where it is gone, or its compiler was replaced."""
        return self._first(made for made in self._read() if made.chosen == (chosen or "") and made.is_current())

    def find_of_any_compiler(self) -> Path | None:
        """The library that was used last, where there is no compiler: whoever made it, but for options of TILEWRIGHT_CC."""
        return self._first(sorted(filter(Made.is_plain, self._read()), key=self._used_ns, reverse=True))

    def keep(self, chosen: str | None, path: Path, compiler: Toolchain) -> None:
        """Note the library that a compiler made where TILEWRIGHT_CC was `chosen`."""
        size_bytes, modified_ns = _state(compiler.command[0]) or (0, 0)
        new = Made(chosen or "", path.stem, compiler.command[0], size_bytes, modified_ns)
        others = tuple(made for made in self._read() if made.chosen != new.chosen)
        with contextlib.suppress(CacheError):
            self.cache.keep(self.name, json.dumps((*others, new)).encode(), beside=(path,))

    def _first(self, found: Iterable[Made]) -> Path | None:
        paths = (self.cache.library(made.key) for made in found)
        path = next((path for path in paths if path is not None), None)
        if path is not None:
            touch(self.cache.directory / self.name)  # after its library, which is of no use without it
        return path

    def _used_ns(self, made: Made) -> int:
        state = _state(self.cache.directory / library_name(made.key))
        return state[1] if state is not None else 0

    def _read(self) -> tuple[Made, ...]:
        """Nothing where there is no index, or one of another form."""
        content = self.cache.find(self.name)
        try:
            return () if content is None else tuple(Made(*made) for made in json.loads(content))
        except (TypeError, ValueError):
            return ()


def _key(artifact: Artifact) -> str:
    """A digest of an artifact, the ABI, the flags of every family of compilers, and the form of an index."""
    wanted = [
        (family, flags.COMMON, flags.BY_FAMILY[family], flags.for_features(family, artifact.architecture, artifact.features))
        for family in sorted(flags.BY_FAMILY)
    ]
    parts = (artifact.key, CONTEXT_DECLARATION, repr(wanted), *Made._fields)
    return hashlib.sha256(MAGIC + "\0".join(parts).encode()).hexdigest()


def _state(path: str | Path) -> tuple[int, int] | None:
    """Size and time of a file; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
