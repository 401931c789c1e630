"""Composition of accesses: what a consumer reads when it computes an element of a map's result by itself."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.graph.index import Index
from tilewright.graph.types import Access, Operator, SymbolicExtent


def consumer_positions(producer: Operator, access: Access) -> dict[str, Index]:
    """Where each axis of `producer`, whose write is a permutation, stands when a consumer reads its result by `access`."""
    pairs = zip(producer.write.indices, access.indices, strict=True)
    return {str(written): read for written, read in pairs if written.is_axis()}


def largest_extents(operator: Operator) -> dict[str, int]:
    """The extent of every axis of an operator, symbolic ones at their highest: what simplification may rely on."""
    return {a.name: a.extent.high if isinstance(a.extent, SymbolicExtent) else a.extent for a in operator.axes}


def composed(source: Access, positions: Mapping[str, Index], extents: Mapping[str, int]) -> Access:
    """An unguarded read of the producer in terms of the consumer's axes.

    >>> from tilewright.graph.index import axis
    >>> str(composed(Access("x", (axis("i") * 2,)), {"i": axis("m") + 1}, {"m": 8}).indices[0])
    '2*m + 2'
    """
    return Access(source.tensor, tuple(index.substitute(positions, extents) for index in source.indices))
