"""Partition of a graph into chains: groups that can be fused, the division of each, the plans of the chains that are left, and
the layouts of the tensors between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TypeAlias

from tilewright import progress
from tilewright.coefficients import Coefficients
from tilewright.errors import InternalError
from tilewright.graph.types import Chain, Graph, Tensor
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.binding import bound, bound_plan
from tilewright.plan.chains import make_chain, names_of
from tilewright.plan.layout import Layout, row_major, spread_padding
from tilewright.plan.model.pricing import separate_price
from tilewright.plan.reasons import Barrier, CannotFuse, Unplannable
from tilewright.plan.types import Cut, ModelPlan, Plan, Price
from tilewright.plan.whole_model.division import Division
from tilewright.plan.whole_model.groups import DataFlow, Group, Operators, fusible_groups
from tilewright.plan.whole_model.known_divisions import KnownDivisions
from tilewright.plan.whole_model.planning_options import options_for
from tilewright.records import record

Told: TypeAlias = Callable[[Sequence[Plan]], None]
"""Who is told the plans of chains, in canonical names."""


def partition(
    graph: Graph,
    machine: Machine,
    *,
    fuse: bool | None = None,
    kernels: tuple[MicroKernel, ...] | None = None,
    coefficients: Coefficients | None = None,
) -> ModelPlan:
    """Cut a graph into chains and plan each of them.

    `fuse=None` lets the prices decide, `fuse=True` fuses whatever can be executed, `fuse=False` nothing. Graph outputs and
    tensors with several readers end a chain. Every operator can be planned alone. `coefficients` are those of the price (default:
    as fitted for such machines).
    """
    return partition_with(graph, KnownDivisions(options_for(machine, fuse, kernels, coefficients)))


def partition_with(
    graph: Graph, known: KnownDivisions, told: Told = lambda plans: None, apart: frozenset[str] = frozenset()
) -> ModelPlan:
    """As `partition`, with the options and the divisions that are known already.

    Plans of chains are `told` as soon as they are final, once for all chains that differ in names only. Chains end before the
    tensors that lie `apart`.
    """
    flow = DataFlow(graph, known.options.held_types)
    barriers = _barriers_before_tiles(flow, apart) | dict(barriers_of(flow, known.options.fuse))
    groups = tuple(_told(divided_groups(flow, fusible_groups(flow, barriers), known), told))
    plans = [plan for group in groups for plan in _plans(flow, group)]
    plans.sort(key=lambda plan: flow.positions[plan.chain.operators[-1].name])
    cuts = _cuts(flow, barriers, groups)
    wanted = (cuts[tensor] for plan in plans if (tensor := plan.chain.output) in cuts)
    return with_layouts(ModelPlan(graph, tuple(plans), tuple(wanted)), pads_rows=known.options.pads_rows)


@record
class DividedGroup:
    """A group of operators of a graph with the division of its canonical form."""

    operators: Operators
    chain: Callable[[], Chain]
    """In the names of the graph, made when it is asked for."""
    division: Division


def barriers_of(flow: DataFlow, fuse: bool | None) -> Mapping[str, CannotFuse]:
    """Why tensors between operators go through memory, whatever that costs."""
    if fuse is False:
        return {tensor: CannotFuse(Barrier.SWITCHED_OFF) for tensor in flow.readers if tensor in flow.writers}
    return flow.barriers()


def _barriers_before_tiles(flow: DataFlow, apart: frozenset[str]) -> dict[str, CannotFuse]:
    """Those of these tensors that some operator makes."""
    between = (tensor for tensor in flow.readers if tensor in flow.writers and tensor in apart)
    return {tensor: CannotFuse(Barrier.OVERLAPPING_TILES) for tensor in between}


def divided_groups(flow: DataFlow, groups: Sequence[Group], known: KnownDivisions) -> Iterator[DividedGroup]:
    """The groups of a graph with their divisions."""
    for group in progress.counted(groups, "planning", len(groups)):
        try:
            chain = cache(partial(make_chain, flow.graph, group.operators))
            yield DividedGroup(group.operators, chain, known.division(group.chain, chain))
        except (Unplannable, InternalError):
            for operator in group.operators:  # raises the same of one of them, in names instead of numbers
                known.options.plan_named(make_chain(flow.graph, (operator,)))
            raise


def _told(groups: Iterable[DividedGroup], told: Told) -> Iterator[DividedGroup]:
    """The groups, whose plans are told."""
    known: set[int] = set()
    for group in groups:
        if id(group.division) not in known:
            known.add(id(group.division))
            told(group.division.plans())
        yield group


def _plans(flow: DataFlow, group: DividedGroup) -> Iterator[Plan]:
    """The plans of a group's parts, in the names of the graph."""
    names = names_of(group.chain())
    members = {operator.name: operator for operator in group.operators}
    for part, plan in zip(group.division.parts, group.division.plans(), strict=True):
        operators = tuple(members[names.operators[operator.name]] for operator in part.operators)
        chain = make_chain(flow.graph, operators) if len(operators) < len(members) else group.chain()
        yield bound_plan(plan, chain, names_of(chain))


def _cuts(flow: DataFlow, barriers: Mapping[str, CannotFuse], groups: tuple[DividedGroup, ...]) -> dict[str, Cut]:
    """Every edge that is cut, by its tensor. Where it cannot be fused, the price apart is that of the operators at its ends."""
    alone: dict[str, Price] = {}
    cuts: dict[str, Cut] = {}
    for group in groups:
        names = names_of(group.chain())
        alone |= {names.operators[name]: bound(price, names) for name, price in group.division.alone().items()}
        cuts |= {names.tensors[cut.tensor]: bound(cut, names) for cut in group.division.cuts}
    for tensor, reason in barriers.items():
        apart = [alone.get(operator.name) for operator in flow.ends(tensor)]
        known = separate_price(price for price in apart if price is not None)
        cuts[tensor] = Cut(tensor, float("inf"), None if None in apart else known.seconds, reason)
    return cuts


def with_layouts(model_plan: ModelPlan, *, pads_rows: bool = True) -> ModelPlan:
    """The plan with a layout for every tensor that a chain leaves to later ones: row-major, with rows that spread over the
    sets of the nearest cache where rows are padded."""
    graph = model_plan.graph
    between = ((plan.chain.output, plan) for plan in model_plan.plans if plan.chain.output not in graph.outputs)
    laid_out = ((graph.tensor(name), plan) for name, plan in between)
    layouts = ((tensor.name, _spread(tensor, plan) if pads_rows else row_major(len(tensor.shape))) for tensor, plan in laid_out)
    return replace(model_plan, layouts=tuple(layouts))


def _spread(tensor: Tensor, plan: Plan) -> Layout:
    """Row-major, one row as it is."""
    if len(tensor.shape) < 2:
        return row_major(len(tensor.shape))
    row, period_bytes, line_bytes = tensor.shape[-1], plan.execution.set_period_bytes, plan.machine.line_bytes
    padding = spread_padding(row if isinstance(row, int) else None, tensor.element_bytes, period_bytes, line_bytes)
    return row_major(len(tensor.shape), padding)
