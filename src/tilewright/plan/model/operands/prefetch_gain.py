"""Gain and cost of micro kernels that prefetch.

A prefetch hides part of what its operand's traffic leaves visible. Of A and B that is the traffic from memory: the caches in
between answer before the next tile, and hardware prefetchers do the rest. A B that was just packed leaves nothing to hide; of one
in place, rows on other pages wait as well, as do the pages of A. Of C it is the traffic from behind the fusion level as
well: rows of a tile of C lie apart, and all of them are asked for at once; but not on pages of their own. Every prefetched
line costs issue slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import prod

from tilewright.arrays import Count, Quantity, largest, smallest
from tilewright.graph.types import Operator, element_bytes
from tilewright.kernels.contract import MicroKernel, OperandRole
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.memory.traffic import Moved, kernel_tile
from tilewright.plan.model.operands.packing_cost import FEW_ROWS, packs_ahead, packs_now
from tilewright.plan.regions.loop_views import OperatorView

FEW_PANELS = 4
"""Rows of more panels are long: where they lie in place, they are streams of their own."""


def prefetch_seconds(
    context: CostContext,
    view: OperatorView,
    moved: Moved,
    tiles: Mapping[str, Count],
    calls: Quantity,
    *,
    packed: bool,
    pages_s: Mapping[OperandRole, Quantity],
) -> Quantity:
    """The price of an operator's prefetches less what they hide; 0 for kernels without.

    `moved` is what `traffic.bytes_into` returns; `packed` says that the right operand is packed if it can be, `pages_s` what
    the pages of operands cost.
    """
    operator = view.operator
    kernel = context.kernels.get(operator.name)
    if kernel is None or not kernel.prefetch:
        return 0.0
    _, _, depth = kernel_tile(context, operator, tiles)
    roles = [OperandRole(name) for name in kernel.prefetch]
    cost = calls * sum(_cycles_per_call(context, kernel, role, depth) for role in roles) / context.machine.frequency_hz
    followed = packs_now(context, view, packed=packed) or is_followed(context, view, kernel)
    hiding = [role for role in roles if role is not OperandRole.RIGHT or not followed]
    hidden = sum(_hidden_seconds(context, operator, role, moved) for role in hiding)
    in_memory = context.source_position == len(context.cache_levels)
    pages = sum(pages_s.get(role, 0.0) for role in hiding if in_memory or role is OperandRole.LEFT)
    return cost - hidden - context.coefficients.prefetch_hides * pages


def stream_seconds(context: CostContext, view: OperatorView, moved: Moved, *, in_place: bool) -> Quantity:
    """What of the traffic of panels packed ahead, or of short rows past few rows, shows if the kernel does not prefetch it.

    That it shows, and that prefetches hide it, is measured (docs/kernels.md), not derived.
    """
    kernel = context.kernels.get(view.operator.name)
    if kernel is None or OperandRole.RIGHT in kernel.prefetch or is_followed(context, view, kernel):
        return 0.0
    if kernel.rows > FEW_ROWS and (in_place or not packs_ahead(context, view)):
        return 0.0
    moving = _moving_seconds(context, view.operator, OperandRole.RIGHT, moved, context.fusion_position)
    return moving * context.coefficients.visible_stream * share_on_same_page(context, view.operator, OperandRole.RIGHT)


def is_followed(context: CostContext, view: OperatorView, kernel: MicroKernel) -> bool:
    """Whether few rows pass over a right operand whose reads hardware prefetchers follow: prefetching as well only delays them.

    Panels packed ahead are read end to end; one row reads a few long rows in place side by side (docs/kernels.md, few rows).
    """
    roles = context.roles[view.operator.name]
    if kernel.rows > FEW_ROWS or kernel.right_by_columns or roles.column is None:
        return False
    is_one_row = roles.row is None or largest(context.sizes[roles.row]) == 1
    is_long = smallest(context.sizes[roles.column]) > FEW_PANELS * kernel.columns
    return packs_ahead(context, view) or (is_one_row and is_long)


def _cycles_per_call(context: CostContext, kernel: MicroKernel, operand: OperandRole, depth: Count) -> Quantity:
    sides: dict[OperandRole, tuple[Count, Count]] = {
        OperandRole.LEFT: (kernel.rows, depth),
        OperandRole.RIGHT: (depth, kernel.columns),
        OperandRole.TARGET: (kernel.rows, kernel.columns),
    }
    element = element_bytes(dict(zip(sides, kernel.element_types, strict=True))[operand])
    lines = prod(sides[operand]) * element / context.cache_levels[0].line_bytes
    return lines * dict(context.coefficients.prefetch_cycles_per_line)[operand]


def _hidden_seconds(context: CostContext, operator: Operator, operand: OperandRole, moved: Moved) -> Quantity:
    served = len(context.cache_levels) - 1 if operand is not OperandRole.TARGET else context.fusion_position
    seconds = _moving_seconds(context, operator, operand, moved, served)
    hidden = context.coefficients.visible_traffic * context.coefficients.prefetch_hides
    return seconds * hidden * share_on_same_page(context, operator, operand)


def _moving_seconds(context: CostContext, operator: Operator, operand: OperandRole, moved: Moved, served: int) -> Quantity:
    """The time of an operand's traffic into the caches from number `served` on."""
    place = place_of(context, operator, operand)
    seconds: Quantity = 0.0
    for level, behind in list(pairwise(context.machine.levels))[max(served, 1) : context.source_position]:
        seconds = seconds + moved[level.name][place] / behind.bandwidth_bytes_per_s
    return seconds


def share_on_same_page(context: CostContext, operator: Operator, operand: OperandRole) -> float:
    """The share of an operand's rows that lie on the same page as the row before: prefetches of others gained nothing.

    Of the target, and of the columns of a right operand where the kernel reads those.
    """
    roles, facts = context.roles[operator.name], context.contractions[operator.name]
    apart = 0
    if operand is OperandRole.TARGET:
        apart = facts.target_bytes * facts.target_row_stride
    elif operand is OperandRole.RIGHT and context.kernels[operator.name].right_by_columns:
        apart = facts.right_bytes * (largest(context.sizes[roles.depth]) if roles.depth is not None else 1)
    return max(0.0, 1.0 - apart / context.machine.page_bytes)


def place_of(context: CostContext, operator: Operator, operand: OperandRole) -> int:
    """The number of an operand among `context.operands` of its operator."""
    if operand is OperandRole.TARGET:
        return len(context.operands[operator.name]) - 1
    facts = context.contractions[operator.name]
    return facts.left if operand is OperandRole.LEFT else facts.right
