"""Padding by a constant: a dimension continued, or cut, at its ends."""

from __future__ import annotations

from tilewright.errors import ShapeError, Undecided
from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.extents import cuts_between, least_extent, plus
from tilewright.graph.index import Index, of_extent
from tilewright.graph.scalar import Load
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Access, Extent, Guard, Operator, Tensor

Pads = tuple[tuple[int, int], ...]
"""Per dimension: elements before and behind; negative ones are cut off."""


def pad(x: Tensor, pads: Pads, value: float, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """`x` with `value` around it; an extent known at run time is at least 1, and so is what is left of it.

    >>> operator, tensor = pad(Tensor("x", (4, 5)), ((1, 1), (0, -2)), 0.0, name="pad", result="y")
    >>> tensor.shape, [str(constraint) for constraint in operator.reads[0].guard.constraints]
    ((6, 3), ['d0 + -1', '-1*d0 + 4'])
    """
    shape = tuple(_padded(extent, *pad, x) for extent, pad in zip(x.shape, pads, strict=True))
    indices = tuple(index - before for index, (before, _) in zip(points(len(shape)), pads, strict=True))
    limits: list[Index] = []
    for index, extent, (before, behind) in zip(indices, x.shape, pads, strict=True):
        limits += [index] if before > 0 else []
        limits += [of_extent(extent) - 1 - index] if behind > 0 else []
    read = Access(x.name, indices, Guard(tuple(limits), value) if limits else None)
    return map_of("pad", shape, [read], Load(0), x.dtype, name, result)


def _padded(extent: Extent, before: int, behind: int, x: Tensor) -> Extent:
    if before == behind == 0:
        return extent
    if not isinstance(extent, int):
        for length in (extent, plus(extent, before, behind)):
            if least_extent(length) < 1:
                raise Undecided(f"padding of {extent} elements").with_cuts(cuts_between(length, 0, "<="))
    elif extent + before + behind < 0:
        raise ShapeError(f"padding ({before}, {behind}) of a dimension of {extent}", where=f"pad of {shape_text(x.shape)}")
    return plus(extent, before, behind)
