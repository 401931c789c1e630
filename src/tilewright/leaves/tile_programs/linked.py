"""Leaves whose programs are functions of their own: assembly that no compiler reads, where registers hold what they compute."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.element_types import C_TYPES
from tilewright.kernels.registry import dialect_for
from tilewright.kernels.tile_sources import Programs
from tilewright.leaves.declaration import CFile, Functions, InlinedSource, LoweredTile
from tilewright.records import record
from tilewright.tile.passes.legalise import legalise
from tilewright.tile.printer import printed
from tilewright.tile.program import Buffer, Parameter, TileProgram

NAME, DIGITS = "leaf", 12
"""A function is named by a hash of its program: equal ones of several files are one function."""


def linked(tile: LoweredTile) -> LoweredTile:
    """A tile as a function of its own."""
    digits = hashlib.sha256(printed(tile.program).encode()).hexdigest()[:DIGITS]
    return replace(tile, function=f"{NAME}_{digits}")


@record(eq=False)
class _Whole:
    """A program as the only one of its source."""

    content: TileProgram
    suffix: str
    is_apart: bool = True

    def program(self, name: str) -> TileProgram:
        """The program under a name."""
        return TileProgram(name, self.content.parameters, self.content.body, self.content.tables)


def linked_functions(file: CFile, tiles: Iterable[LoweredTile]) -> Functions:
    """Declarations and sources of those that are linked."""
    found = {tile.function: tile for tile in tiles if tile.function}
    sources = [_source(file, tile) for tile in found.values()]
    if not file.links_kernels:
        return Functions(inlined=tuple(InlinedSource(source, always=False) for source in sources))
    return Functions(tuple(f"extern {_signature(tile)};" for tile in found.values()), tuple(sources))


def _source(file: CFile, tile: LoweredTile) -> KernelSource:
    dialect = file.dialect
    name, _, digits = tile.function.partition("_")
    whole = _Whole(legalise(tile.program, dialect), digits)
    vectors = dialect_for(dialect.architecture, dialect.features)
    return KernelSource(SourceKind.TILE, Programs(name, vectors, dialect.features, (whole,)), joins=True)


def _signature(tile: LoweredTile) -> str:
    return f"void {tile.function}({', '.join(map(_declared, tile.program.parameters))})"


def _declared(parameter: Parameter) -> str:
    if isinstance(parameter, Buffer):
        return f"{'' if parameter.is_written else 'const '}{C_TYPES[parameter.dtype]} *{parameter.name}"
    return f"long {parameter}"
