"""Reading of packages: the file is mapped, the plan for this CPU chosen, and sections are handed out that have been checked."""

from __future__ import annotations

import math
import mmap
import os
import platform
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from tilewright.errors import InternalError, UnsupportedOperation
from tilewright.graph import data_format
from tilewright.graph.data_format import NOT_READABLE
from tilewright.machine import isa
from tilewright.machine.features import usable_features
from tilewright.records import record
from tilewright.runtime import native
from tilewright.runtime.arrays import Array
from tilewright.runtime.digests import sha256
from tilewright.runtime.memory import allocate
from tilewright.runtime.packages.layout import MAGIC, Content, Header, InvalidPackage, Target, decode, refused
from tilewright.version import VERSION

T = TypeVar("T")


@record
class StoredArray:
    """An array in a section."""

    section: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@record(eq=False)
class Package:
    """A package, and the plan of it that suits this CPU."""

    path: str
    header: Header
    target: Target
    _content: Array
    _begin: int
    _is_verified: bool

    def plan(self, content: Content, kind: type[T]) -> T:
        """The plan of a package of such a content. Raises `InvalidPackage`."""
        if self.header.content is not content:
            raise refused(self.path, f"it holds a {self.header.content.value}, not a {content.value}", "tw.load(path) reads all")
        return self.decoded(self.target.plan, kind)

    def decoded(self, section: int, kind: type[T]) -> T:
        """The value of a section. Raises `InvalidPackage`."""
        with self.refusing("its plan means nothing"):
            return data_format.decode(self.checked(section), kind)

    def checked(self, section: int) -> bytes:
        """The bytes of a section, whose digest is right. Raises `InvalidPackage`."""
        content = self._elements(section).tobytes()
        self._check(section, content)
        return content

    def elements(self, section: int) -> Array:
        """The bytes of a section, which nobody can change, unless they are mapped: then who writes to the file can."""
        found = self._elements(section)
        if self._is_verified:
            self._check(section, found)
        return found

    def array(self, stored: StoredArray) -> Array:
        """An array of the plan. Raises `InvalidPackage`."""
        elements = self.elements(stored.section)
        with self.refusing("an array has another size than its section"):
            size_bytes = math.prod(stored.shape) * stored.dtype.itemsize
            if stored.dtype.hasobject or size_bytes != elements.size or any(extent < 0 for extent in stored.shape):
                raise ValueError
            return elements.view(stored.dtype).reshape(stored.shape)

    def explanation(self, section: int) -> Callable[..., str]:
        """A function that reads a plan in words; it is as long as it was saved, whatever is asked for."""
        return lambda full=False: self.checked(section).decode(errors="replace")

    def copy(self) -> memoryview:
        """The bytes of the whole file, whose digests are right. Raises `InvalidPackage`."""
        for section in range(len(self.header.sections)):
            self._check(section, self._elements(section))
        return self._content.data

    @contextmanager
    def refusing(self, why: str) -> Iterator[None]:
        """Inside, what nonsense of a plan raises is a refusal of the package."""
        try:
            yield
        except InvalidPackage:
            raise
        except (*NOT_READABLE, LookupError, TypeError, AttributeError, ArithmeticError) as problem:
            raise refused(self.path, f"{why}: {type(problem).__name__} {problem}".rstrip()) from problem
        except (InternalError, UnsupportedOperation) as problem:
            raise refused(self.path, f"{why}: {type(problem).__name__} {problem}".rstrip()) from problem

    def _elements(self, section: int) -> Array:
        if not 0 <= section < len(self.header.sections):
            raise refused(self.path, f"its plan names section {section}, which is not there")
        place = self.header.sections[section]
        return self._content[self._begin + place.offset : self._begin + place.offset + place.size_bytes]

    def _check(self, section: int, content: Any) -> None:
        _check(self.header, section, content, self.path)


def check(path: str | os.PathLike[str]) -> Header:
    """The header of a package of which all bytes are as they were written, be it for this CPU or not. Raises `InvalidPackage`."""
    name = os.fspath(path)
    content = _mapped(name)
    header, begin = decode(content.data, name, VERSION)
    for number, place in enumerate(header.sections):
        _check(header, number, content[begin + place.offset : begin + place.offset + place.size_bytes], name)
    return header


def _check(header: Header, section: int, content: Any, path: str) -> None:
    if sha256(content).hex() != header.sections[section].digest:
        raise refused(path, f"section {section} is damaged: its digest differs")


def is_package(path: object) -> bool:
    """Whether a path is that of a file that begins as a package does."""
    try:
        if not isinstance(path, (str, os.PathLike)) or not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def open_package(path: str | os.PathLike[str], *, mmap: bool = True, verify: bool = False) -> Package:
    """A package whose header, version and CPU have been checked. Raises `InvalidPackage`.

    With `mmap`, constants lie in the mapped file, and processes share them; else they are copied. `verify` compares the digests
    of constants, too.
    """
    name = os.fspath(path)
    content = _mapped(name) if mmap else _copied(name)
    header, begin = decode(content.data, name, VERSION)
    if header.abi != native.digest():
        raise refused(name, "another build of this version wrote it", "save it again")
    return Package(name, header, _chosen(header, name), content, begin, verify)


def _mapped(path: str) -> Array:
    try:
        with open(path, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise refused(path, "it is no file")
            if os.fstat(file.fileno()).st_size == 0:
                raise refused(path, "it is empty")
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except (OSError, ValueError) as problem:
        raise refused(os.fspath(path), str(problem)) from problem


def _copied(path: str) -> Array:
    found = _mapped(path)
    copy = allocate(found.size)
    copy[...] = found
    copy.flags.writeable = False
    return copy


def _chosen(header: Header, path: str) -> Target:
    """The target of the best features that this CPU has."""
    features, architecture = usable_features(), platform.machine()
    fitting = [target for target in header.targets if target.architecture == architecture and target.features <= features]
    if fitting:
        return max(fitting, key=lambda target: isa.rank(target.features))
    lacking = (f"{target.name} needs {', '.join(_lacking(target, architecture, features))}" for target in header.targets)
    raise refused(path, f"this CPU lacks features: {'; '.join(lacking)}", "save it for the target x86-64-v3 or x86-64-v2, too")


def _lacking(target: Target, architecture: str, features: frozenset[str]) -> list[str]:
    return [target.architecture] if target.architecture != architecture else sorted(target.features - features)
