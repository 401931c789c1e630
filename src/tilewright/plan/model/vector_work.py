"""Cost of vector loops, of maps and row-wise reductions: functions, passes over operands, and the end of every row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

from tilewright.arrays import Count, Quantity, either, maximum, minimum, product
from tilewright.graph.index import Index
from tilewright.graph.scalar import Apply, Scalar, State, is_of_row, subexpressions
from tilewright.graph.types import Operator
from tilewright.kernels.dialects.vocabulary import ROW_UNROLL
from tilewright.plan.element_types import held_bytes
from tilewright.plan.execution import LEAST_TURNED_ROWS
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.traffic import Footprints, passes
from tilewright.plan.regions.loop_views import LoopView
from tilewright.plan.regions.online_reductions import blocks_of_rows, divided_by_readers, row_axes, softmax_weights, weights_read
from tilewright.plan.regions.packed_sums import MOST_ROWS, PackedSum, packed_sum
from tilewright.plan.regions.sliding_sums import ChannelSum, SlidingSum, channel_sum, sliding_sum, window_taps


def function_seconds(context: CostContext, operator: Operator, tiles: Mapping[str, Count]) -> Quantity:
    """The time of a map or row-wise reduction in blocks of these tiles: its distinct scalar functions and its passes."""
    sliding = sliding_sum(operator)
    if sliding is not None:
        return sliding_seconds(context, operator, sliding)
    by_channels = channel_sum(operator)
    if by_channels is not None:
        return channel_sum_seconds(context, operator, by_channels, tiles[by_channels.columns.output])
    packed = packed_sum(operator)
    if packed is not None:
        return packed_seconds(context, operator, packed, tiles[packed.row])
    roots = [operator.body]
    if operator.reduction is not None:
        roots += [*(state.contribution for state in operator.reduction.states), operator.reduction.finish]
    computing = _points(context, operator) * _seconds_per_element(context, operator, roots, passes(operator))
    return computing + transposing_seconds(context, operator, tiles) + strided_seconds(context, operator)


def sliding_seconds(context: CostContext, operator: Operator, sliding: SlidingSum) -> Quantity:
    """The time of sums over windows whose rows stream past: multiply-adds in whole vectors, and what finishes the sums.

    Columns are filled up to whole vectors, or to half a vector where two rows share it. Every other column of two
    vectors is told apart for each multiply-add or two. Where masks have no registers of their own (vectors of up to 8 lanes),
    the borders of a row take as long as a vector more.
    """
    assert operator.reduction is not None
    columns, lanes = context.sizes[sliding.columns.output], context.lanes(operator)
    taps = {axis.name for axis in operator.reduction_axes()}
    around = product(context.sizes[axis.name] for axis in operator.axes if axis.name not in taps | {sliding.columns.output})
    width = either(2 * columns <= lanes, lanes // 2, lanes)  # as `SlidingSum.pairs`; required regions have a width for every tile
    sums = around * -(-columns // width) * width
    borders, shares = (0, SHARE_WITH_MASKS) if lanes == LANES_WITH_MASKS else (around * lanes, SLIDING_SHARE)
    peak = context.machine.highest_peak(operator.accumulator) * shares[sliding.columns.stride]
    finish_s = sums * _seconds_per_element(context, operator, [operator.reduction.finish], 0)
    return 2 * (sums + borders) * sliding.taps / peak + finish_s


def channel_sum_seconds(context: CostContext, operator: Operator, found: ChannelSum, tile: Count) -> Quantity:
    """The time of sums over windows with lanes along channels: multiply-adds in whole vectors, and what finishes the sums.

    Blocks of sums load the weights of a row of taps and the columns that they see, two vectors a cycle, as many as multiply-adds;
    `tile` columns are cut into equal blocks and a shorter one.
    """
    assert operator.reduction is not None
    taps, lanes = {axis.name for axis in operator.reduction_axes()}, context.lanes(operator)
    columns, width = found.columns.output, context.sizes[found.columns.output]
    around = product(context.sizes[axis.name] for axis in operator.axes if axis.name not in taps | {found.channel, columns})
    vectors = around * -(-context.sizes[found.channel] // lanes)
    steps = width // tile * _steps_of_columns(found, tile, lanes) + _steps_of_columns(found, width % tile, lanes)
    rows = found.taps // found.columns.taps
    share = CHANNEL_SHARE_WITH_MASKS if lanes == LANES_WITH_MASKS else CHANNEL_SHARE
    peak = context.machine.highest_peak(operator.accumulator) * share
    finish_s = vectors * lanes * width * _seconds_per_element(context, operator, [operator.reduction.finish], 1)
    return 2 * vectors * lanes * rows * steps / peak + finish_s


def _steps_of_columns(found: ChannelSum, columns: Count, lanes: int) -> Count:
    """Multiply-adds of a row of taps, or loads where these are more, for so many sums of a row."""
    blocks = maximum(-(-columns // found.most_columns(lanes)), 1)
    wide = maximum(-(-columns // blocks), 1)
    return columns // wide * _steps(found, wide) + _steps(found, columns % wide)


def _steps(found: ChannelSum, wide: Count) -> Count:
    """Those of a block of sums; 0 of none."""
    slide = found.columns
    sums = wide * slide.taps
    seen = (wide - 1) * slide.stride + (slide.taps - 1) * slide.dilation + 1
    return either(wide > 0, maximum(sums, slide.taps + minimum(seen, sums)), 0)


def packed_seconds(context: CostContext, operator: Operator, packed: PackedSum, tile: Count) -> Quantity:
    """The time of sums of packed weights in blocks of so many rows: what every vector of numbers costs, once for some rows, and
    for each of them."""
    unpacking, taking = PACKED_CYCLES[packed.is_whole]
    numbers = product(context.sizes[axis.name] for axis in operator.axes if axis.name != packed.row) * packed.per_byte
    rows = context.sizes[packed.row]
    unpacked = rows // tile * -(-tile // MOST_ROWS) + -(-(rows % tile) // MOST_ROWS)
    cycles = (unpacked * unpacking + rows * taking) * numbers * context.vectors_per_element(operator)
    return cycles / context.machine.frequency_hz


PACKED_CYCLES = {False: (1.2, 0.55), True: (0.15, 0.3)}
"""Cycles in which a vector of packed numbers is unpacked, and in which it is multiplied by a row, of floats and of integers."""
LANES_WITH_MASKS = 16
"""Vectors of so many (AVX-512) have registers of their own for masks, so that borders cost next to nothing, and 32 for sums."""
SHARE_WITH_MASKS = {1: 0.85, 2: 0.6}
"""Of the peak, what multiply-adds of sliding sums reach with masks, by the stride of columns."""
SLIDING_SHARE = {1: 0.9, 2: 0.7}
"""The same without, where borders are counted apart. One core of Zen 3 (AVX2, peak 103 GFLOP/s), GFLOP/s of rows of 7, 14, 28 and
56 columns, all included: 3x3 22, 39, 44, 58; 5x5 30, 49, 60; by two, rows of 7, 14 and 28: 26, 25, 44."""
CHANNEL_SHARE_WITH_MASKS = 0.6
"""Of the peak, what multiply-adds of channel sums reach with AVX-512."""
CHANNEL_SHARE = 0.85
"""The same on all other machines. That core, GFLOP/s, all included: 3x3 of 960 channels on 7 x 7 61, of 576 on 14 x 14 57, of 192
on 28 x 28 46; 5x5 of 672 on 14 x 14 61, of 240 on 28 x 28 61. Large images wait for memory: 144 of 56 x 56 35."""


def transposing_seconds(context: CostContext, operator: Operator, tiles: Mapping[str, Count]) -> Quantity:
    """The time in which a map transposes reads that lie along another axis than its write, by squares as wide as vectors.

    Squares end where blocks end, and a short square takes as long as a whole one. Blocks of few rows are not transposed: the
    elements of a vector along the rows are stored one by one.
    """
    columns = operator.write.innermost()
    if not operator.is_map() or columns is None:
        return 0.0
    cycles: Quantity = 0
    for rows in _transposed_rows(operator, columns):
        around = product(context.sizes[axis.name] for axis in operator.axes if axis.name not in (rows, columns))
        by_row, by_column = (
            _vectors_along(context.sizes[axis], tiles[axis], context.lanes(operator)) for axis in (rows, columns)
        )
        squares = around * by_row * by_column * context.coefficients.tile_transpose_cycles
        one_by_one = around * by_row * context.sizes[columns] * context.coefficients.transpose_cycles_per_vector
        cycles = cycles + either(tiles[rows] >= LEAST_TURNED_ROWS, squares, one_by_one)
    scattered = either(cycles > 0, _lines_beyond(context, operator), 0)
    return (cycles + scattered * context.coefficients.scattered_line_cycles) / context.machine.frequency_hz


def strided_seconds(context: CostContext, operator: Operator) -> Quantity:
    """The time in which a map takes elements apart that it reads with gaps along the lanes of its write, as windows by two are.

    Two vectors and a permutation make a vector of every other element; wider gaps are loaded one by one.
    """
    columns = operator.write.innermost()
    if not operator.is_map() or columns is None:
        return 0.0
    last = [access.indices[-1] for access in operator.reads if access.indices and not access.lookups]
    strides = [abs(index.coefficient(columns)) for index in last if index.is_affine()]
    by_two, wider = strides.count(2), sum(stride > 2 for stride in strides)
    coefficients, lanes = context.coefficients, context.lanes(operator)
    cycles = by_two * coefficients.strided_cycles_per_vector + wider * lanes * coefficients.scalar_step_cycles
    return _points(context, operator) * context.vectors_per_element(operator) * cycles / context.machine.frequency_hz


def _transposed_rows(operator: Operator, columns: str) -> Iterator[str]:
    """For every read that lies along another axis of the result than its columns, that axis."""
    for access in operator.reads:
        is_moved = columns in access.axes() and not access.lookups and all(index.is_affine() for index in access.indices)
        rows = Index(access.indices[-1].terms) if is_moved else Index()
        if rows.is_axis() and str(rows) != columns and str(rows) in operator.write.axes():
            yield str(rows)


def _vectors_along(size: Count, tile: Count, lanes: Count) -> Count:
    """The vectors of an axis that blocks cut into tiles."""
    return size // tile * -(-tile // lanes) + -(-(size % tile) // lanes)


def _lines_beyond(context: CostContext, operator: Operator) -> Quantity:
    """Lines of a result that the level that blocks are fused for does not hold as a whole."""
    size_bytes = held_bytes(context.chain, operator.write.tensor) * _points(context, operator)
    lines = size_bytes / context.machine.levels[0].line_bytes
    return either(size_bytes > context.capacity_bytes, lines, 0)


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
    applied = {node for root in roots for node in subexpressions(root) if isinstance(node, Apply)}
    costs, default_cycles = dict(context.coefficients.function_cycles_per_vector), context.coefficients.other_function_cycles
    inside = [node for node in applied if not is_of_row(node)]
    functions = sum(default_cycles if _is_once_a_row(node) else costs.get(node.function, default_cycles) for node in inside)
    cycles_per_vector = functions + over * context.coefficients.pass_cycles_per_vector
    return context.vectors_per_element(operator) * cycles_per_vector / context.machine.frequency_hz


def _is_once_a_row(node: Apply) -> bool:
    """Whether it divides by a state: its reciprocal is taken once a row, and every point is multiplied by that."""
    return node.function == "divide" and isinstance(node.operands[1], State)
