"""Stationary orders: the loops of Convolution Slicing Optimization around one contraction, in the order that is asked for.

V. Ferrari et al., "Advancing Direct Convolution using Convolution Slicing Optimization and ISA Extensions", 2023, section 4.2.
Five loops: depth (channel sets), sets of stationary tiles, sets of streamed tiles, stationary tiles, streamed tiles; the last is
the loop over tiles that every contraction has. Their tiles are those of Convolution Slicing Analysis (`plan.slicing`) for the
micro kernel's tile. A right operand that is packed at all is packed on demand: one tile at a time where it stays, a set at a time
where it streams. The planner's search has both orders in its space and takes the cheapest plan; these plans are for comparison.

Where pixels are columns (windows by columns, im2col, pointwise), columns that stay are SConv's input-stationary order; where
pixels are rows (filter lanes), they are its weight-stationary order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import prod

from tilewright.coefficients import coefficients_for
from tilewright.errors import PlanningError
from tilewright.graph.types import Chain, Operator
from tilewright.kernels import registry
from tilewright.machine.machine import Machine
from tilewright.plan.decisions.execution import with_leaves
from tilewright.plan.decisions.prefetching_kernels import choose_prefetches
from tilewright.plan.model.cost import floor
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.traffic import set_conflict
from tilewright.plan.model.operands.packing_cost import may_pack, may_pack_ahead, may_stay
from tilewright.plan.model.pricing import Blocking, Candidate, price_blocking
from tilewright.plan.planner import Searched
from tilewright.plan.schedule import Compute, Schedule, Storage, Trip, When, nest, planned_sizes
from tilewright.plan.search.exact_search import planning_problem
from tilewright.plan.search.inner_loops import with_packs
from tilewright.plan.slicing import ConvolutionSizes, SlicingMachine, Stationary, exact_slicing
from tilewright.plan.types import ModelPlan, Plan


class Stays(StrEnum):
    """The operand of C[row, column] += A[row, depth] * B[depth, column] of which a tile stays in L1."""

    COLUMNS = "columns stay"
    ROWS = "rows stay"


@dataclass(frozen=True, slots=True)
class _Loops:
    """The loops of a chain, outermost first, and how many of them stand around its pack; loops of one trip are left out."""

    loops: tuple[tuple[str, int], ...]
    around_pack: int


def stationary_plan(chain: Chain, machine: Machine, stays: Stays, *, packs_on_demand: bool | None = None) -> Plan:
    """The plan of a contraction, with the maps behind it, whose loops keep one operand's tile in L1.

    `packs_on_demand` packs the right operand inside the loops, or reads it in place, where micro kernels can do both (default:
    as the planner may). Constants are packed ahead as always. Raises `PlanningError` for chains of other operators, for machines
    with fewer than three caches, and `Unplannable` without a micro kernel.
    """
    available = registry.for_machine(machine, element_types=None)
    operator = _contraction(chain)
    problem = planning_problem(chain, machine, available, coefficients_for(machine))
    blocking = _blocking(problem.context, operator, stays, packs_on_demand)
    prefetches = choose_prefetches(problem.context, blocking)
    price = price_blocking(problem.context, blocking)
    found = (blocking.candidate,)
    searched = Searched(problem.context, problem.ranked, found, blocking, prefetches, price, None)
    return with_leaves(searched.plan(floor(chain, machine), price))


def with_stationary_orders(model_plan: ModelPlan, stays: Stays, *, packs_on_demand: bool | None = None) -> ModelPlan:
    """A planned graph in which every chain of one contraction and maps behind it has its loops in this order; others stay."""
    plans = (
        stationary_plan(plan.chain, plan.machine, stays, packs_on_demand=packs_on_demand) if _is_one_product(plan.chain) else plan
        for plan in model_plan.plans
    )
    return replace(model_plan, plans=tuple(plans))


def _is_one_product(chain: Chain) -> bool:
    first, *behind = chain.operators
    return first.is_contraction() and all(operator.reduction is None for operator in behind)


def _contraction(chain: Chain) -> Operator:
    if not _is_one_product(chain):
        raise PlanningError(
            f"{chain.name} is not a contraction with maps behind it", why="stationary orders are those of one contraction"
        )
    return chain.operators[0]


def _blocking(context: CostContext, operator: Operator, stays: Stays, packs_on_demand: bool | None) -> Blocking:
    name = operator.name
    loops = _loops(context, operator, stays)
    is_ahead = may_pack_ahead(context, operator)
    is_packed = may_pack(context, operator) if packs_on_demand is None else packs_on_demand
    is_conflicting = not is_packed and not is_ahead and may_stay(context, operator)
    conflicts = {name: set_conflict(context, operator, context.cache_levels[0])} if is_conflicting else {}
    whole, outer = (_schedule(context.chain, loops.loops[:count]) for count in (len(loops.loops), loops.around_pack))
    packs = {name: loops.around_pack} if is_packed and not is_ahead else {}
    schedule = with_packs(context, whole, packs, (name,) if is_ahead else ())
    axes = tuple(axis for axis, _ in loops.loops[: loops.around_pack])
    return Blocking(Candidate(axes, dict(loops.loops), {}, {}, 0.0, 0.0, 0, 0), outer, schedule, conflicts, 0.0)


def _loops(context: CostContext, operator: Operator, stays: Stays) -> _Loops:
    """Loops over batches, channel sets, sets of tiles, and stationary tiles; the tiles of Convolution Slicing Analysis."""
    roles, kernel, sizes = context.roles[operator.name], context.kernels[operator.name], planned_sizes(context.chain)
    row, column, depth = roles.row, roles.column, roles.depth
    if row is None or column is None or depth is None:
        raise PlanningError(f"{operator.name} has no rows, no columns or no depth", why="a tile of each operand is needed")
    written = operator.write.axes()
    batch = [(axis, 1) for axis in roles.outer if axis in written]
    taps = prod(sizes[axis] for axis in roles.outer if axis not in written)
    layer = ConvolutionSizes(sizes[column], sizes[row], sizes[depth], taps)
    stationary = Stationary.INPUT if stays is Stays.COLUMNS else Stationary.WEIGHT
    slicing = exact_slicing(layer, SlicingMachine.of(context.machine, kernel.columns, kernel.rows), stationary)
    (still, tile), (streaming, streamed) = ((column, kernel.columns), (row, kernel.rows))[:: 1 if stays is Stays.COLUMNS else -1]
    in_l3, in_l2 = slicing.stationary_in_l3 * tile, slicing.streamed_in_l2 * streamed
    sets = [*batch, (depth, slicing.channels), (still, in_l3), (streaming, in_l2)]
    outer = [(axis, size) for axis, size in sets if size < sizes[axis]]
    stationary_tiles = [(still, tile)] if tile < min(in_l3, sizes[still]) else []
    around_pack = len(outer) + (len(stationary_tiles) if stays is Stays.COLUMNS else 0)
    return _Loops((*outer, *stationary_tiles), around_pack)


def _schedule(chain: Chain, loops: Sequence[tuple[str, int]]) -> Schedule:
    """The nest around all operators. A map runs when all is computed along the axes that it does not have: the depth, and pixels
    that it walks as rows and columns."""
    first, *behind = chain.operators
    body = (Compute(first.name), *(Compute(operator.name, _last(operator, loops)) for operator in behind))
    return Schedule(nest(loops, body), tuple((tensor, Storage.KEEP) for tensor in chain.intermediates))


def _last(operator: Operator, loops: Sequence[tuple[str, int]]) -> tuple[When, ...]:
    """At the last block of every loop over an axis that an operator does not have."""
    axes = {axis.name for axis in operator.axes}
    return tuple(When(axis, Trip.LAST) for axis in dict.fromkeys(axis for axis, _ in loops) if axis not in axes)
