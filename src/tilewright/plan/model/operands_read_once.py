"""Operands read once: few rows meet every element of a right operand a single time, so that no cache has to hold it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.graph.types import Access, Operator
from tilewright.plan.arrays import Count, Quantity, either, maximum
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.traffic import Footprints, right_bytes, row_stride

FEW_ROWS = 4
"""Kernels of so few rows wait for their right operand, from whatever cache it comes."""


def operand_read_once(context: CostContext, operator: Operator) -> Access | None:
    """The right operand of a contraction if it passes by once: all rows fit one tile, and no other loop reads it again."""
    kernel, roles = context.kernels.get(operator.name), context.roles.get(operator.name)
    if kernel is None or roles is None or roles.column is None or kernel.rows > FEW_ROWS:
        return None
    access = operator.reads[roles.right]
    is_contiguous = kernel.right_by_columns or access.indices[-1].coefficient(roles.column) == 1
    once = all(np.all(np.equal(context.sizes[axis], 1)) for axis in roles.outer if axis not in access.axes())
    rows = np.max(context.sizes[roles.row]) if roles.row is not None else 1
    return access if once and is_contiguous and rows <= kernel.rows and access.tensor in context.chain.inputs else None


def operands_read_once(context: CostContext) -> frozenset[tuple[str, Access]]:
    """(operator, read) of all that pass by once."""
    reads = ((operator.name, operand_read_once(context, operator)) for operator in context.chain.operators)
    return frozenset((name, access) for name, access in reads if access is not None)


def run_seconds(context: CostContext, operator: Operator, block: Footprints, tiles: Mapping[str, Count]) -> Quantity:
    """What it costs that blocks narrower than the rows of such an operand in memory read short pieces of many pages."""
    access = operand_read_once(context, operator)
    if access is None or context.source_position < len(context.cache_levels) or context.kernels[operator.name].right_by_columns:
        return 0.0
    place = context.read_number(operator, access)
    columns, stride = tiles[context.roles[operator.name].column or ""], row_stride(context, operator)
    apart = stride * right_bytes(context, operator) / context.machine.page_bytes
    pages = block.swept[place] / maximum(columns, 1) * min(1.0, apart)
    return either(columns < stride, pages, 0) * context.coefficients.run_cycles / context.machine.frequency_hz
