"""Row-wise reductions that run in parts.

Lowering of row-wise reductions that make weights: states between blocks of their rows, and the sums that they correct.

A row-wise reduction takes its states along: at the first block they start from their identities, at every block they come out
with the factor that its older weights are to be multiplied by. Who sums the weights multiplies what it has by that factor before
it adds a block, and divides by the total after the last one. The parts of a split leave both to their combination. Of whole
rows only the division is left to who sums the weights, where that is less work.

The region that combines the partial results of a chain whose outermost loop is split.

The combination of a split sum: the parts' outputs are added up in their order: results do not depend on who computed them.

The combination of a split: all parts of a row have their states combined, then their sums, by the rescaling rule of the
row-wise reduction.

    state = combine over the parts of (state of the part * factor),    output = sum over the parts of (sum * factor) / total

The factors speak of the part's states (`Previous`) and of the merged ones (`State`). Parts are taken in their order, so that
results do not depend on who computed them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from tilewright.block.integers import IntegerExpression, all_of, any_of, equal, unequal
from tilewright.block.memory import BufferName, Content, View
from tilewright.block.program import Region, nested
from tilewright.block.statements import Fill, For, If, RunningStates, Statement, TileEpilogue, TileOperand, VectorLoops
from tilewright.errors import InternalError
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import Literal, Load, Point, Previous, Scalar, State, apply, rewrite
from tilewright.graph.types import PRODUCT, SUM, Access, Axis, AxisKind, Extent, Operator, Reduction, StateVariable
from tilewright.lower.context import Lowering, Scope, whole_range
from tilewright.lower.storage import (
    Stored,
    dense_strides,
    elements,
    extent_value,
    part_axis,
    part_count,
    partial_buffers,
    row_shape,
    split_rows,
    stored_part,
    strided,
)
from tilewright.plan.regions.online_reductions import (
    SoftmaxWeights,
    cut_axes,
    divided_by_readers,
    row_axes,
    softmax_weights,
    state_blocks,
    weights_read,
)

FACTOR = "factor"
"""Names the buffer of what older weights of every row are multiplied by."""
INVERSE = "inverse"
"""Names the buffer of what sums of weights of whole rows are multiplied by."""


def is_cut(state: Lowering, operator: Operator) -> bool:
    """Whether the schedule runs a row-wise reduction in blocks of its reduction."""
    return bool(cut_axes(state.chain, state.plan.schedule, operator))


def lower_cut_rows(state: Lowering, operator: Operator, loops: VectorLoops, scope: Scope) -> tuple[Statement, ...]:
    """One block of a row-wise reduction, with its states taken along; the first block starts them."""
    weights = weights_of(operator)
    assert operator.reduction is not None
    views = {name: row_view(state, operator, name, scope) for name in (*(name for name, _ in weights.factors), FACTOR)}
    starts = tuple(_started(state, operator, one, views[one.name], scope) for one in operator.reduction.states)
    states = tuple((name, views[name], factor) for name, factor in weights.factors)
    first = all_of(*(equal(scope.ranges[axis].start, scope.origin(axis)) for axis in _reduced(operator)))
    return If(first, starts), replace(loops, running=RunningStates(states, views[FACTOR]))


def _started(state: Lowering, operator: Operator, started: StateVariable, write: View, scope: Scope) -> Fill:
    """The identity of a state, for the current rows."""
    rows, name = tuple(map(operator.axis, row_axes(operator))), f"{operator.name}_{started.name}"
    access = Access(name, tuple(axis_index(axis.name) for axis in rows))
    mapping = Operator(name, "start", rows, (), access, Literal(started.identity))
    loops = state.added_loops(mapping, scope.box(rows), (), write, rows[-1].name if rows else None)
    return Fill(write, loops.box, started.identity, loops.leaf, f"{name}: start")


def lower_whole_rows(state: Lowering, operator: Operator, loops: VectorLoops, scope: Scope) -> VectorLoops:
    """A row-wise reduction on whole rows; where its readers divide, it keeps the reciprocals of the totals for them."""
    if not divided_by_readers(state.chain, operator.name):
        return loops
    return replace(loops, inverse=row_view(state, operator, INVERSE, scope))


def correct_sums(state: Lowering, operator: Operator, scope: Scope, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
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
    after = _scaled(state, operator, rows, weights_of(rows).total, "divide", scope)
    return (*_if(all_of(fresh, older), before), *body, *(() if scope.split else _if(adds_no_more(state, operator, scope), after)))


def divides_in_tiles(state: Lowering, operator: Operator, scope: Scope) -> bool:
    """Whether the micro tiles of a contraction divide its sums of weights of whole rows, in registers."""
    rows, plan = weights_read(state.chain, operator), state.plan.operator_plan(operator.name)
    kernel = state.kernels.get(plan.micro_kernel or "")
    if rows is None or plan.roles is None or kernel is None or kernel.emit_with is None or is_cut(state, rows):
        return False
    if not divided_by_readers(state.chain, rows.name):
        return False
    target, factors = state.view(operator.write, scope), row_view(state, rows, INVERSE, scope)
    unit = plan.roles.column is None or (isinstance(target, View) and target.stride(plan.roles.column) == 1)
    return unit and factors.stride(plan.roles.column) in (0, 1)


def tile_division(state: Lowering, operator: Operator, scope: Scope) -> TileEpilogue:
    """What divides complete sums of weights of whole rows: a factor for each, which are the product's rows, or its columns."""
    rows = weights_read(state.chain, operator)
    assert rows is not None
    factors = row_view(state, rows, INVERSE, scope)
    return TileEpilogue(apply("multiply", Load(0), Load(1)), (TileOperand(factors),))


def _scaled(state: Lowering, operator: Operator, rows: Operator, by: str, function: str, scope: Scope) -> VectorLoops:
    """The current tile of a contraction's result, multiplied or divided row by row."""
    target = state.strided(operator.write, scope)
    written = tuple(axis for axis in operator.axes if axis.name in operator.write.axes())
    accesses = (operator.write, Access(by, tuple(map(axis_index, row_axes(rows)))))
    body = apply(function, Load(0), Load(1))
    mapping = Operator(f"{operator.name}_{function}", "correct", written, accesses, operator.write, body)
    views = (target, row_view(state, rows, by, scope))
    lanes = operator.write.innermost() or (written[-1].name if written else None)  # arguments have unit stride there
    return state.added_loops(mapping, scope.box(written), views, target, lanes)


def row_view(state: Lowering, rows: Operator, name: str, scope: Scope) -> View:
    """Where a state of a row-wise reduction, or its factor, lies for the current rows."""
    access = Access(name, tuple(map(axis_index, row_axes(rows))))
    return strided(access, _row_buffer(state, rows, name, scope), scope.ranges)


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
    buffer = BufferName(rows.write.tensor, Content.RUNNING, name)
    state.scratch(buffer, elements(tuple(sizes), strides), f"{name} of the rows of {rows.name}")
    return Stored(buffer, strides, tuple(starts))


def _block_start(state: Lowering, rows: Operator, axis: str, scope: Scope) -> IntegerExpression:
    """Where the block of an axis starts for which the row-wise reduction ran last; the origin if no loop of it cuts the axis."""
    path = state.plan.schedule.path(rows.name)
    blocks = [block for loop, block in scope.loops if any(loop is ancestor for ancestor in path) and loop.axis == axis]
    return blocks[-1].start if blocks else scope.origin(axis)


def adds_no_more(state: Lowering, operator: Operator, scope: Scope) -> IntegerExpression:
    """Whether nothing is added after the current block. An empty sum stays 0."""
    conditions = []
    for axis in _reduced(operator):
        block, extent = scope.ranges[axis], state.chain.extents[axis]
        conditions.append(equal(block.stop, scope.end(axis, extent)))
        if not isinstance(extent, int) and extent.low == 0:
            conditions.append(unequal(extent_value(extent), 0))
    return all_of(*conditions)


def _if(condition: IntegerExpression, node: Statement) -> tuple[Statement, ...]:
    if condition == 1:
        return (node,)
    return (If(condition, (node,)),) if condition != 0 else ()


def weights_of(operator: Operator) -> SoftmaxWeights:
    """The rescaling rules of a row-wise reduction that has some."""
    weights = softmax_weights(operator)
    if weights is None:
        raise InternalError(
            f"row-wise reduction {operator.name} has no rescaling rule by which it could run in blocks of its rows"
        )
    return weights


def _reduced(operator: Operator) -> tuple[str, ...]:
    return tuple(axis.name for axis in operator.reduction_axes())


def lower_addition(state: Lowering) -> Region:
    """The region that adds up the parts of a split, parallel over the first dimension of the output."""
    scope, parallel = _scope_of_parts(state), list[For]()
    first = next((str(index) for index in state.chain.operators[-1].write.indices if index.is_axis()), None)
    if first is not None:
        whole, points = scope.ranges[first], state.plan.execution.combined_points
        block = whole.blocks(points, *scope.variables(first))
        parallel, scope = [For(first, whole, block, points)], scope.at(first, block)
    return _merge(state, parallel, (_sum_of_parts(state, scope),))


def lower_combination(state: Lowering) -> Region:
    """The region that combines the partial results of a split, parallel over rows: points along all row axes but the last."""
    rows, softmax = split_rows(state.plan)
    scope, parallel, axes = _scope_of_parts(state), list[For](), row_axes(rows)
    for axis in axes:
        whole, tile = scope.ranges[axis], state.plan.execution.combined_rows if axis == axes[-1] else 1
        scope = scope.at(axis, scope.block(axis, tile))
        parallel.append(For(axis, whole, scope.ranges[axis], tile))
    combination = _Combination(state, rows, softmax, scope)
    body = (*combination.states(), combination.weights(), combination.output())
    return _merge(state, parallel, body)


def _merge(state: Lowering, parallel: Sequence[For], body: tuple[Statement, ...]) -> Region:
    buffers = (*state.buffers.values(), *partial_buffers(state.plan))
    return Region(f"{state.chain.name}_merge", nested(parallel, body), buffers)


def _scope_of_parts(state: Lowering) -> Scope:
    """All points, and all parts."""
    return Scope({**state.whole_ranges(), part_axis(state.plan): whole_range(part_count(state.plan))})


def _sum_of_parts(state: Lowering, scope: Scope, weights: tuple[tuple[Access, View], ...] = ()) -> VectorLoops:
    """The current block of the output, as the sum over the parts, each times its weights if there are some."""
    sink = state.chain.operators[-1]
    written = tuple(axis for axis in sink.axes if axis.name in sink.write.axes())
    axes = (*written, Axis(part_axis(state.plan), 1, AxisKind.REDUCTION))
    accesses, views = (sink.write, *(access for access, _ in weights)), tuple(view for _, view in weights)
    body = PRODUCT if weights else Load(0)
    operator = Operator(f"{sink.name}_merge", "merge", axes, accesses, sink.write, body, SUM)
    shape = state.chain.tensor(sink.write.tensor).shape
    sums, target = _view_of_parts(state, sink.write.tensor, sink.write, shape, scope), state.strided(sink.write, scope)
    return state.added_loops(operator, scope.box(axes), (sums, *views), target, sink.write.innermost(), part_axis(state.plan))


def _view_of_parts(
    state: Lowering, tensor: str, access: Access, shape: tuple[Extent, ...], scope: Scope, row_state: str = ""
) -> View:
    """The elements of all parts that an access addresses in the current block."""
    found = strided(access, stored_part(state.plan, tensor, shape, 0, row_state), scope.ranges)
    step = prod(map(extent_value, shape))
    return replace(found, strides=(*found.strides, (part_axis(state.plan), step)))


class _Combination:
    """What the steps of one combination share: the axis of parts, the current rows, and where everything lies."""

    def __init__(self, state: Lowering, rows: Operator, softmax: SoftmaxWeights, scope: Scope) -> None:
        self.state, self.rows, self.softmax, self.scope = state, rows, softmax, scope
        self.row_axes = tuple(rows.axis(axis) for axis in row_axes(rows))
        self.row_access = tuple(axis_index(axis.name) for axis in self.row_axes)
        self.part = part_axis(state.plan)

    def states(self) -> tuple[Statement, ...]:
        """Every state over all parts, in order: later ones are corrected by the merged earlier ones."""
        assert self.rows.reduction is not None
        nodes = []
        for number, (state, (name, factor)) in enumerate(zip(self.rows.reduction.states, self.softmax.factors, strict=True)):
            body: Scalar = Load(number)
            if factor is not None:
                body = apply("multiply", body, self.over_loads(factor))
            reduction = Reduction((StateVariable(name, state.identity, Point(), state.combine),), State(name))
            axes = (*self.row_axes, Axis(self.part, 1, AxisKind.REDUCTION))
            lanes = self.row_axes[-1].name if self.row_axes else None
            nodes.append(self.loops(f"{self.rows.name}_{name}", axes, body, self.combined(name), reduction, lanes))
        return tuple(nodes)

    def weights(self) -> Statement:
        """What the sums of every part are multiplied by: the factor of its weights over the combined total."""
        body = apply("divide", self.over_loads(self.softmax.factor), Load(len(self.softmax.factors) * 2 - 1))
        axes = (*self.row_axes, Axis(self.part, 1))
        return self.loops(f"{self.rows.name}_weights", axes, body, self.weight_view(), None, self.part)

    def output(self) -> Statement:
        """The output of the current rows."""
        weights = Access("weights", (*self.row_access, axis_index(self.part)))
        return _sum_of_parts(self.state, self.scope, ((weights, self.weight_view()),))

    def loops(
        self, name: str, axes: tuple[Axis, ...], body: Scalar, write: View, reduction: Reduction | None, lanes: str | None
    ) -> VectorLoops:
        """A step over rows and parts. Its reads are the states of the parts, then the merged ones."""
        softmax = [state for state, _ in self.softmax.factors]
        shape = row_shape(self.state.plan, self.rows)
        tensor, access = self.rows.write.tensor, Access(name, self.row_access)
        of_part = Access(name, (axis_index(self.part), *self.row_access))
        parts = [_view_of_parts(self.state, tensor, access, shape, self.scope, state) for state in softmax]
        reads = (*parts, *(self.combined(state) for state in softmax))
        indices = self.row_access if reduction is not None else (*self.row_access, axis_index(self.part))
        accesses = (of_part,) * len(parts) + (access,) * len(softmax)
        operator = Operator(name, "merge", axes, accesses, Access(name, indices), body, reduction)
        part = self.part if reduction is not None else ""
        return self.state.added_loops(operator, self.scope.box(axes), reads, write, lanes, part)

    def over_loads(self, factor: Scalar) -> Scalar:
        """A rescaling rule in terms of the reads of `loops`."""
        place = {name: number for number, (name, _) in enumerate(self.softmax.factors)}

        def load(node: Scalar) -> Scalar | None:
            if isinstance(node, Previous):
                return Load(place[node.name])
            return Load(len(place) + place[node.name]) if isinstance(node, State) else None

        return rewrite(factor, load)

    def combined(self, name: str) -> View:
        """Scratch for a merged state of the current rows."""
        return self.scratch(name, (), {})

    def weight_view(self) -> View:
        """Scratch for the weights of all parts of the current rows."""
        return self.scratch("weights", (self.scope.ranges[self.part].capacity,), {self.part: 1})

    def scratch(self, name: str, more: tuple[IntegerExpression, ...], steps: Mapping[str, IntegerExpression]) -> View:
        """Scratch for the current rows, with more dimensions behind theirs."""
        sizes = (*(self.scope.ranges[axis.name].capacity for axis in self.row_axes), *more)
        strides = dense_strides(sizes)
        buffer = BufferName(self.rows.write.tensor, Content.RUNNING, name)
        self.state.scratch(buffer, prod(sizes), f"{name} of a block of rows")
        return View(buffer, 0, (*zip((axis.name for axis in self.row_axes), strides, strict=False), *steps.items()))
