"""Lowering of a plan to a block program: any schedule of the space, not only winners.

The tree is walked once, from the outside in, with the current range of every axis. Loops with one trip vanish, conditions that
are decided are folded, and every access becomes a view with explicit offset and strides.

Vector loops are unrolled and turned as the plan wants them, long sums cut into blocks (`plan.decisions.long_sums`). Where only a
call knows how long a sum is, both forms are there: short sums are computed as if nothing else were possible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile

from tilewright.block.execution import EVERY_OTHER, Execution, Sums
from tilewright.block.integers import IntegerExpression, all_of, ceil_divide, equal, less
from tilewright.block.memory import WORD_BYTES, Gather, Range, View
from tilewright.block.program import Region, nested
from tilewright.block.statements import For, If, Statement, VectorLoops
from tilewright.errors import PlanningError
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.types import AxisKind, Extent, Operator, element_bytes
from tilewright.kernels.contract import MicroKernel
from tilewright.leaves import registry
from tilewright.lower.context import Lowering, Scope
from tilewright.lower.contraction import lower_constant, lower_contraction, lower_pack, lower_shared_pack
from tilewright.lower.iteration_domains import keys_of_tiles, pieces, plain_part, restricted, scope_of
from tilewright.lower.joined_axes import with_joined_axes
from tilewright.lower.required_regions import RequiredRegions
from tilewright.lower.row_reductions import (
    correct_sums,
    is_cut,
    lower_addition,
    lower_combination,
    lower_cut_rows,
    lower_whole_rows,
)
from tilewright.lower.software_prefetch import with_software_prefetches
from tilewright.lower.storage import Stored, extent_value, partial_buffers, sums_weights
from tilewright.lower.tiles import before_loop, behind_loop, lower_tile, lower_tile_pack
from tilewright.plan import schedule as tree
from tilewright.plan.regions.aligned_producers import aligned
from tilewright.plan.regions.live_blocks import in_place_groups
from tilewright.plan.regions.masks import Mask, key_mask_of
from tilewright.plan.regions.online_reductions import why_rows_must_be_whole
from tilewright.plan.regions.required_regions import shared_loops
from tilewright.plan.regions.window_taps import window_taps
from tilewright.plan.types import Plan


def lower(plan: Plan, kernels: Mapping[str, MicroKernel], lanes: int, arguments: Mapping[str, Stored]) -> tuple[Region, ...]:
    """The regions of a plan: those that pack for all threads, the chain's, and the combination of a split reduction.

    `arguments` says where the chain's inputs and its output lie, but for constants that are only packed ahead; `lanes` is the
    vector length. Raises PlanningError where the schedule cannot be executed.
    """
    plan = replace(plan, chain=aligned(plan.chain)) if plan.machine.accelerator is not None else plan
    state = Lowering(plan, kernels, lanes, arguments)
    setup, rest = _split_packs(plan.schedule.body)
    scope = Scope(state.whole_ranges(), split=plan.schedule.split)
    if scope.split and scope.split not in plan.parallel_axes[:1]:
        raise PlanningError(f"the parts of {scope.split} are not distributed", why="the outermost parallel axis is another one")
    for pack in plan.schedule.ahead:
        lower_constant(state, pack, scope)
    together = tuple(lower_shared_pack(state, pack, scope) for pack in setup) if plan.execution.packs_together else ()
    setup_nodes = () if together else tuple(lowered for node in setup for lowered in _lower_pack(state, node, scope))
    parallel, body, block = _lower_parallel(state, plan.parallel_axes, rest, scope)
    body = with_software_prefetches(state, parallel, body, block)
    region = Region(
        plan.chain.name,
        (*setup_nodes, *nested(parallel, body)),
        (*state.buffers.values(), *partial_buffers(plan), *state.shared.values()),
        tuple(state.constants.values()),
        round(plan.price.seconds / plan.price.blocks * 1e9),
    )
    regions = (*together, region)
    if plan.schedule.split:
        combine = lower_combination if sums_weights(plan) else lower_addition
        regions = (*regions, combine(Lowering(plan, kernels, lanes, arguments)))
    return tuple(with_vector_details(region, lanes, plan.execution) for region in regions)


def _split_packs(body: tuple[tree.Node, ...]) -> tuple[tuple[tree.Pack, ...], tuple[tree.Node, ...]]:
    packs = tuple(takewhile(lambda node: isinstance(node, tree.Pack), body))
    return tuple(node for node in packs if isinstance(node, tree.Pack)), body[len(packs) :]


def _lower_parallel(
    state: Lowering, axes: tuple[str, ...], body: tuple[tree.Node, ...], scope: Scope
) -> tuple[tuple[For, ...], tuple[Statement, ...], Scope]:
    """The distributed loops with what is done when a block is entered, the body of a block, and its scope."""
    if not axes:
        return (), _lower_body(state, body, scope), scope
    loop = body[0]
    if len(body) != 1 or not isinstance(loop, tree.Loop) or loop.axis != axes[0]:
        raise PlanningError(
            f"axis {axes[0]} cannot be parallel", why="its loop is not the only node at its place of the schedule"
        )
    outer = scope.ranges[loop.axis]
    inner = _block(loop, scope)
    if loop.tile == 1 and inner is not outer:
        inner = Range(inner.start, 1, 1, frozenset((1,)))
    clips, inside = restricted(state, scope.enter(loop, inner))
    packs, rest = _split_packs(loop.body)
    entering = (*clips, *_lower_body(state, packs, inside))
    deeper, innermost, block = _lower_parallel(state, axes[1:], rest, inside)
    descends = dict(zip(state.plan.parallel_axes, state.plan.execution.descends, strict=False)).get(loop.axis, False)
    this = For(loop.axis, outer, inner, loop.tile, entering, descends=descends)
    return (this, *deeper), innermost, block


def _lower_body(state: Lowering, body: tuple[tree.Node, ...], scope: Scope) -> tuple[Statement, ...]:
    clips, scope = restricted(state, scope)
    if _is_shared_body(state, body, scope):
        return (*clips, *_lower_shared(state, body, scope))
    return (*clips, *(lowered for node in body for lowered in _lower_node(state, node, scope)))


def _is_shared_body(state: Lowering, body: tuple[tree.Node, ...], scope: Scope) -> bool:
    """Whether the paths to all operators part here."""
    operators = [name for node in body for name in _operators(node)]
    return len(scope.loops) == len(shared_loops(state.plan.schedule)) and len(operators) == len(state.chain.operators)


def _lower_shared(state: Lowering, body: tuple[tree.Node, ...], scope: Scope) -> tuple[Statement, ...]:
    """Inside the shared loops operators work on the required regions of their consumers' blocks, if there are any."""
    regions = RequiredRegions(state.chain, state.plan.schedule, scope.ranges, scope.outer_start())
    if not regions.region_axes:
        return tuple(lowered for node in body for lowered in _lower_node(state, node, scope))
    state.regions = regions
    nodes = list(regions.defined())
    for node in body:
        operators = (node.operator,) if isinstance(node, tree.Pack) else _operators(node)
        for operator in () if isinstance(node, tree.Pack) else operators:
            nodes += _carry(state, operator, scope)
        nodes += _lower_node(state, node, replace(scope, ranges=regions.inside(operators)))
    return (*regions.defined_bounds(), *nodes)


def _carry(state: Lowering, operator: str, scope: Scope) -> tuple[Statement, ...]:
    """What has to be moved before an operator that is the first to write to a line buffer."""
    tensor = state.chain.operator(operator).write.tensor
    group = next((group for group in in_place_groups(state.chain) if tensor == group[0]), ())
    if not group or state.plan.schedule.storage_of(tensor) is not tree.Storage.LINE_BUFFER or state.regions is None:
        return ()
    producers = [operator.name for operator in state.chain.operators if operator.write.tensor in group]
    return state.regions.carry(producers, state.stored(tensor, scope))


def _operators(node: tree.Node) -> tuple[str, ...]:
    """The operators at the leaves below a node."""
    match node:
        case tree.Loop():
            return tuple(name for inner in node.body for name in _operators(inner))
        case tree.Compute():
            return (node.operator,)
        case tree.Pack():
            return ()


def _lower_node(state: Lowering, node: tree.Node, scope: Scope) -> tuple[Statement, ...]:
    match node:
        case tree.Loop():
            return _lower_loop(state, node, scope)
        case tree.Pack():
            return _lower_pack(state, node, scope)
        case tree.Compute():
            condition = all_of(*(_condition(state, when, scope) for when in node.when))
            return _guarded(condition, _lower_compute(state, node, scope))


def _lower_pack(state: Lowering, pack: tree.Pack, scope: Scope) -> tuple[Statement, ...]:
    return lower_tile_pack(state, pack, scope) if state.takes_tiles else lower_pack(state, pack, scope)


def _lower_loop(state: Lowering, loop: tree.Loop, scope: Scope) -> tuple[Statement, ...]:
    outside = scope
    if state.takes_tiles and (keys := keys_of_tiles(state, loop, scope)) is not None:
        scope = scope.at(loop.axis, keys)
    outer = scope.ranges[loop.axis]
    inner = _block(loop, scope)
    body = _lower_body(state, loop.body, scope.enter(loop, inner))
    if inner is outer:
        return body
    may_be_empty = not isinstance(state.chain.extents[loop.axis], int)
    blocks = For(loop.axis, outer, inner, loop.tile, body, may_be_empty=may_be_empty)
    if not state.takes_tiles:
        return (blocks,)
    return (*before_loop(state, loop, outside), blocks, *behind_loop(state, loop, outside))


def _block(loop: tree.Loop, scope: Scope) -> Range:
    """The range inside a loop: the outer one itself if the loop has one trip."""
    if loop.tile < 1:
        raise PlanningError(f"a loop over {loop.axis} has tiles of {loop.tile}", why="a tile has at least one point")
    return scope.block(loop.axis, loop.tile)


def _condition(state: Lowering, when: tree.When, scope: Scope) -> IntegerExpression:
    block = scope.ranges[when.axis]
    match when.trip:
        case tree.Trip.FIRST:
            return equal(block.start, 0 if when.axis == scope.split else scope.origin(when.axis))
        case tree.Trip.LAST:
            return equal(block.stop, scope.end(when.axis, state.chain.extents[when.axis]))


def _guarded(condition: IntegerExpression, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    if condition == 1:
        return body
    return (If(condition, body),) if condition != 0 and body else ()


def _lower_compute(state: Lowering, leaf: tree.Compute, scope: Scope) -> tuple[Statement, ...]:
    operator = state.chain.operator(leaf.operator)
    if state.takes_tiles:
        return lower_tile(state, operator, scope)
    part = state.plan.operator_plan(leaf.operator)
    if part.epilogue_of:
        return ()
    if part.roles is not None:
        return correct_sums(state, operator, scope, lower_contraction(state, operator, scope))
    assert part.leaf is not None
    if part.leaf.element_type:
        return _in_pieces(state, operator, scope)
    guard = key_mask_of(state.chain)
    mask = guard.mask(operator.name) if guard is not None else None
    if mask is not None:
        return _lower_mask(state, operator, mask, scope)
    if operator.is_map():
        return _in_pieces(state, operator, scope)
    loops = _vector_loops(state, operator, scope)
    if is_cut(state, operator) and not why_rows_must_be_whole(state.chain, state.plan.schedule, operator):
        return lower_cut_rows(state, operator, loops, scope)
    for axis in operator.axes:
        if axis.kind is AxisKind.REDUCTION or axis.name in registry.constraints_of(part.leaf).whole_axes:
            _require_whole(operator, axis.name, axis.extent, scope)
    return (with_joined_axes(lower_whole_rows(state, operator, loops, scope)),)


def _in_pieces(state: Lowering, operator: Operator, scope: Scope) -> tuple[Statement, ...]:
    """A map, in pieces where guards of its reads are decided."""
    nodes: list[Statement] = []
    for piece in pieces(operator):
        inside = scope_of(piece, scope)
        loops = _vector_loops(state, piece.operator, inside)
        changed = [inside.ranges[axis.name] for axis in operator.axes if inside.ranges[axis.name] is not scope.ranges[axis.name]]
        nodes += _guarded(all_of(*(less(0, block.size) for block in changed)), (loops,))
    return tuple(nodes)


def _lower_mask(state: Lowering, operator: Operator, mask: Mask, scope: Scope) -> tuple[Statement, ...]:
    """A mask on the current box: what it does inside of its limits where they hold for all rows, all of it elsewhere."""
    found = plain_part(mask, scope)
    if found is None or scope.domain is None:
        return (_vector_loops(state, operator, scope),)
    nodes, first, last = found
    axis = scope.domain.axis
    keys = scope.ranges[axis]
    parts: list[Statement] = []
    for start, stop, body in ((0, first, operator.body), (first, last, mask.inside), (last, keys.size, operator.body)):
        part = Range(keys.start + start, stop - start, keys.capacity, most=keys.most)
        loops = _vector_loops(state, replace(operator, body=body), scope.at(axis, part))
        is_in_place = isinstance(body, Load) and loops.reads[body.read] == loops.write
        parts += _guarded(less(start, stop), () if is_in_place else (loops,))
    return (*nodes, *parts)


def _vector_loops(state: Lowering, operator: Operator, scope: Scope) -> VectorLoops:
    reads = tuple(state.read(operator, access, scope) for access in operator.reads)
    write = state.strided(operator.write, scope)
    leaf = state.plan.operator_plan(operator.name).leaf
    assert leaf is not None
    lanes = _vector_axis(operator, reads, write)
    return VectorLoops(leaf, operator, scope.box(operator.axes), reads, write, vector_axis=lanes)


def _require_whole(operator: Operator, axis: str, extent: Extent, scope: Scope) -> None:
    block = scope.ranges[axis]
    if scope.domain is not None and block is scope.domain.range:
        return
    if block.start != 0 or block.size != extent_value(extent):
        raise PlanningError(
            f"operator {operator.name} cannot run in blocks of {axis}",
            why="a reduction with a finishing step, or its leaf, needs it whole",
            hint=f"keep the loop over {axis} below the operators that it feeds",
        )


def _vector_axis(operator: Operator, reads: tuple[View | Gather, ...], write: View) -> str | None:
    """Lanes run along the last dimension of a read that has unit stride there, preferably also of the write.

    They do not where along the write's own last dimension fewer operands are collected element by element (every other element is
    picked out of two vectors), nor along windows, nor where positions are looked up: what is written is a row.
    """
    candidates = [access.innermost() for access in (operator.write, *operator.reads)]
    taps = window_taps(operator)
    axes = [axis for axis in candidates if axis is not None and axis not in taps]
    if axes and operator.looked_up():
        return axes[0]
    parallel = [axis for axis in axes if operator.axis(axis).kind is AxisKind.PARALLEL]
    unit = [axis for axis in axes if any(isinstance(read, View) and read.stride(axis) == 1 for read in reads)]
    chosen = next(iter(unit or parallel or axes), None)
    views = [read for read in reads if isinstance(read, View)]
    apart = {axis: sum(read.stride(axis) not in (0, 1, EVERY_OTHER) for read in views) for axis in axes}
    apart = {axis: count + (write.stride(axis) not in (0, 1)) for axis, count in apart.items()}
    return axes[0] if axes and apart[axes[0]] < apart[chosen or axes[0]] else chosen


def with_vector_details(region: Region, lanes: int, execution: Execution) -> Region:
    """The same region with its long sums in blocks, its vector loops unrolled and turned; `lanes` is the vector length."""
    return region.mapped(lambda node: _nodes(node, lanes, execution))


def _nodes(node: Statement, lanes: int, execution: Execution) -> tuple[Statement, ...]:
    if not isinstance(node, VectorLoops):
        return (node,)
    loops = replace(node, vectors=execution.vectors, lanes=lanes)
    return _by_length(loops, lanes, execution.sums) if _adds_floats(node) else (loops,)


def _adds_floats(loops: VectorLoops) -> bool:
    """Whether a reduction adds up floats. Sums of integers are exact in any order."""
    reduction = loops.operator.reduction
    adds = reduction is not None and any(state.combine == "add" for state in reduction.states)
    return adds and loops.exact_element_type in ("", "float64")


def _by_length(loops: VectorLoops, lanes: int, sums: Sums) -> tuple[Statement, ...]:
    """A sum as it is, or in blocks, or both where only a call knows."""
    steps, most = _steps(loops, lanes)
    if isinstance(steps, int) or (most is not None and most <= sums.long_steps):
        most = steps if isinstance(steps, int) else most
        return (replace(loops, block_steps=sums.block_steps),) if most is not None and most > sums.long_steps else (loops,)
    in_blocks = replace(loops, block_steps=sums.block_steps)
    return If(less(steps, sums.long_steps + 1), (loops,)), If(less(sums.long_steps, steps), (in_blocks,))


def _steps(loops: VectorLoops, lanes: int) -> tuple[IntegerExpression, int | None]:
    """How many steps a sum has, and at most; None if nothing is known."""
    reduced = {axis.name for axis in loops.operator.reduction_axes()}
    lanes = max(1, lanes * WORD_BYTES // element_bytes(loops.computed_type))
    steps: IntegerExpression = 1
    most: int | None = 1
    for axis, span in loops.box:
        if axis in reduced:
            width, largest = (lanes if axis == loops.vector_axis else 1), _largest(span)
            steps *= ceil_divide(span.size, width)
            most = most * -(-largest // width) if most is not None and largest is not None else None
    return steps, most


def _largest(span: Range) -> int | None:
    if span.sizes is not None:
        return max(span.sizes, default=0)
    return span.capacity if isinstance(span.capacity, int) else span.most
