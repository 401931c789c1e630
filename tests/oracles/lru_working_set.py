"""Working set of an LRU cache: the capacity at which it serves the reuse that the movement formula credits.

`working_set` is what must be there: enough for a cache with ideal replacement. An LRU cache also keeps, for a while, what will
not be used again: between two uses of a tile it must hold everything that is touched in between (the stack distance of Mattson
et al., 1970). A tile that is reused from one trip of a loop to the next sees one trip of all operators under that loop, and of
its own operator's other operands the tiles of the next trip as well, because they are worked through side by side.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from tilewright.arrays import Count, as_integer
from tilewright.graph.types import Access
from tilewright.plan.model.memory.working_set import live_bytes, outer_accesses, working_set_bytes
from tilewright.plan.regions.footprint import distinct_elements
from tilewright.plan.regions.loop_views import ChainView, LoopView, OperatorView


def lru_working_set(view: ChainView) -> Count:
    """Elements of a fully associative LRU cache that serves every credited reuse; tiles may be arrays. At least `working_set`.

    For schedules in which an operator has at most one loop over an axis and no condition. Intermediates count as what is alive
    of them.
    """
    needs = [_needed(view, *entry[:2]) for entry in outer_accesses(view)]
    return as_integer(reduce(np.maximum, needs, working_set_bytes(view) // 4))


def _needed(view: ChainView, owner: OperatorView, access: Access) -> Count:
    """The largest distance between two uses of a tile that count as one fetch."""
    largest: Count = 0
    reuse_ended: Count = False
    for position in reversed(range(len(owner.loops))):
        loop = owner.loops[position]
        if loop.axis in access.axes():
            reuse_ended = reuse_ended | (loop.trips > 1)
        else:
            is_credited = ~np.asarray(reuse_ended) & (loop.trips > 1)
            largest = np.maximum(largest, np.where(is_credited, _touched_between(view, owner, loop), 0))
    return largest


def _touched_between(view: ChainView, owner: OperatorView, loop: LoopView) -> Count:
    total = live_bytes(view) // 4
    for running, access, _ in outer_accesses(view):
        position = next((i for i, candidate in enumerate(running.loops) if candidate.node == loop.node), None)
        if position is None:
            continue
        is_streaming = running.operator.name == owner.operator.name and loop.axis in access.axes()
        total = total + distinct_elements(access, _one_trip(view, running, position)) * (2 if is_streaming else 1)
    return total


def _one_trip(view: ChainView, running: OperatorView, position: int) -> dict[str, Count]:
    """The box that an operator works through in one trip of one of its loops."""
    cut = {loop.axis for loop in running.loops[: position + 1]}
    return {axis: np.minimum(running.tiles[axis], size) if axis in cut else size for axis, size in view.sizes.items()}
