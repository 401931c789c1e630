"""Lowering of row-wise reductions that make weights: states between blocks of their rows, and the sums that they correct.

A row-wise reduction takes its states along: at the first block they start from their identities, at every block they come out
with the factor that its older weights are to be multiplied by. Who sums the weights multiplies what it has by that factor before
it adds a block, and divides by the total after the last one. The parts of a split leave both to their combination. Of whole
rows only the division is left to who sums the weights, where that is less work.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.codegen import names
from tilewright.codegen.expressions import Value, add, all_of, any_of, equal, unequal
from tilewright.codegen.loop_nest import Gather, If, Node, Range, RunningStates, TileEpilogue, TileOperand, VectorLoops, View
from tilewright.codegen.lower.context import Lowering, Scope
from tilewright.codegen.lower.partial_results import extent_value, row_shape, stored_part
from tilewright.codegen.lower.storage import Stored, dense_strides, elements
from tilewright.codegen.lower.storage import view as view_of
from tilewright.errors import InternalError
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import Access, Axis, Operator
from tilewright.plan.regions.online_reductions import (
    SoftmaxWeights,
    cut_axes,
    divided_by_readers,
    row_axes,
    softmax_weights,
    state_blocks,
    weights_read,
)
from tilewright.plan.types import ContractionRoles

FACTOR = "factor"
"""Names the buffer of what older weights of every row are multiplied by."""
INVERSE = "inverse"
"""Names the buffer of what sums of weights of whole rows are multiplied by."""


def is_cut(state: Lowering, operator: Operator) -> bool:
    """Whether the schedule runs a row-wise reduction in blocks of its reduction."""
    return bool(cut_axes(state.chain, state.plan.schedule, operator))


def lower_cut_rows(state: Lowering, operator: Operator, loops: VectorLoops, scope: Scope) -> tuple[Node, ...]:
    """One block of a row-wise reduction, with its states taken along; the first block starts them."""
    weights = _weights_of(operator)
    assert operator.reduction is not None
    views = {name: _row_view(state, operator, name, scope) for name in (*(name for name, _ in weights.factors), FACTOR)}
    starts = tuple(
        _row_map(operator, f"{operator.name}_{state.name}", Literal(state.identity), (), views[state.name], scope)
        for state in operator.reduction.states
    )
    states = tuple((name, views[name], factor) for name, factor in weights.factors)
    first = all_of(*(equal(scope.ranges[axis].start, scope.origin(axis)) for axis in _reduced(operator)))
    return If(first, starts), replace(loops, running=RunningStates(states, views[FACTOR]))


def lower_whole_rows(state: Lowering, operator: Operator, loops: VectorLoops, scope: Scope) -> VectorLoops:
    """A row-wise reduction on whole rows; where its readers divide, it keeps the reciprocals of the totals for them."""
    if not divided_by_readers(state.chain, operator.name):
        return loops
    return replace(loops, inverse=_row_view(state, operator, INVERSE, scope))


def correct_sums(state: Lowering, operator: Operator, scope: Scope, body: tuple[Node, ...]) -> tuple[Node, ...]:
    """A contraction on the current box; if it sums weights, its sums are corrected before, and divided after the last block."""
    rows = weights_read(state.chain, operator)
    if rows is None:
        return body
    if not is_cut(state, rows):
        divides = divided_by_readers(state.chain, rows.name) and not divides_in_tiles(state, operator, scope)
        last = adds_no_more(state, operator, scope)
        return (*body, *_if(last, _scaled(state, operator, rows, INVERSE, "multiply", scope))) if divides else body
    fresh = all_of(*(equal(scope.ranges[axis].start, _block_start(state, rows, axis, scope)) for axis in _reduced(operator)))
    older = any_of(*(unequal(scope.ranges[axis].start, scope.origin(axis)) for axis in _reduced(operator)))
    before = _scaled(state, operator, rows, FACTOR, "multiply", scope)
    after = _scaled(state, operator, rows, _weights_of(rows).total, "divide", scope)
    return (*_if(all_of(fresh, older), before), *body, *(() if scope.split else _if(adds_no_more(state, operator, scope), after)))


def divides_in_tiles(state: Lowering, operator: Operator, scope: Scope) -> bool:
    """Whether the micro tiles of a contraction divide its sums of weights of whole rows, in registers."""
    rows, plan = weights_read(state.chain, operator), state.plan.operator_plan(operator.name)
    kernel = state.kernels.get(plan.micro_kernel or "")
    if rows is None or plan.roles is None or kernel is None or kernel.emit_with is None or is_cut(state, rows):
        return False
    target, factors = state.view(operator.write, scope), _row_view(state, rows, INVERSE, scope)
    unit = plan.roles.column is None or (isinstance(target, View) and target.stride(plan.roles.column) == 1)
    return unit and factors.stride(plan.roles.column) in (0, 1) and divided_by_readers(state.chain, rows.name)


def tile_division(state: Lowering, operator: Operator, roles: ContractionRoles, scope: Scope) -> TileEpilogue:
    """What divides complete sums of weights of whole rows: a factor for each, which are the product's rows, or its columns."""
    rows = weights_read(state.chain, operator)
    assert rows is not None
    factors = _row_view(state, rows, INVERSE, scope)
    operand = TileOperand(factors, factors.stride(roles.row), factors.stride(roles.column) != 0)
    return TileEpilogue(apply("multiply", Load(0), Load(1)), (operand,))


def _scaled(state: Lowering, operator: Operator, rows: Operator, by: str, function: str, scope: Scope) -> VectorLoops:
    """The current tile of a contraction's result, multiplied or divided row by row."""
    target = state.view(operator.write, scope)
    if isinstance(target, Gather):
        raise InternalError(f"contraction {operator.name} has an access that is not affine")
    written = tuple(axis for axis in operator.axes if axis.name in operator.write.axes())
    accesses = (operator.write, Access(by, tuple(map(axis_index, row_axes(rows)))))
    body = apply(function, Load(0), Load(1))
    mapping = Operator(f"{operator.name}_{function}", "correct", written, accesses, operator.write, body)
    views = (target, _row_view(state, rows, by, scope))
    return VectorLoops(mapping, _box(written, scope), views, target, _lanes_axis(operator.write, written))


def _row_map(operator: Operator, name: str, body: Scalar, reads: tuple[View, ...], write: View, scope: Scope) -> VectorLoops:
    """A map over the current rows of a row-wise reduction."""
    rows = tuple(operator.axis(axis) for axis in row_axes(operator))
    access = Access(name, tuple(axis_index(axis.name) for axis in rows))
    mapping = Operator(name, "start", rows, (access,) * len(reads), access, body)
    return VectorLoops(mapping, _box(rows, scope), reads, write, rows[-1].name if rows else None)


def _row_view(state: Lowering, rows: Operator, name: str, scope: Scope) -> View:
    """Where a state of a row-wise reduction, or its factor, lies for the current rows."""
    access = Access(name, tuple(map(axis_index, row_axes(rows))))
    found = view_of(access, _row_buffer(state, rows, name, scope), scope.ranges)
    assert isinstance(found, View)
    return found


def _row_buffer(state: Lowering, rows: Operator, name: str, scope: Scope) -> Stored:
    if scope.split and name != FACTOR:
        start = scope.part_start()
        return stored_part(state.plan, rows.write.tensor, row_shape(state.plan, rows), start, name)
    starts, sizes = [], []
    for axis, loop in state_blocks(state.chain, state.plan.schedule, rows):
        block = next((block for candidate, block in scope.loops if candidate is loop), None)
        starts.append(0 if block is None else block.start)
        sizes.append(extent_value(state.chain.extents[axis]) if block is None else block.capacity)
    strides = dense_strides(tuple(sizes))
    buffer = names.running(rows.write.tensor, name)
    state.scratch(buffer, elements(tuple(sizes), strides), f"{name} of the rows of {rows.name}")
    return Stored(buffer, strides, tuple(starts))


def _block_start(state: Lowering, rows: Operator, axis: str, scope: Scope) -> Value:
    """Where the block of an axis starts for which the row-wise reduction ran last; the origin if no loop of it cuts the axis."""
    path = state.plan.schedule.path(rows.name)
    blocks = [block for loop, block in scope.loops if any(loop is ancestor for ancestor in path) and loop.axis == axis]
    return blocks[-1].start if blocks else scope.origin(axis)


def adds_no_more(state: Lowering, operator: Operator, scope: Scope) -> Value:
    """Whether nothing is added after the current block. An empty sum stays 0."""
    conditions = []
    for axis in _reduced(operator):
        block, extent = scope.ranges[axis], state.chain.extents[axis]
        conditions.append(equal(add(block.start, block.size), scope.end(axis, extent)))
        if not isinstance(extent, int) and extent.low == 0:
            conditions.append(unequal(extent_value(extent), 0))
    return all_of(*conditions)


def _if(condition: Value, node: Node) -> tuple[Node, ...]:
    if condition == 1:
        return (node,)
    return (If(condition, (node,)),) if condition != 0 else ()


def _weights_of(operator: Operator) -> SoftmaxWeights:
    weights = softmax_weights(operator)
    if weights is None:
        raise InternalError(
            f"row-wise reduction {operator.name} has no rescaling rule by which it could run in blocks of its rows"
        )
    return weights


def _reduced(operator: Operator) -> tuple[str, ...]:
    return tuple(axis.name for axis in operator.reduction_axes())


def _box(axes: tuple[Axis, ...], scope: Scope) -> tuple[tuple[str, Range], ...]:
    return tuple((axis.name, scope.ranges[axis.name]) for axis in axes)


def _lanes_axis(write: Access, axes: tuple[Axis, ...]) -> str | None:
    """The last dimension that is an axis: arguments that are written have unit stride there."""
    return write.innermost() or (axes[-1].name if axes else None)
