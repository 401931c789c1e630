"""Candidates: the best schedule with each choice of outer loops, with the figures that it competes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.plan.loop_orders import fused_schedule
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.reasons import Loops, Tiles
from tilewright.plan.schedule import FusedGroup, Schedule


@dataclass(frozen=True, slots=True)
class Candidate:
    """The best schedule with some outer loops, with the figures that it competes by. Loops that always have one trip are left
    out."""

    outer_loops: tuple[str, ...]
    tiles: Mapping[str, int]
    """Of the outer loops and of all fused groups."""
    inner_orders: Mapping[str, tuple[str, ...]]
    inner_tiles: Mapping[str, Mapping[str, int]]
    seconds: float
    """On one thread."""
    cores_s: float
    """On the machine's cores: what candidates compete by."""
    used_bytes: int
    blocks: int
    is_bound: bool = False
    """Whether the figures are only what the outer loops cost at least: enough to lose by."""
    line_buffered: tuple[str, ...] = ()
    """Intermediates that have circular line buffers along the last of the outer loops."""
    fused_groups: tuple[FusedGroup, ...] = ()
    """Operators that share further loops, in the order of the chain."""

    def schedule(self, context: CostContext) -> Schedule:
        """The schedule, without packing."""
        return fused_schedule(
            context.chain,
            self.outer_loops,
            self.inner_orders,
            self.tiles,
            self.inner_tiles,
            line_buffered=self.line_buffered,
            fused_groups=self.fused_groups,
        )

    def loops(self) -> Loops:
        """Its loops, without the tiles of the inner ones: what tells candidates apart."""
        return Loops(
            self._tiles(self.outer_loops),
            self.line_buffered,
            tuple((self._tiles(group.axes), group.operators) for group in self.fused_groups),
            tuple((name, order) for name, order in self.inner_orders.items() if order),
        )

    def _tiles(self, axes: tuple[str, ...]) -> Tiles:
        return tuple((axis, self.tiles[axis]) for axis in axes)
