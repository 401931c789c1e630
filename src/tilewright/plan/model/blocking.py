"""Blocked schedules: the loops of every level told apart, and the work of each operator under them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tilewright.graph.types import Operator
from tilewright.plan.model.candidate import Candidate
from tilewright.plan.model.cost import Moving, Work, moving_of, nothing, passing_of, work_of
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.likeness import likeness
from tilewright.plan.model.memory.traffic import ChainFigures, chain_figures
from tilewright.plan.regions.loop_views import ChainView, view_schedule
from tilewright.plan.schedule import Schedule

Works = Iterable[tuple[Operator, Work]]
"""Operators with what each costs."""


@dataclass(frozen=True, slots=True)
class Blocking:
    """A schedule with its levels told apart, and what it was refined from."""

    candidate: Candidate
    outer: Schedule
    """The loops of the fusion level alone, without packing."""
    schedule: Schedule
    conflicts: Mapping[str, float]
    """Of contractions that read their right operand in place though they could pack it: see `traffic.set_conflict`."""
    seconds: float


@dataclass(frozen=True, slots=True)
class BlockingViews:
    """The loops of a blocking, whatever its micro kernels: without those for L1, and with them."""

    outer: ChainView
    whole: ChainView
    around: ChainFigures


def views_of(context: CostContext, blocking: Blocking) -> BlockingViews:
    """How a blocking is walked."""
    outer = view_schedule(context.chain, blocking.outer)
    return BlockingViews(outer, view_schedule(context.chain, blocking.schedule), chain_figures(context, outer))


def works(context: CostContext, blocking: Blocking) -> Iterator[tuple[Operator, Work]]:
    """What every operator of a blocking costs."""
    known = views_of(context, blocking)
    for operator, moving in movings(context, blocking, known):
        yield operator, work_of(moving) if moving is not None else nothing(context)


def movings(context: CostContext, blocking: Blocking, views: BlockingViews) -> Iterator[tuple[Operator, Moving | None]]:
    """What every operator of a blocking does without prefetches, equal layers the same; None of maps in micro tiles."""
    done: dict[Hashable, Moving | None] = {}
    for member, inner in zip(views.outer.operators, views.whole.operators, strict=True):
        name = member.operator.name
        cut, conflict = inner if len(inner.loops) > len(member.loops) else None, blocking.conflicts.get(name)
        key = likeness(context, member), likeness(context, inner), conflict, views.around.shared_loops[name]
        if key not in done:
            done[key] = (
                None if name in context.in_tiles else moving_of(passing_of(context, views.around, member, inner=cut), conflict)
            )
        yield member.operator, done[key]
