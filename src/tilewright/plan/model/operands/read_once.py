"""Operands read once: few rows meet every element of a right operand a single time, so that no cache has to hold it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.graph.types import Access, Operator
from tilewright.kernels.registry import prefetches_panels
from tilewright.plan.arrays import Condition, Count, Quantity, either, maximum
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.traffic import Footprints
from tilewright.plan.model.operands.packing_cost import may_pack_ahead
from tilewright.plan.regions.loop_views import ChainView

FEW_ROWS = 4
"""Kernels of so few rows wait for their right operand, from whatever cache it comes."""
SLICED_ROWS = 64
"""So many rows pass over one slice of a panel after the other, and L1 holds the slice: an 8192 x 2048 constant by 16 rows takes
2.6 ms in panels of all steps, 3.3 ms cut into blocks of 448 steps that fit L2, whose panels do not follow each other (Zen 5)."""


def operand_read_once(context: CostContext, operator: Operator) -> Access | None:
    """The right operand of a contraction if it passes by once: all rows fit one tile or meet it slice by slice, and no other
    loop reads it again."""
    kernel, roles = context.kernels.get(operator.name), context.roles.get(operator.name)
    if kernel is None or roles is None or roles.column is None:
        return None
    access = operator.reads[roles.right]
    rows = int(np.max(context.sizes[roles.row])) if roles.row is not None else 1
    if rows > SLICED_ROWS or access.tensor not in context.chain.inputs:
        return None
    once = all(np.all(np.equal(context.sizes[axis], 1)) for axis in roles.outer if axis not in access.axes())
    return access if once and (_fits_tile(context, operator, access, rows) or _is_sliced(context, operator, rows)) else None


def _fits_tile(context: CostContext, operator: Operator, access: Access, rows: int) -> bool:
    """Whether a kernel of few rows takes all of them at once, of an operand in place or in panels packed ahead."""
    kernel, column = context.kernels[operator.name], context.roles[operator.name].column or ""
    if kernel.rows > FEW_ROWS or rows > kernel.rows:
        return False
    return kernel.right_by_columns or access.indices[-1].coefficient(column) == 1 or may_pack_ahead(context, operator)


def _is_sliced(context: CostContext, operator: Operator, rows: int) -> bool:
    """Whether panels are packed ahead and read in slices, while the cache holds all rows of the left operand."""
    depth = context.roles[operator.name].depth
    steps = int(np.max(context.sizes[depth])) if depth is not None else 1
    fits = rows * steps * context.contractions[operator.name].left_bytes <= context.capacity_bytes
    return fits and may_pack_ahead(context, operator) and prefetches_panels(context.kernels[operator.name])


def has_all_rows(context: CostContext, operator: Operator, tiles: Mapping[str, Count]) -> Condition:
    """Whether blocks of these tiles have all rows that share slices: a loop over rows would read all panels for each block."""
    row = context.roles[operator.name].row
    return row is None or context.kernels[operator.name].rows <= FEW_ROWS or tiles[row] >= context.sizes[row]


def operands_read_once(context: CostContext, view: ChainView) -> frozenset[tuple[str, Access]]:
    """(operator, read) of all that pass by once under a schedule."""
    reads = ((member, operand_read_once(context, member.operator)) for member in view.operators)
    found = ((member, access) for member, access in reads if access is not None)
    return frozenset(
        (member.operator.name, access) for member, access in found if np.all(has_all_rows(context, member.operator, member.tiles))
    )


def run_seconds(context: CostContext, operator: Operator, block: Footprints, tiles: Mapping[str, Count]) -> Quantity:
    """What it costs that blocks narrower than the rows of such an operand in memory read short pieces of many pages."""
    access = operand_read_once(context, operator)
    if access is None or context.source_position < len(context.cache_levels) or context.kernels[operator.name].right_by_columns:
        return 0.0
    facts = context.contractions[operator.name]
    columns, stride = tiles[context.roles[operator.name].column or ""], facts.row_stride
    apart = stride * facts.right_bytes / context.machine.page_bytes
    pages = block.swept[facts.right] / maximum(columns, 1) * min(1.0, apart)
    return either(columns < stride, pages, 0) * context.coefficients.run_cycles / context.machine.frequency_hz
