"""Perfect affine loop nests: tiled loops in any order around single accesses of arrays."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.graph.expressions.extents import planned_extent
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.index import axis as index_of
from tilewright.graph.types import Access, Chain, Graph, Operator
from tilewright.records import record

Values: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Range: TypeAlias = tuple[int, int]
"""The first and the last iteration of a loop, inclusive."""


@record
class TileLoop:
    """A loop over tiles of `tile` consecutive values of an axis, within the tile of the next loop around it of the same axis."""

    axis: str
    tile: int


@dataclass(frozen=True)
class Nest:
    """Loops, outermost first, around one statement. Every axis runs from 0 to its extent - 1, in tiles that need not divide it.

    The innermost loop of an axis has tile 1. Elements outside of an array (the padding of a convolution) are not touched.
    """

    extents: Mapping[str, int]
    loops: tuple[TileLoop, ...]
    accesses: tuple[Access, ...]
    shapes: Mapping[str, tuple[int, ...]]
    _known: dict[Hashable, Values] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Values of axes and elements of dimensions, by the ranges that they are of: boxes have most ranges in common."""

    def __post_init__(self) -> None:
        for axis in self.extents:
            tiles = [loop.tile for loop in self.loops if loop.axis == axis]
            if not tiles or tiles[-1] != 1 or sorted(tiles, reverse=True) != tiles:
                raise ValueError(f"the loops of axis {axis} have tiles {tiles}; they must shrink to 1")
        for access in self.accesses:
            _check_product_form(access)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The iterations of every loop; the last tile may be cut, and inner loops then have fewer."""
        return tuple(-(-around // loop.tile) for around, loop in zip(self.around, self.loops, strict=True))

    @cached_property
    def around(self) -> tuple[int, ...]:
        """By loop, the number of values that it covers: the tile around it, or the extent of its axis."""
        current, found = dict(self.extents), []
        for loop in self.loops:
            found.append(current[loop.axis])
            current[loop.axis] = loop.tile
        return tuple(found)

    @cached_property
    def positions(self) -> dict[str, tuple[int, ...]]:
        """By axis its loops, outermost first."""
        return {axis: tuple(at for at, loop in enumerate(self.loops) if loop.axis == axis) for axis in self.extents}

    def has_iterations(self, box: Sequence[Range]) -> bool:
        """Whether every axis has a value within a range for every loop."""
        return all(self._values(axis, box).size for axis in self.extents)

    def elements(self, access: Access, dimension: int, box: Sequence[Range]) -> Values:
        """The elements of a dimension, without order, that an access touches within a box; some more than once."""
        index = access.indices[dimension]
        ranges = tuple(box[at] for axis in index.axes() for at in self.positions[axis])
        key = access.tensor, dimension, index, ranges
        if key not in self._known:
            values = {axis: self._values(axis, box) for axis in index.axes()}
            self._known[key] = index_values(index, values, self.shapes[access.tensor][dimension])
        return self._known[key]

    def _values(self, axis: str, box: Sequence[Range]) -> Values:
        key = axis, tuple(box[at] for at in self.positions[axis])
        if key not in self._known:
            self._known[key] = self.axis_values(*key)
        return self._known[key]

    def axis_values(self, axis: str, ranges: Sequence[Range]) -> Values:
        """The values that an axis takes, without order, while each of its loops (outermost first) runs over a range.

        >>> loops = (TileLoop("m", 4), TileLoop("m", 1))
        >>> nest = Nest({"m": 6}, loops, (), {})
        >>> nest.axis_values("m", ((0, 1), (1, 3)))  # the second tile has two values
        array([1, 2, 3, 5])
        """
        found = np.zeros(1, np.int64)
        for at, (first, last) in reversed(list(zip(self.positions[axis], ranges, strict=True))):
            starts = np.arange(first, last + 1, dtype=np.int64) * self.loops[at].tile
            found = np.add.outer(starts, found).ravel()
            found = found[found < self.around[at]]
        return found


def _check_product_form(access: Access) -> None:
    """Refuse accesses whose elements are no product of one set per dimension."""
    axes = [name for index in access.indices for name in index.axes()]
    if access.lookups or len(axes) != len(set(axes)) or not all(index.is_affine() for index in access.indices):
        raise UnsupportedOperation(
            f"working sets of {access.tensor}[{', '.join(map(str, access.indices))}]",
            why="they are counted dimension by dimension: indices must be affine, and no axis may be in two of them",
            hint="rank such chains by their price",
        )


def nest_of(graph: Graph | Chain, operator: Operator, loops: Sequence[TileLoop]) -> Nest:
    """An operator under some loops; inside them, its axes run one by one in the operator's order.

    >>> matrix_product(3, 4, 5).counts
    (3, 4, 5)
    """
    extents = {axis.name: planned_extent(axis.extent) for axis in operator.axes}
    inner = (TileLoop(name, 1) for name in extents if not any(loop.axis == name and loop.tile == 1 for loop in loops))
    accesses = (*operator.reads, operator.write)
    shapes = {access.tensor: tuple(map(planned_extent, graph.tensor(access.tensor).shape)) for access in accesses}
    return Nest(extents, (*loops, *inner), accesses, shapes)


def matrix_product(m: int, n: int, k: int, loops: tuple[TileLoop, ...] | None = None) -> Nest:
    """C[i][j] += A[i][k] B[k][j], loops i, j, k unless others are given: the running example of PolyDL (Figure 2).

    >>> from tilewright.tune.working_sets.features import dependences
    >>> [f"{found.array} by {nest.loops[found.loop].axis}" for nest in [matrix_product(3, 4, 5)] for found in dependences(nest)]
    ['A by j', 'B by i', 'C by k']
    """
    i, j, l = map(index_of, "ijk")  # noqa: E741 the third index is k
    a, b, c = Access("A", (i, l)), Access("B", (l, j)), Access("C", (i, j))
    chosen = loops or (TileLoop("i", 1), TileLoop("j", 1), TileLoop("k", 1))
    return Nest({"i": m, "j": n, "k": k}, chosen, (a, b, c), {"A": (m, k), "B": (k, n), "C": (m, n)})


def index_values(index: Index, values: Mapping[str, Values], size: int) -> Values:
    """The elements of a dimension, without order, for all values of the axes of its index; some more than once."""
    found = np.full(1, index.constant, np.int64)
    for name in index.axes():
        found = np.add.outer(found, values[name] * index.coefficient(name)).ravel()
    return found[(found >= 0) & (found < size)]
