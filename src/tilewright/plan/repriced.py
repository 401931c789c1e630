"""Plans of run-time extents at the values of a call: loops and micro kernels are as planned, what they cost is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from tilewright.coefficients import coefficients_for
from tilewright.graph.expressions.extents import SymbolicExtent, value_of
from tilewright.graph.types import Chain
from tilewright.kernels import registry
from tilewright.plan.decisions.exact_operators import plan_exact_operator
from tilewright.plan.decisions.non_temporal_stores import price_with_stores
from tilewright.plan.decisions.split_reductions import part_of
from tilewright.plan.model.cost import floor
from tilewright.plan.model.cost_context import CostContext, context_of
from tilewright.plan.model.memory.traffic import set_conflict
from tilewright.plan.model.operands.packing_cost import may_stay
from tilewright.plan.model.pricing import NOT_SEARCHED, Blocking, SplitReduction, price_split
from tilewright.plan.regions.gathered_reads import without_lookups
from tilewright.plan.schedule import Loop, Node, Pack, Schedule, planned_sizes
from tilewright.plan.types import Plan, Price, TermKind

ValueT = TypeVar("ValueT")


def at_extents(plan: Plan, dimensions: Mapping[str, int]) -> Plan:
    """The plan with the price and the floor of a call in which dimensions have these values, by name.

    At the values that it was planned for, the price is that of the plan. Alternatives, movements and levels stay those of the
    planned values.
    """
    chain = with_hints(plan.chain, dimensions)
    if chain == plan.chain:
        return plan
    return replace(plan, chain=chain, price=_price(plan, chain), floor=floor(without_lookups(chain), plan.machine))


def with_hints(value: ValueT, dimensions: Mapping[str, int]) -> ValueT:
    """Whatever holds extents, with the values of a call in the place of planned values.

    >>> with_hints((3, SymbolicExtent("s", 1, 8, 8)), {"s": 5})
    (3, SymbolicExtent(name='s', low=1, high=8, hint=5))
    """
    changed: Any = value
    if isinstance(value, SymbolicExtent):
        changed = replace(value, hint=value_of(value, dimensions), formula=with_hints(value.formula, dimensions))
    elif isinstance(value, tuple):
        changed = tuple(with_hints(part, dimensions) for part in value)
    elif is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        new = {name: with_hints(part, dimensions) for name, part in parts.items()}
        changed = replace(value, **{name: part for name, part in new.items() if part is not parts[name]})
    return changed  # type: ignore[no-any-return]


def context_for(plan: Plan, chain: Chain) -> CostContext:
    """The cost context of a chain with the micro kernels of a plan."""
    known = {kernel.name: kernel for kernel in registry.registered()}
    kernels = {part.operator: known[part.micro_kernel] for part in plan.operators if part.micro_kernel}
    roles = {part.operator: part.roles for part in plan.operators if part.roles is not None}
    return context_of(chain, plan.machine, kernels, roles, coefficients_for(plan.machine))


def _price(plan: Plan, chain: Chain) -> Price:
    if any(term.kind is TermKind.EXACT_ARITHMETIC for term in plan.price.terms):
        return plan_exact_operator(chain, plan.machine, coefficients_for(plan.machine)).price
    context = context_for(plan, without_lookups(chain))
    if plan.schedule.split:
        return price_split(context, _split(context, plan.schedule))
    return price_with_stores(context, _blocking(context, plan.schedule))


def _blocking(context: CostContext, schedule: Schedule) -> Blocking:
    """The loops as they stand, all of them taken for those of the fusion level: prices of a whole tree do not tell them apart."""
    packed = {leaf.operator for leaf in (*(leaf for _, leaf in schedule.leaves()), *schedule.ahead) if isinstance(leaf, Pack)}
    unpacked = [context.chain.operator(name) for name in context.kernels if name not in packed]
    conflicts = {op.name: set_conflict(context, op, context.cache_levels[0]) for op in unpacked if may_stay(context, op)}
    return Blocking(NOT_SEARCHED, Schedule(_without_packs(schedule.body), schedule.storage), schedule, conflicts, 0.0)


def _without_packs(body: tuple[Node, ...]) -> tuple[Node, ...]:
    loops = (replace(node, body=_without_packs(node.body)) if isinstance(node, Loop) else node for node in body)
    return tuple(node for node in loops if not isinstance(node, Pack))


def _split(context: CostContext, schedule: Schedule) -> SplitReduction:
    """The parts of a split reduction, which is the outermost loop."""
    (loop,) = schedule.body
    assert isinstance(loop, Loop)
    size = planned_sizes(context.chain)[loop.axis]
    part = part_of(context, loop.axis, min(loop.tile, size))
    blocking = _blocking(part, Schedule(loop.body, schedule.storage, ahead=schedule.ahead))
    return SplitReduction(loop.axis, min(loop.tile, size), -(-size // loop.tile), size, part, blocking)
