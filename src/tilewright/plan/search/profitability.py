"""Profitability test: a lower bound on the fused price against a price to reach, before the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.schedule import Segment
from tilewright.plan.search.bounds import Bounds
from tilewright.plan.search.outer_loops import Prefix
from tilewright.plan.space.loop_trees import possible_segments, segmentations
from tilewright.plan.space.schedule_space import space_of


def can_cost(context: CostContext, limit_s: float) -> bool:
    """Whether any schedule may cost no more than this on one thread, by the price that the search goes by.

    That price multiplies what does not fit the fusion level. As much of the traffic as prefetches may hide counts as hidden.
    """
    coefficients = context.coefficients
    visible = coefficients.visible_traffic * (1 - coefficients.prefetch_hides)
    hidden = replace(context, coefficients=replace(coefficients, visible_traffic=visible))
    space = space_of(hidden)
    bounds, segments = Bounds(space), possible_segments(space)
    return any(least_seconds(bounds, segments, Prefix(space, *variant, {})) <= limit_s for variant in space.variants())


def least_seconds(bounds: Bounds, segments: Sequence[Segment], prefix: Prefix) -> float:
    """What a prefix and the trees below it cost at least on one thread, whatever the tiles."""
    free = [segment for segment in segments if not set(segment.axes) & set(prefix.prefix)]
    live = prefix.least_live(segmentations(free)) if free else None
    price, _ = bounds.of_prefix(prefix.view, prefix.choices, live)
    return float(np.min(price))
