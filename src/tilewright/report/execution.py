"""Execution details of a plan, for a person: one sentence for each that differs from the plain way."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.graph.types import Operator, planned_extent
from tilewright.plan.execution import KernelCalls
from tilewright.plan.schedule import Pack, Storage
from tilewright.plan.types import Plan
from tilewright.report import units


def execution_lines(plan: Plan) -> Iterator[str]:
    """What micro tiles prefetch and store, how calls and sums are cut, and the order of blocks."""
    if plan.prefetched_inputs:
        names = ", ".join(plan.prefetching_operators)
        yield f"micro tiles of {names} prefetch {', '.join(plan.prefetched_inputs)} for the next block"
    if plan.non_temporal:
        yield f"{plan.chain.output} is stored past the caches"
    for operator in plan.operators:
        yield from (f"{operator.operator}: {text}" for text in _calls(operator.calls))
    yield from (f"{operator.name}: {_sums(plan)}" for operator in plan.chain.operators if _is_long_sum(plan, operator))
    yield from _blocks(plan)
    yield from _rows(plan)


def _calls(calls: KernelCalls) -> Iterator[str]:
    if calls.most_steps:
        yield f"a call sums at most {calls.most_steps} steps, since sums are long"
    if calls.slice_steps:
        yield f"all columns are read {calls.slice_steps} steps at a time: its few rows would read short pieces of many"
    if calls.panels is not None:
        yield f"panels are read in slices of {units.size(calls.panels.slice_bytes)} while tiles prefetch the next"


def _sums(plan: Plan) -> str:
    sums = plan.execution.sums
    return f"sums of more than {sums.long_steps} steps are made of blocks of {sums.block_steps}, with a compensated total"


def _is_long_sum(plan: Plan, operator: Operator) -> bool:
    """Whether a row-wise reduction has so many steps: vectors along the reduction, or points across."""
    if operator.reduction is None or operator.is_contraction():
        return False
    reduced = {axis.name for axis in operator.reduction_axes()}
    lanes = plan.machine.vector_bits // 32 if any(read.innermost() in reduced for read in operator.reads) else 1
    points = 1
    for axis in operator.reduction_axes():
        points *= planned_extent(axis.extent)
    adds = any(state.combine == "add" for state in operator.reduction.states)
    return adds and points > lanes * plan.execution.sums.long_steps


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
