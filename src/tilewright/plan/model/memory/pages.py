"""Cost of pages: rows of left operands and targets begin on pages of their own, where tensors come from memory.

Hardware prefetchers follow a few streams, within a page each: the first lines of a page show their latency. Right operands have
their pages priced where they are packed or read in place (`packing_cost`).
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.graph.types import Access, Operator
from tilewright.plan.arrays import Count, Quantity, either, maximum, minimum
from tilewright.plan.element_types import held_bytes
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.traffic import axis_stride, kernel_tile

FOLLOWED_ROWS = 16
"""Rows of a target that go on from panel to panel without a miss: 2048x4096x32 took 2.30 ms with 6 at a time, 2.57 with 342."""
Moved = Mapping[str, tuple[Quantity, ...]]
"""Bytes of every operand that move into each cache level: see `traffic.bytes_into`."""


def left_page_seconds(context: CostContext, operator: Operator, moved: Moved, tiles: Mapping[str, Count]) -> Quantity:
    """What the pages of a left operand cost that come from memory: each begins a stream that shows after a miss only.

    `tiles` are those of the block around the micro kernel.
    """
    if not _comes_from_memory(context, operator):
        return 0.0
    access = operator.reads[context.roles[operator.name].left]
    place = context.read_number(operator, access)
    _, _, depth = kernel_tile(context, operator, tiles)
    pages = _pages(context, operator, access, moved[context.cache_levels[-1].name][place], depth)
    return pages * context.coefficients.stream_cycles / context.machine.frequency_hz


def target_page_seconds(context: CostContext, operator: Operator, moved: Moved, tiles: Mapping[str, Count]) -> Quantity:
    """The same of a target: few rows are followed across column panels, of more every panel begins anew."""
    if not _comes_from_memory(context, operator):
        return 0.0
    kernel = context.kernels[operator.name]
    place = len(context.operands[operator.name]) - 1
    rows, columns, _ = kernel_tile(context, operator, tiles)
    width = either(rows > max(kernel.rows, FOLLOWED_ROWS), minimum(columns, kernel.columns), columns)
    pages = _pages(context, operator, operator.write, moved[context.cache_levels[-1].name][place], width)
    return pages * context.coefficients.page_cycles / context.machine.frequency_hz


def _comes_from_memory(context: CostContext, operator: Operator) -> bool:
    return operator.name in context.kernels and context.source_position == len(context.cache_levels)


def _pages(context: CostContext, operator: Operator, access: Access, size_bytes: Quantity, run: Count) -> Quantity:
    """How often another page begins where so many bytes are visited in rows of `run` elements."""
    element, page_bytes = held_bytes(context.chain, access.tensor), context.machine.page_bytes
    apart = min(1.0, element * axis_stride(context, access, context.roles[operator.name].row) / page_bytes)
    return size_bytes / (element * run) * maximum(apart, element * run / page_bytes)
