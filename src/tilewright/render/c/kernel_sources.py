"""Sources of micro kernels as compilers and assemblers take them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from tilewright.errors import UnsupportedOperation
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.helpers import Helper
from tilewright.kernels.tile_sources import Programs
from tilewright.kernels.translation_units import WEAK
from tilewright.leaves.declaration import InlinedSource
from tilewright.records import record
from tilewright.render.assembly.function import assembly, unit
from tilewright.render.c.inlined_tiles import helpers_of
from tilewright.render.c.tiles.rendering import TileTexts

MOST_REMEMBERED = 1024
"""Texts of 2 to 8 kB."""
ALWAYS, NEVER = "static inline __attribute__((always_inline, unused)) ", "static __attribute__((noinline, unused)) "


@lru_cache(maxsize=MOST_REMEMBERED)
def rendered(source: KernelSource) -> KernelSource:
    """A source as text: of tile programs assembly, or C where registers do not hold what they compute, or for a whole kernel."""
    if source.kind is not SourceKind.TILE:
        return source
    tiles = _tiles(source)
    if tiles.choice:
        texts = TileTexts(tiles.dialect)
        functions = [texts.function(one, NEVER) for one in tiles.programs()]
        return KernelSource(SourceKind.C, "\n".join([texts.definitions(), *functions, tiles.choice]))
    programs = tiles.programs()
    try:
        return KernelSource(SourceKind.ASSEMBLY, unit(assembly(one, tiles.dialect) for one in programs), joins=True)
    except UnsupportedOperation:
        texts = TileTexts(tiles.dialect)
        functions = [texts.function(one, f"{WEAK} ") for one in programs]
        return KernelSource(SourceKind.C, "\n".join([texts.definitions(), *functions, ""]), joins=True)


@record
class InlinedText:
    """Functions of a file, and what they need before them."""

    text: str
    helpers: tuple[Helper, ...]


@lru_cache(maxsize=MOST_REMEMBERED)
def inlined_text(inlined: InlinedSource) -> InlinedText:
    """Tile programs as functions of a file, and the function that chooses among them."""
    tiles = _tiles(inlined.source)
    texts = TileTexts(tiles.dialect)
    qualifiers = ALWAYS if inlined.always else NEVER
    apart = tiles.apart()
    functions = [texts.function(one, NEVER if one.name in apart else qualifiers) for one in tiles.programs()]
    choice = [f"{qualifiers}{tiles.choice}"] if tiles.choice else []
    return InlinedText("\n".join([*functions, *choice]), tuple(helpers_of(texts)))


def inlined_texts(sources: Iterable[InlinedSource]) -> InlinedText:
    """The same of several."""
    found = [inlined_text(one) for one in sources]
    return InlinedText("\n".join(one.text for one in found), tuple(helper for one in found for helper in one.helpers))


def _tiles(source: KernelSource) -> Programs:
    assert isinstance(source.content, Programs)
    return source.content
