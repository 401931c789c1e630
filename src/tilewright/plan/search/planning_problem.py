"""Planning problem: a chain on a machine with its cost context and orders of outer loops, made once for bounds and search."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tilewright.graph.types import Chain
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.decisions.micro_kernel import RankedKernels, chain_context
from tilewright.plan.model.coefficients import Coefficients
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.search.bounds import Bounds
from tilewright.plan.search.outer_loops import OuterLoops, outer_orders
from tilewright.plan.search.tile_blocks import TileBlocks
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
