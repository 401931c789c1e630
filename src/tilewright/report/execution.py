"""Execution details of a plan, for a person: one sentence for each that differs from the plain way; vectors at borders."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from tilewright.block.execution import KernelCalls, Vectors
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import Point
from tilewright.graph.types import SUM, Guard, Operator, largest_extent, planned_extent
from tilewright.kernels.registry import registered
from tilewright.plan.decisions.micro_kernel import operand_bounds
from tilewright.plan.regions.online_reductions import weights_read
from tilewright.plan.schedule import Pack, Storage
from tilewright.plan.types import Plan
from tilewright.records import record
from tilewright.report import units

MOST_VECTORS = 1 << 20
"""By the axes of a guard: beyond, nothing is counted."""
_MOST_STEPS = (2**31 - 1) // 255**2
"""Steps of int8 accumulation, zero points subtracted, that int32 always holds."""
_WRAPPING = (
    f"int8 accumulation over more than {_MOST_STEPS} products may wrap in 32 bits, which ONNX lets MatMulInteger and "
    "ConvInteger do; of operators that scale their sums weights exclude it"
)


@record
class Detail:
    """What holds for some operators or tensors of a chain; for the chain if there are none."""

    text: str
    subjects: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{', '.join(self.subjects)}: {self.text}" if self.subjects else self.text


@record
class Border:
    """Padding without a padded copy: the vectors of a guarded read along the innermost dimension of the result."""

    operator: str
    tensor: str
    inside: int
    at_border: int
    outside: int

    def text(self) -> str:
        """For people.

        >>> Border("pad", "x", 90, 8, 2).text()
        'pad of x: 90 vectors inside, 8 at the border, 2 outside'
        """
        counts = f"{self.inside} vectors inside, {self.at_border} at the border, {self.outside} outside"
        return f"{self.operator} of {self.tensor}: {counts}"


def execution_lines(plan: Plan) -> Iterator[str]:
    """The details as sentences, each with what it holds for.

    >>> str(Detail("few rows", ("matmul", "matmul_2"))), str(Detail("few blocks"))
    ('matmul, matmul_2: few rows', 'few blocks')
    """
    return map(str, execution_details(plan))


def execution_details(plan: Plan) -> Iterator[Detail]:
    """What micro tiles prefetch and store, how calls and sums are cut, what vector loops do by turns, and the order of blocks.

    Equal texts are one detail of all their operators.
    """
    found: dict[str, tuple[str, ...]] = {}
    for detail in _details(plan):
        found[detail.text] = (*found.get(detail.text, ()), *detail.subjects)
    return (Detail(text, subjects) for text, subjects in found.items())


def _details(plan: Plan) -> Iterator[Detail]:
    if plan.prefetched_inputs:
        names = ", ".join(plan.prefetching_operators)
        yield Detail(f"micro tiles of {names} prefetch {', '.join(plan.prefetched_inputs)} for the next block")
    if plan.non_temporal:
        yield Detail(f"stores of {plan.chain.output} are non-temporal")
    for operator in plan.operators:
        yield from (Detail(text, (operator.operator,)) for text in _calls(operator.calls))
    yield from _exact(plan)
    yield from (Detail(_WRAPPING, (operator.name,)) for operator in plan.chain.operators if _may_wrap(operator))
    yield from (Detail(_sums(plan), (operator.name,)) for operator in plan.chain.operators if _is_long_sum(plan, operator))
    yield from _vectors(plan)
    yield from _nests(plan)
    yield from map(Detail, _blocks(plan))
    yield from map(Detail, _combination(plan))
    yield from _rows(plan)


def _calls(calls: KernelCalls) -> Iterator[str]:
    if calls.most_steps:
        yield f"a call sums at most {calls.most_steps} steps, since sums are long"
    if calls.slice_steps:
        yield f"all columns are read {calls.slice_steps} steps at a time: few rows would read short pieces of many"
    if calls.panel_slice_bytes:
        yield f"panels are read in slices of {units.size(calls.panel_slice_bytes)} while tiles prefetch the next"
    if calls.asks_ahead:
        yield "tiles prefetch the rows of the right operand that are read or packed next"
    if calls.nested:
        yield "tiles stay in registers over all that is summed"
    if calls.inlined:
        yield "tiles are short, so that the micro kernel is inlined and not linked"


def _exact(plan: Plan) -> Iterator[Detail]:
    """Why a micro kernel whose sums of neighbouring products saturate is exact, and why one is allowed that flushes."""
    kernels = {kernel.name: kernel for kernel in registered()}
    for part in plan.operators:
        kernel = kernels.get(part.micro_kernel or "")
        if kernel is not None and kernel.flushes:
            yield Detail('denormal numbers count as zeros, which precision="bf16" allows', (part.operator,))
        if kernel is None or kernel.saturation is None or part.roles is None:
            continue
        bounds = operand_bounds(plan.chain, plan.chain.operator(part.operator), part.roles)
        worst, limit = kernel.saturation.worst_sum(*bounds), kernel.saturation.limit
        text = f"two neighbouring products are at most {worst} by the weights, and saturate beyond {limit} only"
        yield Detail(text, (part.operator,))


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
    lanes = plan.machine.lanes(4) if _has_lanes_along_reduction(operator) else 1
    points = prod(planned_extent(axis.extent) for axis in operator.reduction_axes())
    adds = any(state.combine == "add" for state in operator.reduction.states)
    return adds and points > lanes * plan.execution.sums.long_steps


def _has_lanes_along_reduction(operator: Operator) -> bool:
    reduced = {axis.name for axis in operator.reduction_axes()}
    return any(read.innermost() in reduced for read in operator.reads)


def _vectors(plan: Plan) -> Iterator[Detail]:
    """How vector loops hide the latency of combining, and from which size on they transpose what they read."""
    vectors = plan.execution.vectors
    loops = [operator for operator in plan.chain.operators if not plan.operator_plan(operator.name).epilogue_of]
    combining = tuple(operator.name for operator in loops if _combines_what_it_reads(operator))
    turning = tuple(operator.name for operator in loops if _has_transposed_reads(operator, vectors))
    if combining and vectors.accumulators > 1:
        yield Detail(f"{vectors.accumulators} independent accumulators hide the latency of combining", combining)
    if turning:
        least = f"from {vectors.least_turned_columns} columns and {vectors.least_turned_rows} rows on"
        yield Detail(f"operands are transposed in registers {least}", turning)


def _nests(plan: Plan) -> Iterator[Detail]:
    """Which numbers of vector loops are literals: the others are arguments of functions that equal operators share."""
    loops = (one for one in plan.chain.operators if not plan.operator_plan(one.name).epilogue_of and not one.is_contraction())
    alike = tuple(operator.name for operator in loops if all(access.is_affine() for access in operator.reads))
    if alike:
        nests = plan.execution.nests
        literals = f"numbers up to {nests.most_literal}, and {nests.most_literal_lanes} along lanes, are literals in them"
        yield Detail(f"all layers share the loops; {literals}, others arguments", alike)


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


def _rows(plan: Plan) -> Iterator[Detail]:
    kept = tuple(tensor for tensor in plan.chain.intermediates if _is_kept(plan, tensor))
    if kept and plan.execution.set_period_bytes:
        period = units.size(plan.execution.set_period_bytes)
        yield Detail(f"rows are padded, since lines {period} apart share a cache set", kept)


def borders(plan: Plan) -> Iterator[Border]:
    """Of every guarded read of an input of the chain, if its guard is affine. Guards of intermediates are masks."""
    lanes = plan.machine.lanes(4)
    for operator in plan.chain.operators:
        for access in operator.reads:
            guard = access.guard if access.tensor in plan.chain.inputs else None
            if guard is not None and all(map(Index.is_affine, guard.constraints)):
                yield from _counted(operator, access.tensor, guard, lanes)


def _counted(operator: Operator, tensor: str, guard: Guard, lanes: int) -> Iterator[Border]:
    """The vectors by the guard's axes, times the points of all others."""
    innermost = operator.write.innermost()
    extents = {axis.name: planned_extent(axis.extent) for axis in operator.axes}
    steps = {name: lanes if name == innermost else 1 for name in extents}
    by_guard = [name for name in extents if name in guard.axes()]
    counts = {name: -(-extents[name] // steps[name]) for name in extents}
    if prod(counts[name] for name in by_guard) > MOST_VECTORS:
        return
    first = dict(zip(by_guard, np.ix_(*(np.arange(0, extents[name], steps[name]) for name in by_guard)), strict=True))
    last = {name: np.minimum(begin + steps[name], extents[name]) - 1 for name, begin in first.items()}
    shape = tuple(counts[name] for name in by_guard)
    inside, outside = np.ones(shape, bool), np.zeros(shape, bool)
    for constraint in guard.constraints:
        ends = constraint.evaluate(first), constraint.evaluate(last)
        inside &= (ends[0] >= 0) & (ends[1] >= 0)
        outside |= (ends[0] < 0) & (ends[1] < 0)
    around = prod(counts[name] for name in extents if name not in by_guard)
    of_each = int(inside.sum()), int((~inside & ~outside).sum()), int(outside.sum())
    yield Border(operator.name, tensor, *(around * each for each in of_each))
