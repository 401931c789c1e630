"""Keys that masks let a tile of rows see: from the first to the last block of keys that some row of it needs.

Where a mask bounds keys by the position of a row alone, as a causal one does, blocks of keys that no row of a tile sees are left
out: the loop over keys runs from the first needed block to the last. Rows that see no key keep one block.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.graph.expressions.index import Index
from tilewright.graph.types import AxisKind, Chain
from tilewright.plan.chains import derived_once
from tilewright.plan.regions.masks import Limit, key_mask_of
from tilewright.records import record

MOST_ROWS = 1 << 21
"""Of which blocks are counted one by one."""


@record
class TileDomain:
    """The axis of keys, that of rows, and the limits, each of these axes alone; all operators that have the axis of keys."""

    axis: str
    row: str
    limits: tuple[Limit, ...]
    operators: frozenset[str]

    def keys(self, first_row: Any, last_row: Any, extent: int, tile: int) -> tuple[Any, Any]:
        """(first, number) of the keys of blocks of rows from the first to the last one, in whole tiles but for the last tile.

        >>> from tilewright.graph.expressions.conditions import Constraint
        >>> from tilewright.graph.expressions.index import axis
        >>> causal = TileDomain("l", "m", (Limit(Constraint(axis("m") - axis("l"))),), frozenset())
        >>> [causal.keys(first, first + 31, 200, 64) for first in (0, 64, 192)]
        [(0, 64), (0, 128), (0, 200)]
        """
        first: Any = 0 * first_row
        stop: Any = extent + 0 * first_row
        for limit in self.limits:
            key, rest = limit.index.coefficient(self.axis), self._most(limit.index, first_row, last_row)
            if key < 0:
                stop = np.minimum(stop, rest // -key + 1)
            else:
                first = np.maximum(first, -(rest // key))
        first = np.minimum(np.maximum(first, 0), extent - 1) // tile * tile
        count = np.maximum(-(-(stop - first) // tile) * tile, tile)
        count = np.minimum(count, extent - first)
        return (first, count) if isinstance(first_row, np.ndarray) else (int(first), int(count))

    def _most(self, index: Index, first_row: Any, last_row: Any) -> Any:
        """The largest value of a limit without its term of the keys."""
        slope = index.coefficient(self.row)
        return index.constant + slope * (last_row if slope > 0 else first_row)


@derived_once
def tile_domain(chain: Chain) -> TileDomain | None:
    """Where masks bound keys by positions alone; None elsewhere."""
    key_mask = key_mask_of(chain)
    if key_mask is None or not isinstance(chain.extents[key_mask.axis], int):
        return None
    limits = tuple(limit for limit in key_mask.limits if limit.access is None and not limit.constraint.data)
    rows = {axis for limit in limits for axis in limit.index.axes()} - {key_mask.axis}
    is_plain = all(index_is_linear(limit.index) for limit in limits)
    if len(rows) != 1 or not is_plain or any(read.guard for op in chain.operators for read in op.reads):
        return None
    (row,) = rows
    extent = chain.extents[row]
    kinds = {axis.kind for operator in chain.operators for axis in operator.axes if axis.name == row}
    if not isinstance(extent, int) or extent > MOST_ROWS or kinds != {AxisKind.PARALLEL}:
        return None
    return TileDomain(key_mask.axis, row, limits, key_mask.operators)


def index_is_linear(index: Index) -> bool:
    """Whether only axes stand in it, and no extents or divisions."""
    return index.is_affine() and not index.extents()
