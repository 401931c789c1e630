"""Sources of micro kernels as compilers and assemblers take them."""

from __future__ import annotations

from functools import lru_cache

from tilewright.errors import UnsupportedOperation
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.tile_sources import ProductSource
from tilewright.render.assembly.function import assembly, unit

MOST_REMEMBERED = 1024
"""Texts of 2 to 8 kB."""


@lru_cache(maxsize=MOST_REMEMBERED)
def rendered(source: KernelSource) -> KernelSource:
    """A source as text: of a tile program assembly, or C where registers do not hold what it computes."""
    if source.kind is not SourceKind.TILE:
        return source
    tile = source.content
    assert isinstance(tile, ProductSource)
    try:
        return KernelSource(SourceKind.ASSEMBLY, unit([assembly(tile.program(), tile.dialect)]), joins=True)
    except UnsupportedOperation:
        return tile.otherwise()
