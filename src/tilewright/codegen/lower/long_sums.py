"""Vector loops as the plan wants them: unrolled and turned, long sums cut into blocks (`plan.decisions.long_sums`).

Where only a call knows how long a sum is, both forms are there: short sums are computed as if nothing else were possible.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.codegen.expressions import Value, ceil_divide, less, multiply
from tilewright.codegen.loop_nest import If, LoopNest, Node, Range, VectorLoops
from tilewright.plan.execution import Execution, Sums
from tilewright.plan.regions.channel_sums import channel_sum
from tilewright.plan.regions.packed_sums import packed_sum
from tilewright.plan.regions.sliding_sums import sliding_sum


def with_vector_details(nest: LoopNest, lanes: int, execution: Execution) -> LoopNest:
    """The same nest with its long sums in blocks, its vector loops unrolled and turned; `lanes` is the vector length."""
    return nest.mapped(lambda node: _nodes(node, lanes, execution))


def _nodes(node: Node, lanes: int, execution: Execution) -> tuple[Node, ...]:
    if not isinstance(node, VectorLoops):
        return (node,)
    loops = _with_sliding_sum(replace(node, vectors=execution.vectors), lanes)
    return _by_length(loops, lanes, execution.sums) if _adds_floats(node) else (loops,)


def _with_sliding_sum(loops: VectorLoops, lanes: int) -> VectorLoops:
    """A sliding sum with the number of its vectors side by side; a channel sum or a packed sum with the length of vectors."""
    found = sliding_sum(loops.operator)
    if found is None:
        has_lanes = channel_sum(loops.operator) is not None or packed_sum(loops.operator) is not None
        return replace(loops, sliding_lanes=lanes) if has_lanes else loops
    width = dict(loops.box)[found.columns.output].size
    return replace(loops, sliding=found.vectors(width if isinstance(width, int) else None, lanes), sliding_lanes=lanes)


def _adds_floats(loops: VectorLoops) -> bool:
    """Whether a reduction adds up floats. Sums of integers are exact in any order."""
    reduction = loops.operator.reduction
    adds = reduction is not None and any(state.combine == "add" for state in reduction.states)
    return adds and loops.scalar_element_type in ("", "float64")


def _by_length(loops: VectorLoops, lanes: int, sums: Sums) -> tuple[Node, ...]:
    """A sum as it is, or in blocks, or both where only a call knows."""
    steps, most = _steps(loops, lanes)
    if isinstance(steps, int) or (most is not None and most <= sums.long_steps):
        most = steps if isinstance(steps, int) else most
        return (replace(loops, block_steps=sums.block_steps),) if most is not None and most > sums.long_steps else (loops,)
    in_blocks = replace(loops, block_steps=sums.block_steps)
    return If(less(steps, sums.long_steps + 1), (loops,)), If(less(sums.long_steps, steps), (in_blocks,))


def _steps(loops: VectorLoops, lanes: int) -> tuple[Value, int | None]:
    """How many steps a sum has, and at most; None if nothing is known."""
    reduced = {axis.name for axis in loops.operator.reduction_axes()}
    along = loops.vector_axis if not loops.scalar_element_type else None
    steps: Value = 1
    most: int | None = 1
    for axis, span in loops.box:
        if axis in reduced:
            width, largest = (lanes if axis == along else 1), _largest(span)
            steps = multiply(steps, ceil_divide(span.size, width))
            most = most * -(-largest // width) if most is not None and largest is not None else None
    return steps, most


def _largest(span: Range) -> int | None:
    if span.sizes is not None:
        return max(span.sizes, default=0)
    return span.capacity if isinstance(span.capacity, int) else span.most
