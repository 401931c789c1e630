"""The nest that combines the partial results of a chain whose outermost loop is split.

The combination of a split sum: the parts' outputs are added up in their order: results do not depend on who computed them.

The combination of a split: all parts of a row have their states combined, then their sums, by the rescaling rule of the
row-wise reduction.

    state = combine over the parts of (state of the part * factor),    output = sum over the parts of (sum * factor) / total

The factors speak of the part's states (`Previous`) and of the merged ones (`State`). Parts are taken in their order, so that
results do not depend on who computed them.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.codegen import names
from tilewright.codegen.expressions import Value, multiply
from tilewright.codegen.loop_nest import Gather, LoopNest, Node, ParallelAxis, Range, VectorLoops, View
from tilewright.codegen.lower.context import Lowering, Scope, whole_range
from tilewright.codegen.lower.partial_results import extent_value, part_axis, part_count, row_shape, split_rows, stored_part
from tilewright.codegen.lower.storage import Stored, dense_strides, view
from tilewright.codegen.lower.storage import view as view_of
from tilewright.errors import InternalError
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import Load, Point, Previous, Scalar, State, apply, rewrite
from tilewright.graph.types import SUM, Access, Axis, AxisKind, Extent, Operator, Reduction, StateVariable
from tilewright.plan.regions.online_reductions import SoftmaxWeights, row_axes


def lower_addition(state: Lowering) -> LoopNest:
    """The loop nest that adds up the parts of a split, parallel over the first dimension of the output."""
    sink = state.chain.operators[-1]
    ranges = {axis: whole_range(extent) for axis, extent in state.chain.extents.items()}
    parallel: tuple[ParallelAxis, ...] = ()
    first = next((str(index) for index in sink.write.indices if index.is_axis()), None)
    if first is not None:
        outer = ranges[first]
        points = state.plan.execution.combined_points
        inner = outer.blocks(points, names.axis_start(first), names.axis_size(first))
        size = inner.size if isinstance(inner.size, str) else ""
        parallel = (ParallelAxis(first, str(inner.start), size, outer.size, points, ()),)
        ranges[first] = inner
    title = f"adds up the parts of {state.chain.output}"
    body = (_addition(state, sink, Scope(ranges)),)
    return LoopNest(f"{names.identifier(state.chain.name)}_merge", (title,), (), parallel, (), body)


def _addition(state: Lowering, sink: Operator, scope: Scope) -> VectorLoops:
    """The current block of the output, as the sum over the parts."""
    part, count = part_axis(state.plan), part_count(state.plan)
    target = state.view(sink.write, scope)
    if isinstance(target, Gather):
        raise InternalError(f"{sink.name} has a write that is not affine")
    written = tuple(axis for axis in sink.axes if axis.name in sink.write.axes())
    axes = (*written, Axis(part, 1, AxisKind.REDUCTION))
    parts = Range(0, count, count, frozenset((count,)) if isinstance(count, int) else None)
    box = (*((axis.name, scope.ranges[axis.name]) for axis in written), (part, parts))
    operator = Operator(f"{sink.name}_merge", "merge", axes, (sink.write,), sink.write, Load(0), SUM)
    lanes = sink.write.innermost()
    return VectorLoops(operator, box, (_parts_view(state, sink, scope, part),), target, lanes)


def _parts_view(state: Lowering, sink: Operator, scope: Scope, part: str) -> View:
    """The elements of all parts that are added up in the current block."""
    shape = state.chain.tensor(sink.write.tensor).shape
    found = view(sink.write, stored_part(state.plan, sink.write.tensor, shape, 0), scope.ranges)
    assert isinstance(found, View)
    return View(found.buffer, found.offset, (*found.strides, (part, multiply(1, *map(extent_value, shape)))))


def lower_combination(state: Lowering) -> LoopNest:
    """The loop nest that combines the partial results of a split, parallel over rows."""
    rows, softmax = split_rows(state.plan)
    parallel, ranges = _row_blocks(state, rows)
    combination = _Combination(state, rows, softmax, Scope(ranges))
    body = (*combination.states(), combination.weights(), combination.output())
    title = f"combines the partial results of {state.chain.name}: states of {rows.name}, then {state.chain.output}"
    return LoopNest(f"{names.identifier(state.chain.name)}_merge", (title,), (), parallel, tuple(state.buffers.values()), body)


def _row_blocks(state: Lowering, rows: Operator) -> tuple[tuple[ParallelAxis, ...], dict[str, Range]]:
    """Blocks of rows: single points along all row axes but the last."""
    ranges = {axis: whole_range(extent) for axis, extent in state.chain.extents.items()}
    axes = row_axes(rows)
    parallel = []
    for axis in axes:
        outer, tile = ranges[axis], state.plan.execution.combined_rows if axis == axes[-1] else 1
        if isinstance(outer.capacity, int) and outer.capacity <= tile:
            inner = outer
        else:
            inner = outer.blocks(tile, names.axis_start(axis), names.axis_size(axis))
        variable = "" if inner is outer else str(inner.start)
        size_variable = inner.size if isinstance(inner.size, str) and inner is not outer else ""
        parallel.append(ParallelAxis(axis, variable, size_variable, outer.size, tile, ()))
        ranges[axis] = inner
    return tuple(parallel), ranges


class _Combination:
    """What the steps of one combination share: the axis of parts, the current rows, and where everything lies."""

    def __init__(self, state: Lowering, rows: Operator, softmax: SoftmaxWeights, scope: Scope) -> None:
        self.state, self.rows, self.softmax, self.scope = state, rows, softmax, scope
        self.row_axes = tuple(rows.axis(axis) for axis in row_axes(rows))
        self.row_access = tuple(axis_index(axis.name) for axis in self.row_axes)
        self.part = part_axis(state.plan)
        count = part_count(state.plan)
        self.part_range = Range(0, count, count, frozenset((count,)) if isinstance(count, int) else None)

    def states(self) -> tuple[Node, ...]:
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

    def weights(self) -> Node:
        """What the sums of every part are multiplied by: the factor of its weights over the combined total."""
        body = apply("divide", self.over_loads(self.softmax.factor), Load(len(self.softmax.factors) * 2 - 1))
        axes = (*self.row_axes, Axis(self.part, 1))
        return self.loops(f"{self.rows.name}_weights", axes, body, self.weight_view(), None, self.part)

    def output(self) -> Node:
        """The output of the current rows."""
        state, sink = self.state, self.state.chain.operators[-1]
        written = tuple(axis for axis in sink.axes if axis.name in sink.write.axes())
        shape = state.chain.tensor(sink.write.tensor).shape
        sums = self.part_view(stored_part(state.plan, sink.write.tensor, shape, 0), sink.write, shape)
        target = state.view(sink.write, self.scope)
        if isinstance(target, Gather):
            raise InternalError(f"{sink.name} has a write that is not affine")
        axes = (*written, Axis(self.part, 1, AxisKind.REDUCTION))
        box = tuple((axis.name, self.range(axis.name)) for axis in axes)
        accesses = (sink.write, Access("weights", (*self.row_access, axis_index(self.part))))
        body = apply("multiply", Load(0), Load(1))
        operator = Operator(f"{sink.name}_merge", "merge", axes, accesses, sink.write, body, SUM)
        lanes = sink.write.innermost()
        return VectorLoops(operator, box, (sums, self.weight_view()), target, lanes)

    def loops(
        self, name: str, axes: tuple[Axis, ...], body: Scalar, write: View, reduction: Reduction | None, lanes: str | None
    ) -> VectorLoops:
        """A step over rows and parts. Its reads are the states of the parts, then the merged ones."""
        softmax = [state for state, _ in self.softmax.factors]
        shape = row_shape(self.state.plan, self.rows)
        tensor = self.rows.write.tensor
        access = Access(name, self.row_access)
        parts = [self.part_view(stored_part(self.state.plan, tensor, shape, 0, state), access, shape) for state in softmax]
        reads = (*parts, *(self.combined(state) for state in softmax))
        indices = self.row_access if reduction is not None else (*self.row_access, axis_index(self.part))
        operator = Operator(name, "merge", axes, (access,) * len(reads), Access(name, indices), body, reduction)
        return VectorLoops(operator, tuple((axis.name, self.range(axis.name)) for axis in axes), reads, write, lanes)

    def over_loads(self, factor: Scalar) -> Scalar:
        """A rescaling rule in terms of the reads of `loops`."""
        place = {name: number for number, (name, _) in enumerate(self.softmax.factors)}

        def load(node: Scalar) -> Scalar | None:
            if isinstance(node, Previous):
                return Load(place[node.name])
            return Load(len(place) + place[node.name]) if isinstance(node, State) else None

        return rewrite(factor, load)

    def range(self, axis: str) -> Range:
        """The current range of an axis."""
        return self.part_range if axis == self.part else self.scope.ranges[axis]

    def part_view(self, stored: Stored, access: Access, shape: tuple[Extent, ...]) -> View:
        """The elements of all parts that an access addresses in the current rows."""
        found = view_of(access, stored, self.scope.ranges)
        assert isinstance(found, View)
        step = multiply(1, *map(extent_value, shape))
        return View(found.buffer, found.offset, (*found.strides, (self.part, step)))

    def combined(self, name: str) -> View:
        """Scratch for a merged state of the current rows."""
        return self.scratch(name, (), {})

    def weight_view(self) -> View:
        """Scratch for the weights of all parts of the current rows."""
        return self.scratch("weights", (self.part_range.capacity,), {self.part: 1})

    def scratch(self, name: str, more: tuple[Value, ...], steps: Mapping[str, Value]) -> View:
        """Scratch for the current rows, with more dimensions behind theirs."""
        sizes = (*(self.scope.ranges[axis.name].capacity for axis in self.row_axes), *more)
        strides = dense_strides(sizes)
        buffer = names.running(self.rows.write.tensor, name)
        self.state.scratch(buffer, multiply(1, *sizes), f"{name} of a block of rows")
        return View(buffer, 0, (*zip((axis.name for axis in self.row_axes), strides, strict=False), *steps.items()))
