"""Pairs of a row and a key that blocks of rows compute of a masked chain, and how many of them a mask touches.

Of a masked chain generated code bounds the pairs of a row and a key. A block of rows computes the keys from its first to its
last, counted as `lower.iteration_domains` counts them: the first rounded down to panels, their number up to half a panel.
Of these a mask touches what lies outside the keys that all rows of the block need. Limits by values of the data are not known
here, those by run-time extents are taken at their hints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from tilewright.arrays import Count, Quantity, product
from tilewright.graph.expressions.scalar import Parameter
from tilewright.graph.types import Chain, SymbolicExtent
from tilewright.plan.chains import derived_once
from tilewright.plan.regions.masks import LANES, KeyMask, Limit, key_mask_of
from tilewright.plan.schedule import planned_sizes

Rows = Sequence[Count]
"""Along every row axis: one row of every block."""


@derived_once
def share_of_pairs(chain: Chain, tiles: tuple[int, ...], align: int, step: int) -> tuple[float, float]:
    """(computed, masked) of all pairs, in blocks of so many rows along each row axis of the masks."""
    rows, first, stop, plain = block_keys(chain, tiles, align, step)
    key_mask, sizes = key_mask_of(chain), planned_sizes(chain)
    assert key_mask is not None
    pairs = prod(sizes[axis] for axis in (*key_mask.row_axes, key_mask.axis))
    computed = int(np.sum(rows * (stop - first)))
    return computed / pairs, (computed - int(np.sum(rows * plain))) / pairs


def block_keys(chain: Chain, tiles: tuple[int, ...], align: int, step: int) -> tuple[np.ndarray, ...]:
    """(number of rows, first key, the one behind the last, how many of them all rows need) of every block of rows."""
    key_mask, sizes = key_mask_of(chain), planned_sizes(chain)
    assert key_mask is not None
    starts, ends = _blocks([sizes[axis] for axis in key_mask.row_axes], tiles)
    box = dict(zip(key_mask.row_axes, zip(starts, ends, strict=True), strict=True))
    rows = product(end - start + 1 for start, end in box.values())
    return tuple(np.broadcast_arrays(np.atleast_1d(rows), *_keys(chain, key_mask, box, align, step)))


def shares_of_pairs(chain: Chain, align: int, step: int, *tiles: Count) -> tuple[Quantity, Quantity]:
    """The same for tiles that may be arrays: a table by tiles, which no formula gives."""
    if not tiles or all(np.ndim(tile) == 0 for tile in tiles):
        return share_of_pairs(chain, tuple(int(tile) for tile in tiles), align, step)
    together = np.broadcast_arrays(*tiles)
    unlike, places = np.unique(np.stack([array.ravel() for array in together]), axis=1, return_inverse=True)
    shares = [share_of_pairs(chain, tuple(map(int, column)), align, step) for column in unlike.T]
    found = np.array(shares)[places.ravel()].reshape((*together[0].shape, 2))
    return found[..., 0], found[..., 1]


def _blocks(extents: Sequence[int], tiles: Sequence[int]) -> tuple[Rows, Rows]:
    """The first and the last row of every block, along every row axis."""
    along = [np.arange(0, extent, tile) for extent, tile in zip(extents, tiles, strict=True)]
    starts = [grid.ravel() for grid in np.meshgrid(*along, indexing="ij")]
    sizes = zip(starts, tiles, extents, strict=True)
    return starts, [np.minimum(start + tile, extent) - 1 for start, tile, extent in sizes]


def _keys(chain: Chain, key_mask: KeyMask, box: Mapping[str, tuple[Count, Count]], align: int, step: int) -> tuple[Count, ...]:
    """(first key, the one behind the last, how many of them all rows need) of blocks of rows."""
    size = planned_sizes(chain)[key_mask.axis]
    low, high = _bounds(chain, key_mask, box, largest=True)
    first = np.minimum(np.maximum(0, low), size - 1) // align * align
    count = np.minimum(np.maximum(-(-(high - first) // step) * step, step), size - first)
    low, high = _bounds(chain, key_mask, box, largest=False)
    plain_from = np.minimum(-(-np.maximum(0, low - first) // LANES) * LANES, count)
    plain_to = np.minimum(np.maximum(0, high - first) // LANES * LANES, count)
    return first, first + count, np.maximum(plain_to - plain_from, 0)


def _bounds(chain: Chain, key_mask: KeyMask, box: Mapping[str, tuple[Count, Count]], *, largest: bool) -> tuple[Count, Count]:
    """The first key and the one behind the last that some rows of a block need, or that all of them need."""
    low: Count = 0
    high: Count = planned_sizes(chain)[key_mask.axis]
    for limit in key_mask.limits:
        data = planned_data(chain, limit)
        if data is None:
            continue
        factor = limit.index.coefficient(key_mask.axis)
        rest: Count = limit.index.constant + data
        for atom, slope in limit.index.terms:
            if atom != key_mask.axis:
                rest = rest + slope * box[str(atom)][(slope > 0) == largest]
        if factor < 0:
            high = np.minimum(high, rest // -factor + 1)
        else:
            low = np.maximum(low, -(rest // factor))
    return low, high


def planned_data(chain: Chain, limit: Limit) -> int | None:
    """What the data adds to a limit, at the hints of run-time extents; None if it is not known before a call."""
    hints = {extent.name: extent.hint for extent in chain.extents.values() if isinstance(extent, SymbolicExtent)}
    data = limit.constraint.data
    if any(not isinstance(datum.leaf, Parameter) or datum.leaf.name not in hints for datum in data):
        return None
    return sum(datum.sign * hints[datum.leaf.name] for datum in data if isinstance(datum.leaf, Parameter))
