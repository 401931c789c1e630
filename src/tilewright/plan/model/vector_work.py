"""Cost of vector loops, of maps and row-wise reductions: functions, passes over operands, and the end of every row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from tilewright.arrays import Count, Quantity, either, product
from tilewright.graph.expressions.scalar import Scalar
from tilewright.graph.types import Operator
from tilewright.kernels.dialects.vocabulary import ROW_UNROLL
from tilewright.leaves.registry import leaf_of
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.traffic import Footprints, passes
from tilewright.plan.regions.loop_views import LoopView
from tilewright.plan.regions.online_reductions import blocks_of_rows, divided_by_readers, row_axes, softmax_weights, weights_read
from tilewright.plan.regions.window_taps import window_taps


def function_seconds(context: CostContext, operator: Operator, tiles: Mapping[str, Count]) -> Quantity:
    """The compute time of an operator without a micro kernel, in blocks of these tiles."""
    binding = context.leaves[operator.name]
    return leaf_of(binding).seconds(binding, context.cost_problem(operator, tiles))


def epilogue_seconds(context: CostContext, contraction: Operator) -> Quantity:
    """The time of the functions that the micro tiles of a contraction apply in registers: there is no pass."""
    epilogue = context.epilogues.get(contraction.name)
    if epilogue is None:
        return 0.0
    maps = (context.chain.operator(name) for name in epilogue.maps)
    return sum(_points(context, operator) * _seconds_per_element(context, operator, [operator.body], 0) for operator in maps)


def vector_seconds(
    context: CostContext, operator: Operator, shared: tuple[LoopView, ...], functions_s: Quantity, block: Footprints
) -> Quantity:
    """The vector work of an operator inside these shared loops; `functions_s` is that of its functions and passes.

    Every row ends with the lanes of its states folded into one. A row-wise reduction whose rows the loops cut makes weights
    without the last pass, and takes its states along: one vector a row for every state and rule. A sum of such weights is
    corrected at every block but the first, and divided at the last. Weights of whole rows are divided in their sums where that is
    less work: in registers, if the micro kernel takes an epilogue.
    """
    rows_of = weights_read(context.chain, operator)
    if rows_of is not None:
        blocks = blocks_of_rows(rows_of, shared)
        corrected = block.swept[-1] * _seconds_per_element(context, operator, (), 1)
        return functions_s + corrected * either(blocks > 1, blocks, int(_divides_in_pass(context, operator, rows_of)))
    if not operator.is_row_reduction() or operator.reduction is None:
        return functions_s
    if window_taps(operator):
        return functions_s
    blocks = blocks_of_rows(operator, shared)
    rows = product(context.sizes[axis] for axis in row_axes(operator))
    folding = len(operator.reduction.states) * context.coefficients.row_cycles / context.machine.frequency_hz
    weights, states = softmax_weights(operator), len(operator.reduction.states)
    if weights is None:
        return functions_s + rows * folding + later_passes_seconds(context, operator, 1, states)
    factors = [factor for _, factor in weights.factors if factor is not None]
    taking = context.lanes(operator) * _seconds_per_element(context, operator, factors, 1 + len(weights.factors))
    shares_s = weight_seconds(context, operator)
    online = shares_s + rows * blocks * (taking + folding) + later_passes_seconds(context, operator, blocks, states - 1)
    divided_later = divided_by_readers(context.chain, operator.name)
    whole = (shares_s if divided_later else functions_s) + rows * folding
    whole += later_passes_seconds(context, operator, 1, states - 1 if divided_later else states)
    return either(blocks > 1, online, whole)


def _divides_in_pass(context: CostContext, contraction: Operator, rows_of: Operator) -> bool:
    """Whether sums of weights of whole rows are divided in a pass of its own, and not at the end of micro tiles."""
    kernel = context.kernels.get(contraction.name)
    return divided_by_readers(context.chain, rows_of.name) and (kernel is None or kernel.emit_with is None)


def later_passes_seconds(context: CostContext, operator: Operator, blocks: Count, passes_after: int) -> Quantity:
    """What shows of reading rows again, after the first pass: nothing where L1 holds the rows that are worked on together."""
    element = max(operand.element_bytes for operand in context.operands[operator.name])
    row = element * prod(context.sizes[axis.name] for axis in operator.reduction_axes()) / blocks
    bandwidth = context.machine.levels[min(1, len(context.machine.levels) - 1)].bandwidth_bytes_per_s
    again_s = passes_after * element * _points(context, operator) / bandwidth
    return either(ROW_UNROLL * row > context.nearest_bytes, again_s * context.coefficients.visible_later_passes, 0)


def weight_seconds(context: CostContext, operator: Operator) -> Quantity:
    """The time in which a row-wise reduction makes undivided weights of all its points: a pass for every state."""
    assert operator.reduction is not None
    roots = [operator.body, *(state.contribution for state in operator.reduction.states)]
    return _points(context, operator) * _seconds_per_element(context, operator, roots, passes(operator) - 1)


def _points(context: CostContext, operator: Operator) -> Count:
    return product(context.sizes[axis.name] for axis in operator.axes)


def _seconds_per_element(context: CostContext, operator: Operator, roots: Iterable[Scalar], over: int) -> float:
    """The time of the distinct functions of some expressions and of some passes, in the lanes of an operator."""
    cycles = context.coefficients.cycles_per_vector(roots, over)
    return context.vectors_per_element(operator) * cycles / context.machine.frequency_hz
