"""Candidates: the best schedule of each prefix, with the figures that it competes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.plan.loop_orders import prefixed
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.schedule import Schedule, Segment


@dataclass(frozen=True, slots=True)
class Candidate:
    """The best schedule of one prefix, with the figures that it competes by. Loops that always have one trip are left out."""

    prefix: tuple[str, ...]
    tiles: Mapping[str, int]
    """Of the loops of the prefix and of all segments."""
    own_orders: Mapping[str, tuple[str, ...]]
    own_tiles: Mapping[str, Mapping[str, int]]
    seconds: float
    """On one thread."""
    cores_s: float
    """On the machine's cores: what candidates compete by."""
    used_bytes: int
    blocks: int
    is_bound: bool = False
    """Whether the figures are only what the prefix costs at least: enough to lose by."""
    rolled: tuple[str, ...] = ()
    """Intermediates that are rolled along the last loop of the prefix."""
    segments: tuple[Segment, ...] = ()
    """Operators that share further loops, in the order of the chain."""

    def schedule(self, context: CostContext) -> Schedule:
        """The schedule, without packing."""
        return prefixed(
            context.chain, self.prefix, self.own_orders, self.tiles, self.own_tiles, rolled=self.rolled, segments=self.segments
        )

    def __str__(self) -> str:
        shared = self._loops(self.prefix) or "no shared loop"
        around = [f"{self._loops(one.axes)} around {', '.join(one.operators)}" for one in self.segments]
        below = [f"{name}: {', '.join(order)}" for name, order in self.own_orders.items() if order]
        rolled = [f"{', '.join(self.rolled)} rolled along {self.prefix[-1]}"] if self.rolled else []
        return "; ".join([shared, *rolled, *around, *below])

    def _loops(self, axes: tuple[str, ...]) -> str:
        return ", ".join(f"{axis} by {self.tiles[axis]}" for axis in axes)
