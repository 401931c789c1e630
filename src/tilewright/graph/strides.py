"""How accesses walk through row-major tensors, at sizes of axes that may be arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tilewright.arrays import Count, largest
from tilewright.graph.types import Access, Extent, planned_extent


def memory_stride(access: Access, axis: str, shape: Sequence[Extent]) -> int:
    """How many elements apart neighbours along an axis lie in a row-major tensor of this shape, as far as it is planned."""
    extents = [planned_extent(extent) for extent in shape]
    return sum(index.coefficient(axis) * prod(extents[d + 1 :]) for d, index in enumerate(access.indices))


def has_windows(access: Access, column: str | None, sizes: Mapping[str, Count]) -> bool:
    """Whether overlapping windows move over the columns of a right operand: another axis moves by less than they reach."""
    moves = (index for index in access.indices if column is not None and column in index.axes())
    steps = [abs(step) for index in moves for atom, step in index.terms if atom != column]
    return column is not None and any(step < largest(sizes[column]) for step in steps)


def is_contiguous(access: Access, axis: str | None, sizes: Mapping[str, Count]) -> bool:
    """Whether neighbours along an axis lie side by side in a row-major tensor: behind it are dimensions of one element only.

    >>> from tilewright.graph.expressions.index import axis
    >>> vector = Access("y", (axis("k"), axis("n")))
    >>> is_contiguous(vector, "k", {"k": 128, "n": 1}), is_contiguous(vector, "k", {"k": 128, "n": 2})
    (True, False)
    """
    if axis is None:
        return True
    if not access.is_affine():
        return False
    for index in reversed(access.indices):
        if index.coefficient(axis):
            return index.coefficient(axis) == 1
        if any(largest(sizes[name]) != 1 for name in index.axes()):
            return False
    return False
