"""Sizes of tiles: powers of two that hold the blocks of every axis, and the roles of axes in matrix products."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilewright.block.memory import Gather, Range, View
from tilewright.block.program import Region
from tilewright.block.statements import For, Leaf
from tilewright.graph.exactness import BYTES, HALVES
from tilewright.records import record
from tilewright.render.triton.refusals import refused
from tilewright.render.triton.tiles import Dim

LEAST_SIDE = 16
"""Rows and columns of a tile of a matrix product."""
LEAST_DEPTH: Mapping[str, int] = {"int8": 32, "uint8": 32}
"""Steps of the depth by element type, where they are not `LEAST_SIDE`: what `tl.dot` takes (`min_dot_size` of Triton 3.9.0)."""


@record
class ProductRoles:
    """How a leaf is C[row, column] += A[row, depth] B[depth, column]; `left` and `right` are the numbers of its reads."""

    left: int
    right: int
    row: str
    column: str
    depth: str


def roles_of(leaf: Leaf) -> ProductRoles | None:
    """The roles that a binding names, or else those that blocks of several points have; None where there are none."""
    if not leaf.operator.is_product_sum():
        return None
    named = dict(leaf.leaf.axes)
    row, column, depth = (named.get(role) for role in ("row", "column", "depth"))
    if row is None or column is None or depth is None:
        return _roles_of_blocks(leaf)
    first, second = (axes_of(read) for read in leaf.reads)
    if row in first and column in second:
        return ProductRoles(0, 1, row, column, depth)
    return ProductRoles(1, 0, row, column, depth) if row in second and column in first else None


def _roles_of_blocks(leaf: Leaf) -> ProductRoles | None:
    reduced = {axis.name for axis in leaf.operator.reduction_axes()}
    blocks = [axis for axis, span in leaf.box if not (isinstance(span.capacity, int) and span.capacity <= 1)]
    first, second = (axes_of(read) for read in leaf.reads)
    depths = [axis for axis in blocks if axis in reduced and axis in first & second]
    rows = [axis for axis in blocks if axis not in reduced and axis in first - second]
    columns = [axis for axis in blocks if axis not in reduced and axis in second - first]
    if not len(depths) == len(rows) == len(columns) == 1:
        return None
    return ProductRoles(0, 1, rows[0], columns[0], depths[0])


def axes_of(place: View | Gather) -> frozenset[str]:
    """The axes along which the elements of an operand differ."""
    if isinstance(place, View):
        return frozenset(axis for axis, stride in place.strides if stride != 0)
    guarded = place.guard.axes() if place.guard is not None else frozenset()
    return guarded.union(*(index.axes() for index in place.indices))


class TileSizes:
    """The size of the tile of every block of a region."""

    def __init__(self, region: Region) -> None:
        self._tiles: dict[tuple[str, Range], int] = {}
        self._least: dict[str, int] = {}
        for node in region.nodes():
            match node:
                case For():
                    self._tiles[node.axis, node.block] = node.tile
                case Leaf():
                    self._product(node)

    def dim(self, axis: str, span: Range) -> Dim:
        """The dimension of a block; of size 1 where the block is a point."""
        points = self._tiles.get((axis, span), span.capacity)
        if not isinstance(points, int):
            raise refused(f"blocks of {axis}", "their size is known at run time only")
        return Dim(axis, max(power_of_two(points), self._least.get(axis, 1)))

    def dims(self, box: Iterable[tuple[str, Range]], axes: Iterable[str]) -> tuple[Dim, ...]:
        """The dimensions of several points that a box has along some axes, in its order."""
        wanted = set(axes)
        found = (self.dim(axis, span) for axis, span in box if axis in wanted)
        return tuple(dim for dim in found if dim.size > 1)

    def _product(self, leaf: Leaf) -> None:
        roles = roles_of(leaf)
        if roles is None:
            return
        element_type = product_type(leaf.reads[roles.left].dtype, leaf.reads[roles.right].dtype)
        sides = ((roles.row, LEAST_SIDE), (roles.column, LEAST_SIDE), (roles.depth, LEAST_DEPTH.get(element_type, LEAST_SIDE)))
        for axis, least in sides:
            self._least[axis] = max(self._least.get(axis, 1), least)


def product_type(left: str, right: str) -> str:
    """The type in which two operands are multiplied: a type of 16 bits where one of them has it.

    >>> product_type("float32", "float16"), product_type("int8", "int8"), product_type("float32", "float32")
    ('float16', 'int8', 'float32')
    """
    halves = [dtype for dtype in (right, left) if dtype in HALVES]
    if halves:
        return halves[0]
    return left if left == right and left in BYTES else "float32"


def power_of_two(points: int) -> int:
    """The least power of two that is not below.

    >>> [power_of_two(points) for points in (0, 1, 2, 3, 16, 17)]
    [1, 1, 2, 4, 16, 32]
    """
    return 1 << max(points - 1, 0).bit_length()
