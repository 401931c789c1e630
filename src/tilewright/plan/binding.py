"""Binding: plans of canonical chains, and the reasons in them, in the names of a chain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.types import Chain
from tilewright.plan import reasons
from tilewright.plan.chains import Names, canonical_form, names_of, renamed, renamed_graph
from tilewright.plan.schedule import Compute, Loop, Node, Pack, Schedule
from tilewright.plan.types import Cut, ImageLayouts, KeyBlocks, ModelPlan, OperatorPlan, Plan, Price


def bound_plan(plan: Plan, chain: Chain, names: Names) -> Plan:
    """The plan of a chain of the same structure, in its names."""
    tensors, operators = names.tensors, names.operators
    return replace(
        plan,
        chain=chain,
        schedule=_schedule(plan.schedule, names),
        operators=tuple(_operator_plan(operator, names) for operator in plan.operators),
        levels=tuple(replace(level, order=_axes(level.order, names), tiles=_tiles(level.tiles, names)) for level in plan.levels),
        parallel_axes=_axes(plan.parallel_axes, names),
        movements=tuple(replace(movement, tensor=tensors[movement.tensor]) for movement in plan.movements),
        price=bound_price(plan.price, names),
        unfused_price=plan.unfused_price and bound_price(plan.unfused_price, names),
        rejected=tuple(replace(lost, alternative=_alternative(lost.alternative, names)) for lost in plan.rejected),
        thinned_axes=_axes(plan.thinned_axes, names),
        prefetched_inputs=tuple(tensors[tensor] for tensor in plan.prefetched_inputs),
        prefetching_operators=tuple(operators[name] for name in plan.prefetching_operators),
        non_temporal=tuple(operators[name] for name in plan.non_temporal),
        key_blocks=plan.key_blocks and _key_blocks(plan.key_blocks, names),
    )


def numbered_plan(plan: Plan) -> Plan:
    """The plan in the numbers of its canonical chain: equal for plans that differ in names only."""
    return bound_plan(plan, canonical_form(plan.chain), names_of(plan.chain).inverse())


def bound_model(model_plan: ModelPlan, names: Names) -> ModelPlan:
    """The plan of a graph in other names; its chains keep theirs."""
    chains = [renamed(plan.chain, replace(names, chain=plan.chain.name)) for plan in model_plan.plans]
    return replace(
        model_plan,
        graph=renamed_graph(model_plan.graph, names),
        plans=tuple(bound_plan(plan, chain, names) for plan, chain in zip(model_plan.plans, chains, strict=True)),
        cuts=tuple(bound_cut(cut, names) for cut in model_plan.cuts),
        layouts=tuple((names.tensors[tensor], layout) for tensor, layout in model_plan.layouts),
        merged=tuple(
            replace(argument, declared=replace(argument.declared, name=names.tensors[argument.declared.name]))
            for argument in model_plan.merged
        ),
        images=model_plan.images and _bound_images(model_plan.images, names),
    )


def _bound_images(images: ImageLayouts, names: Names) -> ImageLayouts:
    last, written = (
        tuple(names.tensors.get(name, name) for name in those) for those in (images.channels_last, images.as_written)
    )
    return ImageLayouts(last, written)


def bound_cut(cut: Cut, names: Names) -> Cut:
    """A cut, in the names of other tensors and operators."""
    return replace(cut, tensor=names.tensors[cut.tensor], reason=bound_reason(cut.reason, names))


def bound_price(price: Price, names: Names) -> Price:
    """A price, whose terms speak of operators."""
    terms = (replace(term, operator=names.operators[term.operator]) if term.operator else term for term in price.terms)
    return replace(price, terms=tuple(terms))


def bound_reason(reason: reasons.CutReason, names: Names) -> reasons.CutReason:
    """Why an edge is cut."""
    match reason:
        case reasons.CannotFuse() | reasons.NotExecutable():
            return replace(reason, operators=tuple(names.operators[name] for name in reason.operators))
        case reasons.NoMicroKernel(operator):
            return reasons.NoMicroKernel(names.operators[operator])
        case reasons.SeparateFaster() | reasons.FewerBlocks():
            return reason
        case _:
            assert_never(reason)


def _alternative(alternative: reasons.Alternative, names: Names) -> reasons.Alternative:
    match alternative:
        case reasons.EveryOperatorAlone():
            return alternative
        case reasons.OnePart(axis):
            return reasons.OnePart(names.axes[axis])
        case reasons.OtherLoops(storage, loops):
            return reasons.OtherLoops(storage, _loops(loops, names))
        case reasons.OtherAlgorithm() | reasons.OtherKernel():
            return replace(alternative, operator=names.operators[alternative.operator])
        case _:
            assert_never(alternative)


def _loops(loops: reasons.Loops, names: Names) -> reasons.Loops:
    operators = names.operators
    return reasons.Loops(
        _tiles(loops.outer, names),
        tuple(names.tensors[tensor] for tensor in loops.line_buffered),
        tuple((_tiles(tiles, names), tuple(operators[name] for name in around)) for tiles, around in loops.groups),
        tuple((operators[name], _axes(axes, names)) for name, axes in loops.inner),
    )


def _operator_plan(plan: OperatorPlan, names: Names) -> OperatorPlan:
    epilogue_of = names.operators[plan.epilogue_of] if plan.epilogue_of else ""
    leaf = plan.leaf and plan.leaf.with_axes(names.axes)
    return replace(plan, operator=names.operators[plan.operator], epilogue_of=epilogue_of, leaf=leaf)


def _key_blocks(blocks: KeyBlocks, names: Names) -> KeyBlocks:
    limits = tuple(_limit(limit, names) for limit in blocks.limits)
    return replace(blocks, axis=names.axes[blocks.axis], limits=limits, rows=_tiles(blocks.rows, names))


def _limit(limit: reasons.KeyLimit, names: Names) -> reasons.KeyLimit:
    index = limit.constraint.index.substitute({axis: axis_index(name) for axis, name in names.axes.items()})
    return reasons.KeyLimit(replace(limit.constraint, index=index), limit.tensor and names.tensors[limit.tensor])


def _schedule(schedule: Schedule, names: Names) -> Schedule:
    return replace(
        schedule,
        body=tuple(_node(node, names) for node in schedule.body),
        storage=tuple((names.tensors[tensor], storage) for tensor, storage in schedule.storage),
        split=schedule.split and names.axes[schedule.split],
        ahead=tuple(_pack(pack, names) for pack in schedule.ahead),
    )


def _node(node: Node, names: Names) -> Node:
    match node:
        case Loop(axis, tile, body):
            return Loop(names.axes[axis], tile, tuple(_node(inner, names) for inner in body))
        case Compute(operator, when):
            conditions = tuple(replace(condition, axis=names.axes[condition.axis]) for condition in when)
            return Compute(names.operators[operator], conditions)
        case Pack():
            return _pack(node, names)
        case _:
            assert_never(node)


def _pack(pack: Pack, names: Names) -> Pack:
    return replace(pack, operator=names.operators[pack.operator])


def _axes(axes: Iterable[str], names: Names) -> tuple[str, ...]:
    return tuple(names.axes[axis] for axis in axes)


def _tiles(tiles: reasons.Tiles, names: Names) -> reasons.Tiles:
    return tuple((names.axes[axis], tile) for axis, tile in tiles)
