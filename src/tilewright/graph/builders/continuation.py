"""Dimensions continued by their own elements: the last ones, mirrored or periodic, as concatenations of slices.

    edge:     x[min(max(i, 0), n - 1)]
    wrap:     x[i mod n]
    reflect:  x[n - 1 - |n - 1 - (i mod (2 n - 2))|]

Each is some pieces along the axis, in which the index is affine. Along an axis whose extent is known at run time, elements are
gathered at computed positions.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import concatenated
from tilewright.graph.builders.elementwise import arange, broadcast, held_positions
from tilewright.graph.builders.reshape import gather
from tilewright.graph.expressions.extents import Extent, least_extent, minus, plus, times
from tilewright.graph.expressions.scalar import apply, scalar_of
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Operator, Tensor


def continued(builder: Builder, x: Tensor, axis: int, before: int, behind: int, mode: str) -> Tensor:
    """One axis continued in a mode, "edge", "wrap" or "reflect"; negative numbers before and behind are cut off first.

    Raises `UnsupportedOperation` for many pieces that step one way each, and for an extent that is known at run time where it is
    cut, wrapped, or may be no longer than what is mirrored.
    """
    extent = x.shape[axis]
    if before == behind == 0:
        return x
    if not isinstance(extent, int):
        return _gathered(builder, x, axis, before, behind, mode)
    first, last = max(0, -before), extent - max(0, -behind)
    runs = _runs(last - first, max(0, before), max(0, behind), mode)
    if last <= first or len(runs) > 8:
        raise UnsupportedOperation(f"Pad by ({before}, {behind}) of a dimension of {extent} in {len(runs)} pieces")
    parts = [_run(builder, x, axis, first + start, count, step) for start, count, step in runs]
    return concatenated(builder, parts, axis)


def _gathered(builder: Builder, x: Tensor, axis: int, before: int, behind: int, mode: str) -> Tensor:
    """An axis of an extent that is known at run time."""
    extent = x.shape[axis]
    reach = max(before, behind) if mode == "reflect" else 0
    if mode == "wrap" or min(before, behind) < 0 or least_extent(extent) <= reach:
        raise UnsupportedOperation(f"padding of {extent}, which is known at run time", where=f"Pad of {shape_text(x.shape)}")
    places = held_positions if mode == "edge" else _mirrored_positions
    positions = builder.record(places, plus(extent, before, behind), before, extent, kind="positions")
    return builder.record(gather, x, positions, axis, kind="continued")


def _mirrored_positions(extent: Extent, begin: Extent, length: Extent, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Where `extent` positions lie in a part of `length` that begins at `begin` and is mirrored at its ends."""
    operator, tensor = arange(extent, 0, 1, "int64", name=name, result=result)
    ahead = apply("abs", apply("subtract", operator.body, scalar_of(begin)))
    body = apply("minimum", ahead, apply("subtract", scalar_of(times(minus(length, 1), 2)), ahead))
    return Operator(name, "positions", operator.axes, (), operator.write, body, accumulator="int64"), tensor


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
