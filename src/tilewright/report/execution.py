"""Execution details of a plan, for a person: one sentence for each that differs from the plain way."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tilewright.graph.scalar import Point
from tilewright.graph.types import SUM, Operator, largest_extent, planned_extent
from tilewright.kernels.registry import registered
from tilewright.plan.decisions.micro_kernel import operand_bounds
from tilewright.plan.execution import KernelCalls, Vectors
from tilewright.plan.regions.online_reductions import weights_read
from tilewright.plan.schedule import Pack, Storage
from tilewright.plan.types import Plan
from tilewright.report import units

_MOST_STEPS = (2**31 - 1) // 255**2
"""Steps of int8 accumulation, zero points subtracted, that int32 always holds."""
_WRAPPING = (
    f"int8 accumulation over more than {_MOST_STEPS} products may wrap in 32 bits, which ONNX lets MatMulInteger and "
    "ConvInteger do; of operators that scale their sums weights exclude it"
)


def execution_lines(plan: Plan) -> Iterator[str]:
    """What micro tiles prefetch and store, how calls and sums are cut, what vector loops do by turns, and the order of blocks."""
    if plan.prefetched_inputs:
        names = ", ".join(plan.prefetching_operators)
        yield f"micro tiles of {names} prefetch {', '.join(plan.prefetched_inputs)} for the next block"
    if plan.non_temporal:
        yield f"stores of {plan.chain.output} are non-temporal"
    for operator in plan.operators:
        yield from (f"{operator.operator}: {text}" for text in _calls(operator.calls))
    yield from _exact(plan)
    yield from (f"{operator.name}: {_WRAPPING}" for operator in plan.chain.operators if _may_wrap(operator))
    yield from (f"{operator.name}: {_sums(plan)}" for operator in plan.chain.operators if _is_long_sum(plan, operator))
    yield from _vectors(plan)
    yield from _nests(plan)
    yield from _blocks(plan)
    yield from _combination(plan)
    yield from _rows(plan)


def _calls(calls: KernelCalls) -> Iterator[str]:
    if calls.most_steps:
        yield f"a call sums at most {calls.most_steps} steps, since sums are long"
    if calls.slice_steps:
        yield f"all columns are read {calls.slice_steps} steps at a time: its few rows would read short pieces of many"
    if calls.panels is not None:
        yield f"panels are read in slices of {units.size(calls.panels.slice_bytes)} while tiles prefetch the next"
    if calls.nested:
        yield "its tiles stay in registers over all that is summed"
    if calls.inlined:
        yield "its tiles are short, so that the micro kernel is inlined and not linked"


def _exact(plan: Plan) -> Iterator[str]:
    """Why a micro kernel whose sums of neighbouring products saturate is exact, and why one is allowed that flushes."""
    kernels = {kernel.name: kernel for kernel in registered()}
    for part in plan.operators:
        kernel = kernels.get(part.micro_kernel or "")
        if kernel is not None and kernel.flushes:
            yield f'{part.operator}: denormal numbers count as zeros, which precision="bf16" allows'
        if kernel is None or kernel.saturation is None or part.roles is None:
            continue
        bounds = operand_bounds(plan.chain, plan.chain.operator(part.operator), part.roles)
        worst, limit = kernel.saturation.worst_sum(*bounds), kernel.saturation.limit
        yield f"{part.operator}: two neighbouring products are at most {worst} by the weights, and saturate beyond {limit} only"


def _may_wrap(operator: Operator) -> bool:
    """Whether an operator sums more products of integers in int32 than are always within it."""
    steps = prod(largest_extent(axis.extent) for axis in operator.reduction_axes())
    return operator.reduction == SUM and len(operator.reads) > 1 and operator.accumulator == "int32" and steps > _MOST_STEPS


def _sums(plan: Plan) -> str:
    sums = plan.execution.sums
    return f"sums of more than {sums.long_steps} steps are made of blocks of {sums.block_steps}, with a compensated total"


def _is_long_sum(plan: Plan, operator: Operator) -> bool:
    """Whether a row-wise reduction has so many steps: vectors along the reduction, or points across."""
    if operator.reduction is None or operator.is_contraction():
        return False
    lanes = plan.machine.vector_bits // 32 if _has_lanes_along_reduction(operator) else 1
    points = 1
    for axis in operator.reduction_axes():
        points *= planned_extent(axis.extent)
    adds = any(state.combine == "add" for state in operator.reduction.states)
    return adds and points > lanes * plan.execution.sums.long_steps


def _has_lanes_along_reduction(operator: Operator) -> bool:
    reduced = {axis.name for axis in operator.reduction_axes()}
    return any(read.innermost() in reduced for read in operator.reads)


def _vectors(plan: Plan) -> Iterator[str]:
    """How vector loops hide the latency of combining, and from which size on they transpose what they read."""
    vectors = plan.execution.vectors
    loops = [operator for operator in plan.chain.operators if not plan.operator_plan(operator.name).epilogue_of]
    combining = [operator.name for operator in loops if _combines_what_it_reads(operator)]
    turning = [operator.name for operator in loops if _has_transposed_reads(operator, vectors)]
    if combining and vectors.accumulators > 1:
        yield f"{', '.join(combining)}: {vectors.accumulators} accumulators take turns where a step only combines"
    if turning:
        least = f"from {vectors.least_turned_columns} columns and {vectors.least_turned_rows} rows on"
        yield f"{', '.join(turning)}: operands are transposed in registers {least}"


def _nests(plan: Plan) -> Iterator[str]:
    """Which numbers of vector loops are literals: the others are arguments of functions that equal operators share."""
    loops = [operator for operator in plan.chain.operators if not plan.operator_plan(operator.name).epilogue_of]
    alike = [
        operator.name
        for operator in loops
        if not operator.is_contraction() and all(access.is_affine() for access in operator.reads)
    ]
    if alike:
        nests = plan.execution.nests
        literals = f"numbers up to {nests.most_literal}, and {nests.most_literal_lanes} along lanes, are literals in them"
        yield f"{', '.join(alike)}: loops are shared by all layers; {literals}, others arguments"


def _combines_what_it_reads(operator: Operator) -> bool:
    """Whether a step of a reduction along the lanes is no more than combining, as that of a row's maximum."""
    if operator.reduction is None or operator.is_contraction():
        return False
    return _has_lanes_along_reduction(operator) and any(state.contribution == Point() for state in operator.reduction.states)


def _has_transposed_reads(operator: Operator, vectors: Vectors) -> bool:
    """Whether a map has reads whose neighbours are rows of its write, and enough rows and columns to turn them."""
    column = operator.write.innermost()
    if column is None or not operator.is_map() or _points(operator, column) < vectors.least_turned_columns:
        return False
    rows = [read.innermost() for read in operator.reads if column in read.axes()]
    turned = [row for row in rows if row is not None and row != column and row in operator.write.axes()]
    return any(_points(operator, row) >= vectors.least_turned_rows for row in turned)


def _points(operator: Operator, axis: str) -> int:
    return planned_extent(operator.axis(axis).extent)


def _combination(plan: Plan) -> Iterator[str]:
    """The blocks in which the parts of a split reduction are combined."""
    if plan.schedule.split:
        execution = plan.execution
        sums_weights = weights_read(plan.chain, plan.chain.operators[-1]) is not None
        block = f"{execution.combined_rows} rows" if sums_weights else f"{execution.combined_points} points"
        yield f"partial results along {plan.schedule.split} are combined in blocks of {block} of {plan.chain.output}"


def _blocks(plan: Plan) -> Iterator[str]:
    descending = [axis for axis, last in zip(plan.parallel_axes, plan.execution.descends, strict=False) if last]
    if descending:
        yield f"blocks of {', '.join(descending)} run from last to first: masks leave more keys to later ones"
    if plan.execution.packs_together and any(isinstance(node, Pack) for node in plan.schedule.body):
        yield f"threads pack together ahead of all blocks, {plan.execution.packed_rows} rows of a panel at a time"


def _is_kept(plan: Plan, tensor: str) -> bool:
    """Whether an intermediate lies in memory: epilogues take theirs from registers."""
    readers = (plan.operator_plan(operator.name) for operator in plan.chain.consumers(tensor))
    return plan.schedule.storage_of(tensor) is Storage.KEEP and not any(reader.epilogue_of for reader in readers)


def _rows(plan: Plan) -> Iterator[str]:
    kept = [tensor for tensor in plan.chain.intermediates if _is_kept(plan, tensor)]
    if kept and plan.execution.set_period_bytes:
        yield f"rows of {', '.join(kept)} are padded: lines {units.size(plan.execution.set_period_bytes)} apart share a cache set"
