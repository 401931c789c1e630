"""Writing of packages: sections are collected, each content once, and written to a temporary file that replaces the old one."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tilewright.errors import TilewrightError
from tilewright.graph.data_format import ARRAY_TYPES
from tilewright.machine import isa
from tilewright.runtime import native
from tilewright.runtime.arrays import Array
from tilewright.runtime.packages.layout import LINE_BYTES, PAGE_BYTES, Content, Header, Section, Target, aligned, encode
from tilewright.runtime.packages.reading import StoredArray
from tilewright.runtime.store.directories import TEMPORARY_SUFFIX
from tilewright.version import VERSION


@dataclass(slots=True)
class PackageWriter:
    """The sections of a package, and the plans that name them by number."""

    content: Content
    _sections: list[Section] = field(default_factory=list)
    _values: list[memoryview] = field(default_factory=list)
    _known: dict[tuple[str, int], int] = field(default_factory=dict)
    _targets: list[Target] = field(default_factory=list)
    _architecture: str = field(default_factory=platform.machine)
    _features: frozenset[str] = frozenset()
    """Of the next target."""

    def section(self, content: bytes | Array) -> int:
        """The number of a section of these bytes."""
        values = memoryview(content).cast("B") if isinstance(content, bytes) else content.reshape(-1).view(np.uint8).data
        digest = hashlib.sha256(values).hexdigest()
        number = self._known.setdefault((digest, len(values)), len(self._sections))
        if number == len(self._sections):
            last = self._sections[-1] if self._sections else Section(0, 0, "")
            step = PAGE_BYTES if len(values) >= PAGE_BYTES else LINE_BYTES
            self._sections.append(Section(aligned(last.offset + last.size_bytes, step), len(values), digest))
            self._values.append(values)
        return number

    def array(self, array: Array) -> StoredArray:
        """A section of the elements of an array. Raises `TilewrightError` for types that files do not hold."""
        if array.dtype.name not in ARRAY_TYPES:
            raise TilewrightError(f"arrays of {array.dtype} cannot be saved", where="save")
        native_order = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        return StoredArray(self.section(native_order), native_order.dtype, array.shape)

    def needs(self, architecture: str, features: frozenset[str]) -> None:
        """Note what code needs that the next target runs."""
        self._architecture, self._features = architecture, self._features | features

    def target(self, plan: bytes, name: str = "") -> None:
        """A plan, for the CPUs that have what its code needs; messages call it by its name, or by the features."""
        notable = [feature for feature in isa.NOTABLE if feature in self._features]
        title = name or " with ".join(filter(None, (self._architecture, ", ".join(notable))))
        self._targets.append(Target(title, self._architecture, self._features, self.section(plan)))
        self._features = frozenset()

    def write(self, path: str | Path) -> None:
        """Write the file. Raises `TilewrightError`."""
        from tilewright.runtime.native import building

        runtime = self.section(building.runtime_content())
        header = Header(native.digest(), self.content, runtime, tuple(self._targets), tuple(self._sections))
        start, begin = encode(header, VERSION)
        replace(path, self._pieces(start, begin))

    def _pieces(self, start: bytes, begin: int) -> Iterator[bytes | memoryview]:
        yield start
        yield bytes(begin - len(start))
        end = 0
        for section, values in zip(self._sections, self._values, strict=True):
            yield bytes(section.offset - end)
            yield values
            end = section.offset + section.size_bytes


def replace(path: str | Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file, or none; who has mapped another one of this name keeps it. Raises `TilewrightError`."""
    try:
        _replace(Path(path), pieces)
    except OSError as problem:
        raise TilewrightError(f"a package cannot be saved to {path}", where="save", why=str(problem)) from problem


def _replace(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
