"""Dimensions continued by their own elements: the last ones, mirrored or periodic, as concatenations of slices.

    edge:     x[min(max(i, 0), n - 1)]
    wrap:     x[i mod n]
    reflect:  x[n - 1 - |n - 1 - (i mod (2 n - 2))|]

Each is some pieces along the axis, in which the index is affine.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import concatenated
from tilewright.graph.builders.elementwise import broadcast
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor


def continued(builder: Builder, x: Tensor, axis: int, before: int, behind: int, mode: str) -> Tensor:
    """One axis continued in a mode, "edge", "wrap" or "reflect"; negative numbers before and behind are cut off first.

    Raises `UnsupportedOperation` for an extent that is known at run time, and for many pieces that step one way each.
    """
    extent = x.shape[axis]
    if before == behind == 0:
        return x
    if not isinstance(extent, int):
        raise UnsupportedOperation(f"padding of {extent}, which is known at run time", where=f"Pad of {shape_text(x.shape)}")
    first, last = max(0, -before), extent - max(0, -behind)
    runs = _runs(last - first, max(0, before), max(0, behind), mode)
    if last <= first or len(runs) > 8:
        raise UnsupportedOperation(f"Pad by ({before}, {behind}) of a dimension of {extent} in {len(runs)} pieces")
    parts = [_run(builder, x, axis, first + start, count, step) for start, count, step in runs]
    return concatenated(builder, parts, axis)


def _run(builder: Builder, x: Tensor, axis: int, start: int, count: int, step: int) -> Tensor:
    """`count` positions from `start` on; those of step 0 are all the same."""
    if step == 0:
        slab = builder.slice(x, (slice(None),) * axis + (slice(start, start + 1),))
        return builder.record(broadcast, slab, (*x.shape[:axis], count, *x.shape[axis + 1 :]), kind="repeat")
    stop = start + step * count
    return builder.slice(x, (slice(None),) * axis + (slice(start, None if stop < 0 else stop, step),))


def _runs(extent: int, before: int, behind: int, mode: str) -> list[tuple[int, int, int]]:
    """The positions that stand side by side after padding: (start, how many, step) of runs of one step.

    >>> _runs(4, 2, 1, "reflect"), _runs(4, 2, 1, "edge"), _runs(4, 2, 1, "wrap")
    ([(2, 2, -1), (0, 4, 1), (2, 1, 1)], [(0, 2, 0), (0, 4, 1), (3, 1, 1)], [(2, 2, 1), (0, 4, 1), (0, 1, 1)])
    """
    if extent < 1:
        return []
    positions = np.pad(np.arange(extent), (before, behind), mode=mode)  # type: ignore[call-overload]
    runs = [(int(positions[0]), 1, 1)]
    for number, (old, new) in enumerate(pairwise(positions), start=1):
        start, count, step = runs[-1]
        at_end = number in (before, before + extent)
        if not at_end and (count == 1 or new - old == step) and abs(new - old) <= 1:
            runs[-1] = (start, count + 1, int(new - old))
        else:
            runs.append((int(new), 1, 1))
    return runs
