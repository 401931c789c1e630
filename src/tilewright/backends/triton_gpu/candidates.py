"""The candidates of a kernel: every tile of every axis with every number of warps and stages, as arrays of equal length.

Tiles are powers of two, as `tl.arange` takes them, and at least 16 along rows and columns of products.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tilewright.backends.triton_gpu.operands import LEAST_DEPTH, Operands
from tilewright.backends.triton_gpu.skeleton import Skeleton
from tilewright.records import record

LEAST_SIDE = 16
MOST_SIDE = 256
MOST_WHOLE = 32768
"""Of an axis of which a tile has all."""
WARPS = (1, 2, 4, 8)
MOST_WARPS = 32
"""Of kernels without products: rows of 32768 elements are 32 registers of each of their threads."""
STAGES = (2, 3, 4, 5)
MOST_ELEMENTS = 1 << 15
"""Of a tile of a kernel without products."""


@record(eq=False)
class Candidates:
    """Tiles by axis, warps of a block and stages of the pipeline; an element of each array for each candidate."""

    tiles: Mapping[str, np.ndarray]
    warps: np.ndarray
    stages: np.ndarray

    def where(self, keep: np.ndarray) -> Candidates:
        """Those of a mask."""
        return Candidates({axis: tile[keep] for axis, tile in self.tiles.items()}, self.warps[keep], self.stages[keep])


def power_of_two(extent: int, least: int = 1) -> int:
    """The smallest power of two that is not less.

    >>> [power_of_two(extent, 16) for extent in (1, 16, 17, 100)]
    [16, 16, 32, 128]
    """
    return max(least, 1 << max(extent - 1, 0).bit_length())


def enumerated(skeleton: Skeleton, extents: Mapping[str, int], operands: Sequence[Operands]) -> Candidates:
    """All candidates of a kernel, whether they fit or not, but for those whose warps have no rows."""
    if not operands:
        return _of_elements(skeleton, extents)
    sides = {axis: list(_sides(skeleton, axis, extents[axis], operands[0])) for axis in skeleton.tiled}
    found = _all(sides, WARPS, STAGES)
    return found.where(_has_work(skeleton, found))


def _all(sides: Mapping[str, Sequence[int]], warps: Sequence[int], stages: Sequence[int]) -> Candidates:
    grid = np.meshgrid(*(np.array(side, float) for side in (*sides.values(), warps, stages)), indexing="ij")
    *tiles, warp, stage = (axis.ravel() for axis in grid)
    return Candidates(dict(zip(sides, tiles, strict=True)), warp, stage)


def _sides(skeleton: Skeleton, axis: str, extent: int, first: Operands) -> Iterator[int]:
    """The tiles of one axis."""
    roles = skeleton.roles
    is_depth = axis == roles.products[0].depth
    least = max(LEAST_SIDE, LEAST_DEPTH.get(first.dtype, 0)) if is_depth or axis == roles.fused else LEAST_SIDE
    whole = power_of_two(extent, least)
    if axis in roles.whole or (is_depth and skeleton.is_whole):
        yield from (whole,) if whole <= MOST_WHOLE else ()
        return
    # a depth in one tile is `is_whole`, but for taps, which are loops around it
    last = whole if not is_depth or roles.products[0].taps else whole // 2
    yield from (side for side in _powers(least, MOST_SIDE) if side <= last)


def _powers(least: int, most: int) -> Iterator[int]:
    side = least
    while side <= most:
        yield side
        side *= 2


def _has_work(skeleton: Skeleton, found: Candidates) -> np.ndarray:
    """Whether every warp has rows of 16, and then columns of 8, of the instruction's tile.

    The warps of two products stand along rows, so that what the first one makes stays in registers.
    """
    roles = skeleton.roles
    rows, columns = (found.tiles[axis] for axis in (roles.row, roles.column))
    if len(roles.products) > 1:
        return np.asarray(rows // 16 >= found.warps)
    along_columns = found.warps // np.minimum(found.warps, rows // 16)
    return np.asarray(columns // 8 >= along_columns)


def _of_elements(skeleton: Skeleton, extents: Mapping[str, int]) -> Candidates:
    """Tiles of rows and columns of a kernel without products."""
    roles = skeleton.roles
    sides: dict[str, list[int]] = {}
    for axis in skeleton.tiled:
        whole = power_of_two(extents[axis])
        most = MOST_WHOLE if axis == roles.column else MOST_SIDE
        powers = [side for side in _powers(1, most) if side <= whole]
        sides[axis] = [side for side in [whole] if side <= MOST_WHOLE] if axis in roles.whole else powers
    found = _all(sides, (*WARPS, 16, MOST_WARPS), (1,))
    elements = np.ones_like(found.warps)
    for tile in found.tiles.values():
        elements = elements * tile
    return found.where(elements <= MOST_ELEMENTS)
