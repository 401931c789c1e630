"""Cost of pages: rows of left operands and targets begin on pages of their own, where tensors come from memory.

Hardware prefetchers follow a few streams, within a page each: the first lines of a page show their latency. Right operands have
their pages priced where they are packed or read in place (`packing_cost`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.graph.types import Access, Operator
from tilewright.plan.model.cost_context import ELEMENT_BYTES, PAGE_BYTES, Setting
from tilewright.plan.model.traffic import axis_stride, kernel_tile
from tilewright.plan.regions.loop_views import Count, either

FOLLOWED_ROWS = 16
"""Rows of a target that go on from panel to panel without a miss: 2048x4096x32 took 2.30 ms with 6 at a time, 2.57 with 342."""
Moved = Mapping[str, tuple[Count, ...]]
"""Elements of every operand that move into each cache level: see `traffic.elements_into`."""


def left_page_seconds(setting: Setting, operator: Operator, moved: Moved, tiles: Mapping[str, Count]) -> Count:
    """What the pages of a left operand cost that come from memory: each begins a stream that shows after a miss only.

    `tiles` are those of the block around the micro kernel.
    """
    if not _comes_from_memory(setting, operator):
        return 0.0
    access = operator.reads[setting.roles[operator.name].left]
    place = setting.read_number(operator, access)
    _, _, depth = kernel_tile(setting, operator, tiles)
    pages = _pages(setting, operator, access, moved[setting.cache_levels[-1].name][place], depth)
    return pages * setting.coefficients.stream_cycles / setting.machine.frequency_hz


def target_page_seconds(setting: Setting, operator: Operator, moved: Moved, tiles: Mapping[str, Count]) -> Count:
    """The same of a target: few rows are followed across column panels, of more every panel begins anew."""
    if not _comes_from_memory(setting, operator):
        return 0.0
    kernel = setting.kernels[operator.name]
    place = len(setting.operands[operator.name]) - 1
    rows, columns, _ = kernel_tile(setting, operator, tiles)
    width = either(rows > max(kernel.rows, FOLLOWED_ROWS), np.minimum(columns, kernel.columns), columns)
    pages = _pages(setting, operator, operator.write, moved[setting.cache_levels[-1].name][place], width)
    return pages * setting.coefficients.page_cycles / setting.machine.frequency_hz


def _comes_from_memory(setting: Setting, operator: Operator) -> bool:
    return operator.name in setting.kernels and setting.source_position == len(setting.cache_levels)


def _pages(setting: Setting, operator: Operator, access: Access, elements: Count, run: Count) -> Count:
    """How often another page begins where so many elements are visited in rows of `run` elements."""
    apart = min(1.0, ELEMENT_BYTES * axis_stride(setting, access, setting.roles[operator.name].row) / PAGE_BYTES)
    return elements / run * np.maximum(apart, ELEMENT_BYTES * run / PAGE_BYTES)
