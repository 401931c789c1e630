"""Parallel loops: the outermost loops with independent blocks, which are distributed over threads."""

from __future__ import annotations

from itertools import takewhile
from math import prod

from tilewright.graph.types import AxisKind, Chain
from tilewright.plan.arrays import Count, product
from tilewright.plan.regions.loop_views import ChainView
from tilewright.plan.regions.required_regions import RegionAxes, region_axes_of, schedule_region_axes, shared_loops
from tilewright.plan.regions.trip_counts import planned_sizes, trip_counts
from tilewright.plan.schedule import Loop, Node, Pack, Schedule, Storage


def parallel_axes(chain: Chain, schedule: Schedule) -> tuple[str, ...]:
    """Axes of the outermost loops whose blocks are independent, with only Packs beside them.

    They are parallel in every operator, but for the axis of a split. A loop along which an intermediate has a circular line
    buffer is not one of them: its blocks need what the ones before have left.
    """
    return tuple(loop.axis for loop in parallel_loops(chain, schedule))


def parallel_loops(chain: Chain, schedule: Schedule) -> tuple[Loop, ...]:
    """The loops of `parallel_axes`, outermost first."""
    loops: list[Loop] = []
    region_axes = schedule_region_axes(chain, schedule)
    has_line_buffer = any(schedule.storage_of(tensor) is Storage.LINE_BUFFER for tensor in chain.intermediates)
    serial = shared_loops(schedule)[-1:] if has_line_buffer else ()
    body: tuple[Node, ...] = schedule.body
    while True:
        children = [node for node in body if not isinstance(node, Pack)]
        if len(children) != 1 or children[0] is not body[-1] or not isinstance(children[0], Loop):
            return tuple(loops)
        loop = children[0]
        independent = is_parallel(chain, loop.axis, region_axes) or loop.axis == schedule.split
        if not independent or any(loop.axis == parent.axis for parent in loops) or loop in serial:
            return tuple(loops)
        loops.append(loop)
        body = loop.body


def is_parallel(chain: Chain, axis: str, region_axes: RegionAxes | None = None) -> bool:
    """Whether every operator of a chain has the axis, or computes required regions of its consumers along it, and none reduces
    it."""
    moving = {operator for (operator, _), region in (region_axes or {}).items() if axis in region.slopes}
    return all(
        any(present.name == axis and present.kind is AxisKind.PARALLEL for present in operator.axes) or operator.name in moving
        for operator in chain.operators
    )


def block_count(chain: Chain, schedule: Schedule) -> int:
    """The number of independent blocks, at planned sizes."""
    return prod(trip_counts(parallel_loops(chain, schedule), planned_sizes(chain)))


def blocks_in_view(view: ChainView, shared: int) -> Count:
    """The independent blocks of the first `shared` loops, which all operators share; an array where tiles are."""
    loops = view.operators[-1].loops[:shared]
    region_axes = region_axes_of(view.chain, view.storage, [loop.axis for loop in loops])
    has_line_buffer = Storage.LINE_BUFFER in view.storage.values()
    distributed = takewhile(
        lambda loop: is_parallel(view.chain, loop.axis, region_axes), loops[: shared - has_line_buffer] if shared else ()
    )
    return product(loop.trips for loop in distributed)
