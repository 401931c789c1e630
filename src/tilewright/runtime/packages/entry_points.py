"""Entry points in packages: the section of the library, and those of the constants that were packed for it."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from tilewright.entry_point import EntryPoint, Signature
from tilewright.errors import TilewrightError
from tilewright.graph.data_format import ARRAY_TYPES
from tilewright.graph.expressions.extents import dimensions_of
from tilewright.records import record
from tilewright.runtime import loader, native
from tilewright.runtime.executable import Executable, Origin, executable, pool_of
from tilewright.runtime.packages import code
from tilewright.runtime.packages.reading import Package
from tilewright.runtime.packed import Packed

if TYPE_CHECKING:
    from tilewright.runtime.packages.writing import PackageWriter


MOST = 1 << 62
"""Of extents: their products with strides are `long`."""


class Savable(Protocol):
    """A compiled entry point, loaded or not."""

    @property
    def entry(self) -> EntryPoint:
        """How it is called."""

    @property
    def origin(self) -> Origin:
        """What it was compiled to."""

    @property
    def packed(self) -> Packed:
        """Its constants."""


@record
class SavedEntryPoint:
    """An entry point, the section of its library, and those of its packed constants in the order of the signature."""

    entry: EntryPoint
    library: int
    packed: tuple[int, ...]


@record
class PackagedLibrary:
    """A library that came from a package."""

    package: Package
    section: int

    @property
    def path(self) -> str:
        """Of the package."""
        return self.package.path

    @property
    def source(self) -> str:
        """There is none."""
        raise TilewrightError(
            "a saved kernel has no C text",
            where=self.package.path,
            hint="read kernel.source before it is saved, and write it to a file",
        )

    def content(self) -> bytes:
        """The file of the library. Raises `InvalidPackage`."""
        return self.package.checked(self.section)


def saved(compiled: Savable, writer: PackageWriter) -> SavedEntryPoint:
    """The record of an entry point, whose sections are written. It is without what only the packing of constants needs."""
    entry, signature = compiled.entry, compiled.entry.signature
    writer.needs(entry.architecture, entry.features)
    packed = tuple(writer.section(array) for array in compiled.packed.arrays)
    sizes = tuple(replace(slot, layout="") for slot in signature.packed)
    called = replace(entry, signature=replace(signature, constants=(), packed=sizes))
    return SavedEntryPoint(called, writer.section(compiled.origin.content()), packed)


def restored(found: SavedEntryPoint, package: Package, threads: int | None) -> Executable:
    """Load an entry point. Raises `InvalidPackage`."""
    entry = found.entry
    with package.refusing("an entry point is described wrongly"):
        _check_signature(entry.signature)
        packed = [package.elements(section) for section in found.packed]
        if [array.size for array in packed] != [slot.size_bytes for slot in entry.signature.packed]:
            raise ValueError("a packed constant has another size than its section")
    _use_runtime(package)
    origin = PackagedLibrary(package, found.library)
    library = code.loaded(origin.content(), entry.exported, ctypes.CDLL, package.path)
    loader.unload_when_unused(library)
    with package.refusing("an entry point is described wrongly"):
        return executable(entry, origin, library, pool_of(threads), Packed.of(packed))


def _use_runtime(package: Package) -> None:
    """Let the process have the package's thread pool and launcher, unless it has some: their digests are equal."""
    if not native.is_loaded():
        content = package.checked(package.header.runtime)
        native.use(code.loaded(content, native.EXPORTED, ctypes.PyDLL, package.path))


def _check_signature(signature: Signature) -> None:
    """Raise `ValueError` for what the launcher must not be told."""
    symbols = {symbol.name: symbol for symbol in signature.symbols}
    dimensions = {extent for slot in signature.inputs for extent in slot.shape if isinstance(extent, str)}
    for symbol in signature.symbols:
        if not 0 <= symbol.low <= symbol.high <= MOST:
            raise ValueError(f"symbol {symbol.name!r:.40} has a wrong range")
        needed = {symbol.name} if symbol.extent is None else set(dimensions_of([symbol.extent]))
        if not needed <= dimensions & symbols.keys():
            raise ValueError(f"no input tells symbol {symbol.name!r:.40}")
    for slot in (*signature.inputs, *signature.outputs):
        rank = range(len(slot.shape))
        is_shape = all(extent in symbols if isinstance(extent, str) else 0 <= extent <= MOST for extent in slot.shape)
        places = (*slot.joined, *([] if slot.unit_stride_dim is None else [slot.unit_stride_dim]))
        if not (is_shape and len(rank) < 63 and slot.dtype in ARRAY_TYPES and all(place in rank for place in places)):
            raise ValueError(f"argument {slot.name!r:.40} is described wrongly")
