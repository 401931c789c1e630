"""What a compiler, an assembler or a linker is given: C, assembly, an object file, or a tile program that is rendered before."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Protocol

from tilewright.records import record


class SourceKind(Enum):
    """What a kernel is delivered as."""

    C = "c"
    ASSEMBLY = "assembly"
    OBJECT = "object"
    TILE = "tile"
    """Tile programs: `render/c/kernel_sources.py` makes assembly or C of them."""


class TileSource(Protocol):
    """What makes tile programs; equal ones make equal programs."""

    def programs(self) -> Sequence[Any]:
        """The `tile.program.TileProgram`s, each a function."""

    def printed(self) -> str:
        """Their text, for digests."""


@record
class KernelSource:
    """The text (C or assembly), the bytes (object file) or the program that defines the function: a translation unit of its own.

    C texts in the same vector dialect may also be put into one translation unit.
    """

    kind: SourceKind
    content: str | bytes | TileSource
    joins: bool = False
    """Whether its external functions are weak, so that one object may hold several (`translation_units.joined`)."""

    @property
    def octets(self) -> bytes:
        """The content as it stands in a file."""
        if isinstance(self.content, bytes):
            return self.content
        return (self.content if isinstance(self.content, str) else self.content.printed()).encode()
