"""Data movement of one memory level: Chimera's Algorithm 1, corrected.

The movement of a tensor is its size times the number of times that its tiles are replaced. Walking an operator's loops from
the innermost outwards, a loop that indexes the tensor ends reuse; from there on every outer loop multiplies. There are five
corrections to the printed algorithm:

1. Exact extents: M*K*ceil(L/T_L), not tiles times trip counts. Only so do Table III and the paper's bound hold.
2. A loop with one trip is transparent: it does not end reuse.
3. A partially summed output that is visited r times costs r writes and r - 1 reads: (2r - 1) times its size.
4. Keeping an intermediate and recomputing it are two schedules. Under recomputation the loops that only consumers have
   repeat the producer's movement too (the paper's text counts this, its algorithm does not).
5. Memory use counts live intermediate state: see `working_set`.

All counts are elements; intermediates move nothing, because the schedule keeps them on chip.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.graph.types import Access
from tilewright.plan.arrays import Condition, Count, either
from tilewright.plan.regions.loop_views import ChainView, LoopView, OperatorView


def outer_accesses(view: ChainView) -> Iterator[tuple[OperatorView, Access, bool]]:
    """Every access to an input or output of the chain (equal reads of one operator once), and whether it is a write."""
    intermediates = set(view.chain.intermediates)
    for operator_view in view.operators:
        operator = operator_view.operator
        for access in dict.fromkeys(operator.reads):
            if access.tensor not in intermediates:
                yield operator_view, access, False
        if operator.write.tensor not in intermediates:
            yield operator_view, operator.write, True


def tile_visits(loops: Sequence[LoopView], axes: frozenset[str]) -> Count:
    """How often every tile of an access comes back: the trips of loops that do not index it, outside the end of reuse."""
    outermost = next((number for number, loop in enumerate(loops) if loop.axis not in axes), len(loops))
    visits: Count = 1
    reuse_ended: Condition = False
    for loop in reversed(loops[outermost:]):  # loops around these index the access
        if loop.axis in axes:
            reuse_ended = reuse_ended | (loop.trips > 1)
        elif reuse_ended is not False:
            visits = visits * either(reuse_ended, loop.trips, 1)
    return visits


class Visits:
    """`tile_visits` of several accesses inside the same loops: once for all that the same loops index."""

    def __init__(self, loops: Sequence[LoopView]) -> None:
        self.loops = loops
        self.known: dict[tuple[bool, ...], Count] = {}

    def of(self, axes: frozenset[str]) -> Count:
        """Of an access along these axes."""
        indexed = tuple([loop.axis in axes for loop in self.loops])
        if indexed not in self.known:
            self.known[indexed] = tile_visits(self.loops, axes)
        return self.known[indexed]
