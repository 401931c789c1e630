"""Long sums of a loop nest: vector loops whose reductions are cut into blocks (`plan.decisions.long_sums`).

Where only a call knows how long a sum is, both forms are there: short sums are computed as if nothing else were possible.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.codegen.expressions import Value, ceil_divide, less, multiply
from tilewright.codegen.loop_nest import BlockLoop, If, LoopNest, Node, Range, VectorLoops
from tilewright.plan.decisions.long_sums import BLOCK_STEPS, LONG_STEPS


def with_long_sums(nest: LoopNest, lanes: int) -> LoopNest:
    """The same nest with its long sums in blocks; `lanes` is the vector length."""
    parallel = tuple(replace(axis, prologue=_cut(axis.prologue, lanes)) for axis in nest.parallel)
    return replace(nest, setup=_cut(nest.setup, lanes), parallel=parallel, body=_cut(nest.body, lanes))


def _cut(body: tuple[Node, ...], lanes: int) -> tuple[Node, ...]:
    return tuple(found for node in body for found in _nodes(node, lanes))


def _nodes(node: Node, lanes: int) -> tuple[Node, ...]:
    match node:
        case BlockLoop() | If():
            return (replace(node, body=_cut(node.body, lanes)),)
        case VectorLoops() if _adds_floats(node):
            return _by_length(node, lanes)
        case _:
            return (node,)


def _adds_floats(loops: VectorLoops) -> bool:
    """Whether a reduction adds up floats. Sums of integers are exact in any order."""
    reduction = loops.operator.reduction
    adds = reduction is not None and any(state.combine == "add" for state in reduction.states)
    return adds and loops.scalar_loop_type in ("", "float64")


def _by_length(loops: VectorLoops, lanes: int) -> tuple[Node, ...]:
    """A sum as it is, or in blocks, or both where only a call knows."""
    steps, most = _steps(loops, lanes)
    if isinstance(steps, int) or (most is not None and most <= LONG_STEPS):
        most = steps if isinstance(steps, int) else most
        return (replace(loops, block_steps=BLOCK_STEPS),) if most is not None and most > LONG_STEPS else (loops,)
    in_blocks = replace(loops, block_steps=BLOCK_STEPS)
    return If(less(steps, LONG_STEPS + 1), (loops,)), If(less(LONG_STEPS, steps), (in_blocks,))


def _steps(loops: VectorLoops, lanes: int) -> tuple[Value, int | None]:
    """How many steps a sum has, and at most; None if nothing is known."""
    reduced = {axis.name for axis in loops.operator.reduction_axes()}
    along = loops.vector_axis if not loops.scalar_loop_type else None
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
