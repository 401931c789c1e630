"""Cost model: cycles and bytes of each operator for one schedule or for an array of schedules.

price = per operator the largest of arithmetic (or memory-intensive functions) and the traffic into each level, plus what of the
traffic stays visible, packing, block and call overheads. All of it is for one call on one thread. Vector loops, of maps and
row-wise reductions, pay for functions, passes over operands, and the end of every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice, pairwise
from math import prod
from operator import mul

from tilewright.arrays import Count, Quantity, either, maximum, minimum, product
from tilewright.graph.expressions.scalar import Scalar
from tilewright.graph.types import Chain, Operator
from tilewright.kernels.contract import MicroKernel, OperandRole
from tilewright.leaves.declaration import WAYS, KernelWork
from tilewright.leaves.registry import kernel_work, leaf_of
from tilewright.machine.machine import Machine
from tilewright.plan.counts import Counted, count, count_elements
from tilewright.plan.model.cost_context import CostContext, seconds_at_peak, source_position
from tilewright.plan.model.memory.pages import left_column_seconds, left_page_seconds, target_page_seconds
from tilewright.plan.model.memory.traffic import ChainFigures, Footprints, Moved, bytes_into, footprints, passes
from tilewright.plan.model.needed_work import GuardedWork, guarded_work, least_bytes, least_flops
from tilewright.plan.model.operands.nested_sums import sums_at_once
from tilewright.plan.model.operands.packing_cost import in_place_seconds, least_packing_seconds, packing_seconds, run_seconds
from tilewright.plan.model.operands.prefetch_gain import prefetch_seconds, stream_seconds
from tilewright.plan.regions.loop_views import OperatorView
from tilewright.plan.regions.masks import is_plain_mask, key_mask_of
from tilewright.plan.regions.online_reductions import blocks_of_rows, divided_by_readers, row_axes, softmax_weights, weights_read
from tilewright.plan.regions.window_taps import window_taps
from tilewright.plan.types import Floor
from tilewright.records import record


@record
class Block:
    """What an operator's blocks are like whatever the order of the loops around them; every figure may be an array.

    Seconds and calls are those of one full pass over the operator.
    """

    tiles: Mapping[str, Count]
    footprints: Footprints
    arithmetic_s: Quantity
    functions_s: Quantity
    calls: Quantity


@record
class Work:
    """What one operator costs under a schedule; every field may be an array."""

    arithmetic_s: Quantity
    functions_s: Quantity
    packing_s: Quantity
    overhead_s: Quantity
    traffic_bytes: Mapping[str, Quantity]
    """Into each cache level, from the one behind it."""
    prefetch_s: Quantity = 0.0
    """Prefetch instructions less the visible traffic that they hide: below 0 where prefetching gains."""
    non_temporal_s: Quantity = 0.0
    """What shows of panels packed ahead where they are not prefetched. No price has it: that they are is decided by it."""
    line_buffer_s: Quantity = 0.0
    """Carrying over what neighbouring blocks share of a line-buffered result."""


def measure(context: CostContext, operator: Operator, tiles: Mapping[str, Count]) -> Block:
    """The blocks of an operator with these tiles."""
    return Block(tiles, footprints(context, operator, tiles), *computing(context, operator, tiles))


def computing(context: CostContext, operator: Operator, tiles: Mapping[str, Count]) -> tuple[Quantity, Quantity, Quantity]:
    """Seconds of arithmetic and of functions, and calls, of one full pass over an operator in blocks of these tiles."""
    if operator.name in context.kernels:
        work = arithmetic_work(context, operator, tiles)
        return work.seconds, epilogue_seconds(context, operator), work.calls
    return 0.0, 0.0 if operator.name in context.in_tiles else function_seconds(context, operator, tiles), 0


def arithmetic_work(context: CostContext, operator: Operator, tiles: Mapping[str, Count]) -> KernelWork:
    """Arithmetic and calls of one full pass over a contraction in blocks of these tiles."""
    work = whole_work(context, operator, tiles)
    return KernelWork(attained(context, context.kernels[operator.name]) * work.seconds, work.calls)


def whole_work(context: CostContext, operator: Operator, tiles: Mapping[str, Count]) -> KernelWork:
    """The same at the declared share of the peak."""
    problem, name = context.cost_problem(operator, tiles), operator.name
    if sums_at_once(context.chain, operator, context.roles[name], context.kernels[name], context.machine):
        problem = replace(problem, sums_at_once=True)
    return kernel_work(context.leaves[name], problem)


@record(eq=False)
class Passing:
    """What an operator does whether its right operand is packed or not, and prefetched or not; every figure may be an array."""

    context: CostContext
    """With the points that the operator walks along every axis."""
    around: ChainFigures
    view: OperatorView
    inner: OperatorView | None
    """Its view with the loops that cut its blocks for L1."""
    block: Block
    nearest: Block
    """The block around the micro kernel."""
    guarded: GuardedWork
    calls: Quantity
    arithmetic_s: Quantity
    functions_s: Quantity
    overhead_s: Quantity
    line_buffer_s: Quantity


@record(eq=False)
class Moving:
    """The work of an operator without prefetches, and what prefetches follow from."""

    passing: Passing
    moved: Moved
    """Bytes of every operand into each cache level."""
    packing_s: Quantity
    """Packing and pages."""
    pages_s: Mapping[OperandRole, Quantity]
    is_packed: bool
    """Whether the right operand is packed if it can be."""


def nothing(context: CostContext) -> Work:
    """The work of a map that micro tiles apply."""
    return Work(0.0, 0.0, 0.0, 0.0, {level.name: 0 for level in context.cache_levels})


def passing_of(
    context: CostContext,
    around: ChainFigures,
    view: OperatorView,
    block: Block | None = None,
    inner: OperatorView | None = None,
    nearest: Block | None = None,
) -> Passing:
    """What an operator that has operands does, however these are packed and prefetched.

    Arguments are those of `operator_work`; `nearest` is the block of the `inner` tiles, where that is known.
    """
    context = context.for_view(view)
    block = block or measure(context, view.operator, view.tiles)
    if nearest is None:
        nearest = block if inner is None else measure(context, view.operator, inner.tiles)
    running = view.running() if inner is None else inner.running()
    operator_axes = view.operator.axis_names
    repeats: Quantity = product(loop.trips for loop in running if loop.axis not in operator_axes)
    runs = product(loop.trips for loop in running)
    coefficients, hz = context.coefficients, context.machine.frequency_hz
    shared_count = around.shared_loops[view.operator.name]
    guarded = guarded_work(context, view, shared_count)
    repeats = repeats * guarded.computed
    calls = nearest.calls * repeats
    overhead_s = (calls * coefficients.tile_end_cycles + runs * coefficients.block_cycles) / hz
    functions = vector_seconds(context, view, block, shared_count)
    if is_plain_mask(context.chain, view.operator.name):  # it runs over the masked share of the computed points
        functions = functions * (guarded.masked / guarded.computed)
    line_buffered = view.line_buffered * coefficients.pass_cycles_per_vector
    line_buffer_s = line_buffered * context.vectors_per_element(view.operator) / hz
    arithmetic_s, functions_s = nearest.arithmetic_s * repeats, functions * repeats
    return Passing(
        context, around, view, inner, block, nearest, guarded, calls, arithmetic_s, functions_s, overhead_s, line_buffer_s
    )


def moving_of(passing: Passing, conflict: float | None = None) -> Moving:
    """What moves, and its packing and pages; `conflict` as of `operator_work`."""
    context, view, nearest = passing.context, passing.view, passing.nearest
    operator, footprint = view.operator, passing.block.footprints
    if conflict is None:
        packing = packing_seconds(context, passing.around, view)
    else:
        in_place = in_place_seconds(context, operator, nearest.tiles, passing.calls)
        packing = in_place + run_seconds(context, operator, footprint, view.tiles)
    inner = (passing.inner, nearest.footprints) if passing.inner is not None else None
    unmasked = bytes_into(context, passing.around, view, footprint, inner=inner, conflict=conflict or 1.0)
    moved = _guarded_traffic(context, operator, unmasked, passing.guarded)
    left_pages = left_page_seconds(context, operator, moved, nearest.tiles)
    pages = {OperandRole.LEFT: left_pages, OperandRole.RIGHT: 0.0 if conflict is None else packing}
    packing_s = packing + left_pages + target_page_seconds(context, operator, moved, nearest.tiles)
    packing_s = packing_s + left_column_seconds(context, operator, moved)
    return Moving(passing, moved, packing_s, pages, conflict is None)


def work_of(moving: Moving, kernels: Mapping[str, MicroKernel] | None = None) -> Work:
    """The work of an operator, prefetches included: those of other `kernels` that `MicroKernel.differs_in_prefetches` only."""
    passing, moved = moving.passing, moving.moved
    context, view = passing.context, passing.view
    context = context if kernels is None else context.with_kernels(kernels)
    tiles, is_packed = passing.nearest.tiles, moving.is_packed
    prefetch_s = prefetch_seconds(context, view, moved, tiles, passing.calls, packed=is_packed, pages_s=moving.pages_s)
    streamed_s = stream_seconds(context, view, moved, in_place=not is_packed)
    arithmetic_s, functions_s, overhead_s = passing.arithmetic_s, passing.functions_s, passing.overhead_s
    traffic = {level: sum(sizes) for level, sizes in moved.items()}
    return Work(arithmetic_s, functions_s, moving.packing_s, overhead_s, traffic, prefetch_s, streamed_s, passing.line_buffer_s)


def _guarded_traffic(context: CostContext, operator: Operator, moved: Moved, guarded: GuardedWork) -> Moved:
    """Bytes of every operand that move where masks leave out keys."""
    guard = key_mask_of(context.chain)
    if guard is None or operator.name not in guard.operators:
        return moved
    share = guarded.masked if is_plain_mask(context.chain, operator.name) else guarded.computed
    shares = [share if guard.axis in operand.axes else 1 for operand in context.operands[operator.name]]
    return {level: tuple(map(mul, sizes, shares)) for level, sizes in moved.items()}


def seconds(context: CostContext, work: Work) -> Quantity:
    """The price of one operator's work."""
    times = dict(islice(traffic_seconds(context, work).items(), context.source_position))
    longest: Quantity = work.arithmetic_s + work.functions_s
    for time in times.values():
        longest = maximum(longest, context.coefficients.overlapped_traffic * time)
    beside = work.packing_s + work.overhead_s + work.prefetch_s + work.line_buffer_s
    price: Quantity = longest + visible_seconds(context, times) + beside
    count(Counted.PRICINGS)
    count_elements(Counted.ELEMENTS, price)
    return price


def least_work(context: CostContext, operator: Operator, block: Block) -> Work:
    """What an operator does at least in blocks like these: every input and output comes once into each level.

    Its right operand is packed once or read in place.
    """
    operands = context.operands[operator.name]
    swept = zip(operands, block.footprints.swept, strict=True)
    once = sum(operand.element_bytes * elements for operand, elements in swept if not operand.is_intermediate)
    traffic = {level.name: once for level in context.cache_levels}
    overhead = block.calls * context.coefficients.tile_end_cycles / context.machine.frequency_hz
    packing = least_packing_seconds(context, operator, block.tiles, block.calls)
    return Work(block.arithmetic_s, least_functions(context, operator, block.functions_s), packing, overhead, traffic)


def least_functions(context: CostContext, operator: Operator, functions_s: Quantity) -> Quantity:
    """The least seconds of an operator's functions under any loops, of those of its blocks."""
    return functions_s if softmax_weights(operator) is None else minimum(functions_s, weight_seconds(context, operator))


def traffic_seconds(context: CostContext, work: Work) -> dict[str, Quantity]:
    """Traffic into every level over the bandwidth of the level behind it; nothing comes from behind the one that has it all."""
    source = context.source_position
    return {
        level.name: work.traffic_bytes[level.name] / behind.bandwidth_bytes_per_s if position < source else 0.0
        for position, (level, behind) in enumerate(pairwise(context.machine.levels))
    }


def visible_seconds(context: CostContext, times: Mapping[str, Quantity]) -> Quantity:
    """What of the traffic arithmetic does not hide; times are those of levels from the nearest on."""
    nearest, *behind = times.values()
    coefficients = context.coefficients
    return sum((coefficients.visible_traffic * time for time in behind), coefficients.visible_l1_traffic * nearest)


def floor(chain: Chain, machine: Machine) -> Floor:
    """Flops over peak, and what is needed of every input and output once over the bandwidth of the level that holds them all."""
    useful, size_bytes = least_flops(chain), least_bytes(chain)
    bandwidth = machine.levels[source_position(machine, size_bytes)].bandwidth_bytes_per_s
    return Floor(sum(useful.values()), sum(seconds_at_peak(machine, useful)), size_bytes, size_bytes / bandwidth)


def useful_seconds(context: CostContext, operator: Operator) -> Quantity:
    """Arithmetic of a contraction without any edges: all its points at the full rate of its micro kernel."""
    kernel = context.kernels[operator.name]
    return _points(context, operator) * (2 * attained(context, kernel) / kernel.attainable(context.machine))


def attained(context: CostContext, kernel: MicroKernel) -> float:
    """Time of a micro kernel over its time at its declared share of the peak: none is faster than the peak or its declaration."""
    fitted = context.coefficients.arithmetic
    return max(fitted, min(kernel.peak_share, 1.0)) if fitted else 0.0


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
    return sum(_points(context, operator) * seconds_per_element(context, operator, [operator.body], 0) for operator in maps)


def vector_seconds(context: CostContext, view: OperatorView, block: Block, shared_count: int) -> Quantity:
    """The vector work of an operator inside so many shared loops: its functions and passes, and what rows add to them.

    Every row ends with the lanes of its states folded into one. A row-wise reduction whose rows the loops cut makes weights
    without the last pass, and takes its states along: one vector a row for every state and rule. A sum of such weights is
    corrected at every block but the first, and divided at the last. Weights of whole rows are divided in their sums where that is
    less work: in registers, if the micro kernel takes an epilogue.
    """
    operator, shared, functions_s = view.operator, view.loops[:shared_count], block.functions_s
    rows_of = weights_read(context.chain, operator)
    if rows_of is not None:
        blocks = blocks_of_rows(rows_of, shared)
        corrected = block.footprints.swept[-1] * seconds_per_element(context, operator, (), 1)
        return functions_s + corrected * either(blocks > 1, blocks, int(divides_in_pass(context, operator, rows_of)))
    if not operator.is_row_reduction() or operator.reduction is None or window_taps(operator):
        return functions_s
    blocks = blocks_of_rows(operator, shared)
    rows = product(context.sizes[axis] for axis in row_axes(operator))
    folding = len(operator.reduction.states) * context.coefficients.row_cycles / context.machine.frequency_hz
    weights, states = softmax_weights(operator), passes(context, operator) - 1
    if weights is None:
        return functions_s + rows * folding + later_passes_seconds(context, operator, 1, states)
    factors = [factor for _, factor in weights.factors if factor is not None]
    taking = context.lanes(operator) * seconds_per_element(context, operator, factors, 1 + len(weights.factors))
    shares_s = weight_seconds(context, operator)
    online = shares_s + rows * blocks * (taking + folding) + later_passes_seconds(context, operator, blocks, states - 1)
    divided_later = divided_by_readers(context.chain, operator.name)
    whole = (shares_s if divided_later else functions_s) + rows * folding
    whole += later_passes_seconds(context, operator, 1, states - 1 if divided_later else states)
    return either(blocks > 1, online, whole)


def divides_in_pass(context: CostContext, contraction: Operator, rows_of: Operator) -> bool:
    """Whether sums of weights of whole rows are divided in a pass of its own, and not at the end of micro tiles."""
    kernel = context.kernels.get(contraction.name)
    return divided_by_readers(context.chain, rows_of.name) and (kernel is None or kernel.emit_with is None)


def later_passes_seconds(context: CostContext, operator: Operator, blocks: Count, passes_after: int) -> Quantity:
    """What shows of reading rows again, after the first pass: nothing where L1 holds the rows that are worked on together."""
    element = max(operand.element_bytes for operand in context.operands[operator.name])
    row = element * prod(context.sizes[axis.name] for axis in operator.reduction_axes()) / blocks
    bandwidth = context.machine.levels[min(1, len(context.machine.levels) - 1)].bandwidth_bytes_per_s
    again_s = passes_after * element * _points(context, operator) / bandwidth
    return either(WAYS * row > context.nearest_bytes, again_s * context.coefficients.visible_later_passes, 0)


def weight_seconds(context: CostContext, operator: Operator) -> Quantity:
    """The time in which a row-wise reduction makes undivided weights of all its points: a pass for every state."""
    assert operator.reduction is not None
    roots = [operator.body, *(state.contribution for state in operator.reduction.states)]
    return _points(context, operator) * seconds_per_element(context, operator, roots, passes(context, operator) - 1)


def _points(context: CostContext, operator: Operator) -> Count:
    return product(context.sizes[axis.name] for axis in operator.axes)


def seconds_per_element(context: CostContext, operator: Operator, roots: Iterable[Scalar], over: int) -> float:
    """The time of the distinct functions of some expressions and of some passes, in the lanes of an operator."""
    cycles = context.coefficients.cycles_per_vector(roots, over)
    return context.vectors_per_element(operator) * cycles / context.machine.frequency_hz
