"""C text of leaves: of their tile programs, inlined where they are called, and of those that lower to C themselves."""

from __future__ import annotations

from functools import lru_cache

from tilewright.block.program import Region
from tilewright.block.statements import Fill, Leaf, Statement, Transfer, VectorLoops
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import Literal
from tilewright.graph.types import Access, Axis, Operator
from tilewright.leaves.declaration import Lowered, LoweredTile
from tilewright.leaves.registry import copied, lowered
from tilewright.records import record
from tilewright.render.c.inlined_tiles import called, inlined
from tilewright.tile.dialects.description import Dialect


@record
class LeafText(Statement):
    """A leaf as text."""

    note: str
    """For readers."""
    lowered: Lowered
    streams: bool = False
    """Whether it stores past the caches."""


def with_leaf_texts(region: Region, dialect: Dialect) -> Region:
    """The region with text in the place of leaves."""
    return region.mapped(lambda node: (_with_text(node, dialect),))


def leaf_text(leaf: Leaf | Transfer, dialect: Dialect) -> Lowered:
    """The text of a leaf, or of a copy."""
    if isinstance(leaf, Transfer):
        return _copy_text(leaf, dialect)
    found = lowered(leaf)
    if not isinstance(found, LoweredTile):
        return found
    return called(found) if found.function else inlined(found.for_dialect(dialect), dialect)


def tile_of(leaf: Leaf | Transfer, dialect: Dialect) -> LoweredTile | None:
    """The tile program of a leaf, or of a copy; None of those that lower to C themselves."""
    found = copied(leaf, dialect.vector_bits) if isinstance(leaf, Transfer) else lowered(leaf)
    return found.for_dialect(dialect) if isinstance(found, LoweredTile) else None


@lru_cache(256)
def _copy_text(copy: Transfer, dialect: Dialect) -> Lowered:
    return inlined(copied(copy, dialect.vector_bits), dialect)


def _with_text(node: Statement, dialect: Dialect) -> Statement:
    match node:
        case Fill():
            return LeafText(node.note, leaf_text(filling(node, dialect.lanes("float32")), dialect))
        case Transfer():
            return LeafText("", leaf_text(node, dialect))
        case Leaf():
            streams = node.epilogue is not None and node.epilogue.non_temporal
            return LeafText(node.note, leaf_text(node, dialect), streams)
        case _:
            return node


def filling(fill: Fill, lanes: int) -> VectorLoops:
    """The loops that give the elements of a box a value, in vectors of so many float32."""
    axes = tuple(axis for axis, _ in fill.box)
    write = Access("", tuple(map(axis_index, axes)))
    operator = Operator("", "fill", tuple(Axis(axis, 1) for axis in axes), (), write, Literal(fill.value))
    along = axes[-1] if axes else None
    return VectorLoops(fill.leaf, operator, fill.box, (), fill.target, vector_axis=along, lanes=lanes)
