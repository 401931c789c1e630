"""The combination of a split sum: the parts' outputs are added up in their order: results do not depend on who computed them."""

from __future__ import annotations

from tilewright.codegen import names
from tilewright.codegen.expressions import multiply
from tilewright.codegen.loop_nest import Gather, LoopNest, ParallelAxis, Range, VectorLoops, View
from tilewright.codegen.lower.context import Lowering, Scope, whole_range
from tilewright.codegen.lower.partial_results import extent_value, part_axis, part_count, stored_part
from tilewright.codegen.lower.storage import view
from tilewright.errors import InternalError
from tilewright.graph.scalar import Load
from tilewright.graph.types import SUM, Axis, AxisKind, Operator


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
