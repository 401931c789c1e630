"""Positions along axes: the point of a block, or a vector of its points, and the mask of those that exist."""

from __future__ import annotations

from tilewright.block.integers import IntegerExpression, Variable
from tilewright.block.memory import Range
from tilewright.block.program import Region
from tilewright.block.statements import For
from tilewright.records import record
from tilewright.render.triton.scopes import Scopes
from tilewright.render.triton.sizes import TileSizes
from tilewright.render.triton.tiles import Dim, Tile


@record
class Position:
    """Where a block is: a vector for a tile with this dimension, else a number; the mask is None where all points exist."""

    tile: Tile
    mask: Tile | None
    level: int
    """Of the scope that has it."""
    start: IntegerExpression
    """The first point."""

    @property
    def dim(self) -> Dim | None:
        """The dimension of a vector."""
        return self.tile.dims[0] if self.tile.dims else None


class Positions:
    """The positions of blocks, written where they are first asked for."""

    def __init__(self, region: Region, scopes: Scopes) -> None:
        self.scopes, self.sizes = scopes, TileSizes(region)
        self._loops = {(node.axis, node.block): node for node in region.nodes() if isinstance(node, For)}
        self._known: dict[tuple[str, Range], Position] = {}

    def of(self, axis: str, span: Range) -> Position:
        """The position along an axis in its current block."""
        found = self._known.get((axis, span))
        if found is None:
            found = self._known[axis, span] = self._written(axis, span)
        return found

    def forget(self, level: int) -> None:
        """A scope is closed: what was written in it is not there any more."""
        self._known = {key: position for key, position in self._known.items() if position.level < level}

    def _written(self, axis: str, span: Range) -> Position:
        level, dim = self.scopes.home((span.start, span.size)), self.sizes.dim(axis, span)
        start = self.scopes.text(span.start)
        if dim.size == 1:
            return Position(Tile(start, dtype="int32"), None, level, span.start)
        name = self.scopes.fresh(axis)
        ahead = "" if start == "0" else f"{start} + "
        self.scopes.put(f"{name} = {ahead}tl.arange(0, {dim.size})", level)
        return Position(Tile(name, (dim,), "int32"), self._mask(name, span, dim, level), level, span.start)

    def _mask(self, name: str, span: Range, dim: Dim, level: int) -> Tile | None:
        """Of the points of a tile that lie in the block."""
        loop = self._loops.get((dim.axis, span))
        whole_tiles = loop is None or loop.tile == dim.size
        if span.size == dim.size:
            return None
        stop = loop.whole.stop if loop is not None and whole_tiles and isinstance(span.size, Variable) else span.stop
        mask = self.scopes.fresh(f"{name}_in")
        self.scopes.put(f"{mask} = {name} < {self.scopes.text(stop)}", level)
        return Tile(mask, (dim,), "bool")
