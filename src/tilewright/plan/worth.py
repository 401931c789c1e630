"""Whether a chain can pay as a whole, before it is searched: its bounds against a price that it has to reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.plan.block_order import prefix_storage
from tilewright.plan.bounds import Bounds
from tilewright.plan.setting import Setting
from tilewright.plan.space import Space, space_of
from tilewright.plan.tile_size import broadcast
from tilewright.plan.views import view_prefix


def can_cost(setting: Setting, limit_s: float) -> bool:
    """Whether any schedule may cost no more than this on one thread, by the price that the search goes by.

    That price multiplies what does not fit the fusion level. As much of the traffic as prefetches may hide counts as hidden.
    """
    coefficients = setting.coefficients
    visible = coefficients.visible_traffic * (1 - coefficients.prefetch_hides)
    hidden = replace(setting, coefficients=replace(coefficients, visible_traffic=visible))
    space = space_of(hidden)
    bounds = Bounds(space)
    return any(least_seconds(space, bounds, *variant) <= limit_s for variant in space.variants())


def least_seconds(space: Space, bounds: Bounds, prefix: tuple[str, ...], rolled: tuple[str, ...]) -> float:
    """What a prefix costs at least, whatever its tiles, on one thread."""
    setting = space.setting
    dims = tuple(axis for axis in setting.sizes if axis in prefix)
    tiles = broadcast(dims, {axis: space.prefix_tiles(axis) for axis in dims})
    view = view_prefix(setting.chain, prefix, {}, tiles, prefix_storage(setting.chain, prefix, rolled))
    price, _ = bounds.of_prefix(view, {axis: -(-setting.sizes[axis] // tiles[axis]) for axis in dims})
    return float(np.min(price))
