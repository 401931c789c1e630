"""Cost of pages: rows of left operands and targets begin on pages of their own, where tensors come from memory.

Hardware prefetchers follow a few streams, within a page each: the first lines of a page show their latency. Right operands have
their pages priced where they are packed or read in place (`packing_cost`).
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.arrays import Count, Quantity, either, maximum, minimum
from tilewright.graph.types import Operator
from tilewright.plan.model.cost_context import Contraction, CostContext, own_bytes
from tilewright.plan.model.memory.traffic import Moved, kernel_tile

FOLLOWED_ROWS = 16
"""Rows of a target that go on from panel to panel without a miss: 2048x4096x32 took 2.30 ms with 6 at a time, 2.57 with 342."""
SHARE_HELD = 0.5
"""Of the last cache's own part: the rest is what other tensors of a network take between two layers. 3x3 filters by two over
images with channels last, 56 channels a group, read in place (216 bytes of a pixel at a time) and from a copy of each block: 11
MiB 15.7 and 10.3 ms, 5.6 MiB 7.3 and 5.9 ms (Zen 3 VM, other work beside it)."""


def left_page_seconds(context: CostContext, operator: Operator, moved: Moved, tiles: Mapping[str, Count]) -> Quantity:
    """What the pages of a left operand cost that come from memory: each begins a stream that shows after a miss only.

    So does what is far. `tiles` are those of the block around the micro kernel.
    """
    if operator.name not in context.kernels:
        return 0.0
    facts = context.contractions[operator.name]
    if not comes_from_memory(context, operator) and not is_far(context, facts):
        return 0.0
    _, _, depth = kernel_tile(context, operator, tiles)
    size_bytes = moved[context.cache_levels[-1].name][facts.left]
    pages = _pages(context, facts.left_bytes, facts.left_row_stride, size_bytes, depth)
    return pages * context.coefficients.stream_cycles / context.machine.frequency_hz


def left_column_seconds(context: CostContext, operator: Operator, moved: Moved) -> Quantity:
    """What lines of a left operand cost that come from behind the fusion level, where every step is on a page of its own."""
    cost_s = column_seconds_per_byte(context, operator)
    return moved[context.fusion_level.name][context.contractions[operator.name].left] * cost_s if cost_s else 0.0


def column_seconds_per_byte(context: CostContext, operator: Operator) -> float:
    """The same of a byte; nothing where neighbours of a row lie side by side, or all comes from the fusion level."""
    if operator.name not in context.kernels or context.source_position <= context.fusion_position:
        return 0.0
    facts = context.contractions[operator.name]
    if facts.left_depth_stride * facts.left_bytes < context.machine.page_bytes or facts.left_row_stride != 1:
        return 0.0
    return context.coefficients.column_line_cycles / context.machine.frequency_hz / context.fusion_level.line_bytes


def target_page_seconds(context: CostContext, operator: Operator, moved: Moved, tiles: Mapping[str, Count]) -> Quantity:
    """The same of a target: few rows are followed across column panels, of more every panel begins anew."""
    if not comes_from_memory(context, operator):
        return 0.0
    kernel, facts = context.kernels[operator.name], context.contractions[operator.name]
    place = len(context.operands[operator.name]) - 1
    rows, columns, _ = kernel_tile(context, operator, tiles)
    width = either(rows > max(kernel.rows, FOLLOWED_ROWS), minimum(columns, kernel.columns), columns)
    size_bytes = moved[context.cache_levels[-1].name][place]
    pages = _pages(context, facts.target_bytes, facts.target_row_stride, size_bytes, width)
    return pages * context.coefficients.far_page_cycles / context.machine.frequency_hz


def is_far(context: CostContext, facts: Contraction) -> bool:
    """Whether a left operand in a last cache costs what one in memory does: too large for it, and every row on pages of its own.

    Rows that share pages are foreseen: 5.6 MiB of Winograd's tiles in rows of 1856 bytes wait for a sixth of that.
    """
    is_large = facts.left_held_bytes > SHARE_HELD * own_bytes(context.machine)
    return is_large and facts.left_row_stride * facts.left_bytes >= context.machine.page_bytes


def comes_from_memory(context: CostContext, operator: Operator) -> bool:
    return operator.name in context.kernels and context.source_position == len(context.cache_levels)


def _pages(context: CostContext, element: int, row_stride: int, size_bytes: Quantity, run: Count) -> Quantity:
    """How often another page begins where so many bytes are visited in rows of `run` elements, `row_stride` elements apart."""
    page_bytes = context.machine.page_bytes
    apart = min(1.0, element * row_stride / page_bytes)
    return size_bytes / (element * run) * maximum(apart, element * run / page_bytes)
