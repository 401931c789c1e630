"""Sizes of axes and trip counts of loops along a path of a schedule."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.graph.types import Chain, SymbolicExtent, planned_extent
from tilewright.plan.chain_analysis import derived_once
from tilewright.plan.schedule import Loop


@derived_once
def planned_sizes(chain: Chain) -> dict[str, int]:
    """The size of every axis to plan with: its extent, or the hint of a symbolic one; empty axes count as one point."""
    return {axis: max(planned_extent(extent), 1) for axis, extent in chain.extents.items()}


@derived_once
def largest_sizes(chain: Chain) -> dict[str, int]:
    """The largest size that every axis can have at run time."""
    return {axis: extent.high if isinstance(extent, SymbolicExtent) else extent for axis, extent in chain.extents.items()}


def trip_counts(path: tuple[Loop, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The largest number of trips of every loop of a path; a loop inside another on the same axis cuts a block of it.

    >>> inner = Loop("m", 4, ())
    >>> trip_counts((Loop("m", 10, (inner,)), inner), {"m": 25})
    (3, 3)
    """
    current = dict(sizes)
    trips = []
    for loop in path:
        trips.append(-(-current[loop.axis] // loop.tile))
        current[loop.axis] = min(current[loop.axis], loop.tile)
    return tuple(trips)


def box_sizes(path: tuple[Loop, ...], sizes: Mapping[str, int]) -> dict[str, int]:
    """The size of the largest block of every axis at the end of a path."""
    current = dict(sizes)
    for loop in path:
        current[loop.axis] = min(current[loop.axis], loop.tile)
    return current
