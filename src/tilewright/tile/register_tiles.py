"""What register tiles add up, on NumPy arrays of their rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tilewright.errors import InternalError
from tilewright.tile.lanes import flushed, flushed_step, whole_group
from tilewright.tile.operations import TileOperation
from tilewright.tile.rounding import Array, fma
from tilewright.tile.types import Type


def sums_of(operation: TileOperation, tile: Type, left: Type) -> Callable[[Array, Array, Array], Array]:
    """What makes new sums of the factors and the sums before."""
    return _outer if operation is TileOperation.OUTER else partial(_product, tile.bits // left.bits)


def _outer(left: Array, right: Array, sums: Array) -> Array:
    return fma(*np.broadcast_arrays(left[:, None], right, sums))


def _product(group: int, left: Array, right: Array, sums: Array) -> Array:
    """Of groups of steps. The extents of all three tiles have to fit together: processors fault elsewhere."""
    (rows, lanes), groups = sums.shape, len(right)
    if left.shape != (rows, groups * group) or right.shape != (groups, lanes * group):
        raise InternalError(f"tiles of {left.shape} and {right.shape} are not multiplied into one of {sums.shape}")
    columns = right.reshape(groups, lanes, group).swapaxes(0, 1)
    if sums.dtype == np.float32:
        return _pair_sums(left.reshape(rows, 1, groups, group), columns, sums)
    return whole_group(left[:, None], columns.reshape(lanes, -1), sums)


def _pair_sums(left: Array, right: Array, sums: Array) -> Array:
    """Even and odd steps of bfloat16 apart, then both together."""
    apart = np.zeros((*sums.shape, 2), np.float32)
    for number in range(right.shape[1]):
        apart = flushed_step(left[:, :, number], right[:, number], apart)
    return flushed(flushed(sums) + flushed(apart[..., 0] + apart[..., 1]))
