"""Micro kernels of one shape as tile programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cache

from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.records import record
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.printer import printed
from tilewright.tile.products.arithmetic import Arithmetic
from tilewright.tile.products.tile import Options, Shape, product
from tilewright.tile.program import TileProgram


@record
class ProductSource:
    """The register tile of a product."""

    name: str
    dialect: Dialect
    arithmetic: Arithmetic
    shape: Shape
    options: Options
    otherwise: Callable[[], KernelSource] = field(compare=False)
    """The same function in C, for what assembly cannot render."""

    def program(self) -> TileProgram:
        """Of `TileSource.program`."""
        return product(self.name, self.arithmetic, self.shape, self.options)

    def printed(self) -> str:
        """Of `TileSource.printed`."""
        return printed(self.program())


@cache
def tile_dialect(dialect: VectorDialect, features: frozenset[str]) -> Dialect:
    """A dialect of vectors as tile programs know it, with what a kernel needs besides."""
    of_tiles = dialect.name, dialect.architecture, dialect.features | features, dialect.vector_bits, dialect.registers
    return Dialect(*of_tiles, has_mask_registers=dialect.vector_bits == 512)


def tile_source(
    function: str,
    dialect: VectorDialect,
    arithmetic: Arithmetic,
    shape: Shape,
    options: Options,
    otherwise: Callable[[], KernelSource],
    features: frozenset[str] = frozenset(),
) -> KernelSource:
    """A tile for the linker."""
    source = ProductSource(function, tile_dialect(dialect, features), arithmetic, shape, options, otherwise)
    return KernelSource(SourceKind.TILE, source, joins=True)
