"""Profitability test: a lower bound on the fused price against a price to reach, before the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.schedule import FusedGroup
from tilewright.plan.search.bounds import Bounds
from tilewright.plan.search.outer_loops import OuterLoops
from tilewright.plan.space.loop_trees import group_choices, possible_fused_groups
from tilewright.plan.space.schedule_space import space_of


def can_cost(context: CostContext, limit_s: float) -> bool:
    """Whether any schedule may cost no more than this on one thread, by the price that the search goes by.

    That price multiplies what does not fit the fusion level. As much of the traffic as prefetches may hide counts as hidden.
    """
    coefficients = context.coefficients
    visible = coefficients.visible_traffic * (1 - coefficients.prefetch_hides)
    hidden = replace(context, coefficients=replace(coefficients, visible_traffic=visible))
    space = space_of(hidden)
    bounds, fused_groups = Bounds(space), possible_fused_groups(space)
    return any(least_seconds(bounds, fused_groups, OuterLoops(space, *variant, {})) <= limit_s for variant in space.variants())


def least_seconds(bounds: Bounds, fused_groups: Sequence[FusedGroup], outer_loops: OuterLoops) -> float:
    """What an order of outer loops and the trees below it cost at least on one thread, whatever the tiles."""
    free = [fused_group for fused_group in fused_groups if not set(fused_group.axes) & set(outer_loops.outer_loops)]
    live = outer_loops.least_live(group_choices(free)) if free else None
    price, _ = bounds.of_outer_loops(outer_loops.view, outer_loops.choices, live)
    return float(np.min(price))
