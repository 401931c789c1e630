"""Candidates of a search, from the tiles that it found: loops of one trip are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.graph.types import SymbolicExtent
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.pricing import Candidate
from tilewright.plan.schedule import FusedGroup, planned_sizes
from tilewright.plan.threads import threads_share
from tilewright.records import record

Tiles = Mapping[str, int]


@record
class Found:
    """What a search found for an order of outer loops: its best candidate, or what it costs at least."""

    is_found: bool
    candidate: Candidate


@record
class Order:
    """Outer loops, what has circular line buffers along the last of them, and fused groups below."""

    outer_loops: tuple[str, ...]
    line_buffered: tuple[str, ...] = ()
    fused_groups: tuple[FusedGroup, ...] = ()

    def candidate(
        self,
        context: CostContext,
        tiles: Tiles,
        inner: Mapping[str, Tiles],
        *,
        seconds: float,
        cores_s: float,
        used_bytes: int,
        blocks: int,
    ) -> Candidate:
        """With `tiles` of its loops; `inner` are those of every operator's inner loops, outermost first."""
        outer_loops = _cutting(context, self.outer_loops, tiles)
        line_buffered = self.line_buffered if outer_loops[-1:] == self.outer_loops[-1:] else ()
        orders = {name: _cutting(context, tuple(loops), loops) for name, loops in inner.items()}
        groups = self._cut_groups(context, tiles)
        return Candidate(outer_loops, tiles, orders, inner, seconds, cores_s, used_bytes, blocks, False, line_buffered, groups)

    def bound(self, context: CostContext, tiles: Tiles, *, cores_s: float, used_bytes: int, blocks: int) -> Candidate:
        """What the order costs at least, with these tiles: for what is told of plans that lost."""
        outer_loops, groups = _cutting(context, self.outer_loops, tiles), self._cut_groups(context, tiles)
        seconds = float(cores_s / threads_share(blocks, context.machine.cores))
        return Candidate(outer_loops, tiles, {}, {}, seconds, cores_s, used_bytes, blocks, True, self.line_buffered, groups)

    def _cut_groups(self, context: CostContext, tiles: Tiles) -> tuple[FusedGroup, ...]:
        cut = (FusedGroup(group.operators, _cutting(context, group.axes, tiles)) for group in self.fused_groups)
        return tuple(group for group in cut if group.axes)


def _cutting(context: CostContext, axes: Sequence[str], tiles: Tiles) -> tuple[str, ...]:
    """The axes that their tiles cut, at planned sizes; those whose extent is known at run time only count as cut."""
    sizes, extents = planned_sizes(context.chain), context.chain.extents
    return tuple(axis for axis in axes if isinstance(extents[axis], SymbolicExtent) or tiles[axis] < sizes[axis])
