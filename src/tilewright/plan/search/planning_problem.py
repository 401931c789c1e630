"""Planning problem: a chain on a machine with its cost context and orders of outer loops, made once for bounds and search.

Profitability test: lower bounds on the price of a chain, against a price to reach, before the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tilewright.graph.types import Chain
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.arrays import Quantity
from tilewright.plan.counts import Counted, count
from tilewright.plan.decisions.micro_kernel import RankedKernels, chain_context
from tilewright.plan.decisions.non_temporal_stores import largest_gain_s
from tilewright.plan.decisions.split_reductions import may_split
from tilewright.plan.model.coefficients import Coefficients
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.threads import threads_seconds
from tilewright.plan.schedule import FusedGroup
from tilewright.plan.search.bounds import Bounds
from tilewright.plan.search.outer_loops import OuterLoops, outer_orders
from tilewright.plan.search.tile_blocks import TileBlocks
from tilewright.plan.space.loop_trees import group_choices, possible_fused_groups
from tilewright.plan.space.schedule_space import Space, space_of

MOST_PROBLEMS = 8
"""Problems that are remembered: a chain is searched soon after its bound was asked for, or never."""


@dataclass(frozen=True, slots=True)
class PlanningProblem:
    """What is decided, and between what."""

    context: CostContext
    ranked: RankedKernels
    """Micro kernels of every contraction."""
    space: Space
    outer_orders: tuple[OuterLoops, ...]
    """All orders of outer loops that can be executed, shortest first."""
    bounds: Bounds


@lru_cache(maxsize=MOST_PROBLEMS)
def planning_problem(
    chain: Chain, machine: Machine, kernels: tuple[MicroKernel, ...], coefficients: Coefficients
) -> PlanningProblem:
    """The problem of planning a chain with some micro kernels. Raises `Unplannable` where one of its contractions has none."""
    context, ranked = chain_context(chain, machine, kernels, coefficients)
    return problem_of(context, ranked)


def problem_of(context: CostContext, ranked: RankedKernels | None = None) -> PlanningProblem:
    """The problem of a context whose micro kernels are chosen."""
    space = space_of(context)
    every = TileBlocks(space)
    return PlanningProblem(context, ranked or {}, space, outer_orders(space, every), Bounds(space, every))


@dataclass(frozen=True, slots=True)
class Times:
    """A price in seconds: on one thread, and on the machine's cores."""

    seconds: float
    cores_s: float


def can_cost(problem: PlanningProblem, limit_s: float) -> bool:
    """Whether any schedule may cost no more than this on one thread, by the price that the search goes by.

    That price multiplies what does not fit the fusion level. As much of the traffic as prefetches may hide counts as hidden.
    """
    bounds, fused_groups = problem.bounds.with_prefetches(), possible_fused_groups(problem.space)
    return any(least_seconds(bounds, fused_groups, outer_loops) <= limit_s for outer_loops in problem.outer_orders)


def least_times_above(problem: PlanningProblem, limit_s: float) -> Times | None:
    """The least that a plan can cost if none can cost as little as `limit_s` on the cores; None as soon as one might.

    It holds for the price of the plan, not only for that of the search: nothing counts as spilled, and all that prefetches and
    non-temporal stores can gain is taken off. Partially fused groups save memory only, so that they need no bound here.
    """
    context, bounds = problem.context, problem.bounds.with_prefetches()
    call_s, gain_s = context.coefficients.call_s, largest_gain_s(context)
    found: list[Times] = []
    for outer_loops in problem.outer_orders:
        count(Counted.ORDERS)
        price = bounds.without_spills(outer_loops.view, outer_loops.choices) - gain_s
        found.append(Times(float(np.min(price)) + call_s, float(np.min(_on_cores(context, outer_loops, price))) + call_s))
        if found[-1].cores_s <= limit_s:
            return None
    return Times(min(least.seconds for least in found), min(least.cores_s for least in found)) if found else None


def least_seconds(bounds: Bounds, fused_groups: Sequence[FusedGroup], outer_loops: OuterLoops) -> float:
    """What an order of outer loops and the trees below it cost at least on one thread, whatever the tiles."""
    free = [fused_group for fused_group in fused_groups if not set(fused_group.axes) & set(outer_loops.outer_loops)]
    live = outer_loops.least_live(group_choices(free)) if free else None
    price, _ = bounds.of_outer_loops(outer_loops.view, outer_loops.choices, live)
    return float(np.min(price))


def _on_cores(context: CostContext, outer_loops: OuterLoops, price: Quantity) -> Quantity:
    """The time on the cores; a reduction that is split may have as many blocks as there are cores."""
    machine = context.machine
    if may_split(context.chain):
        return price / machine.cores
    return threads_seconds(price, outer_loops.parallel_blocks, machine.cores, machine.parallel_region_s)
