"""Times of blocks as tables for the search core: over all tiles of an operator's axes, and the extents of required regions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.arrays import Quantity
from tilewright.graph.types import Operator
from tilewright.plan.model.cost import computing, least_functions
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.schedule import planned_sizes
from tilewright.plan.search.core.data import MOST_TABLE_AXES, BeyondLimits, Data, Numbers, Packed
from tilewright.plan.space.schedule_space import Space, broadcast

Extents = Mapping[tuple[str, str], Sequence[tuple[int, int]]]
"""Of required regions, by operator and axis: pairs of a tile and the points of all blocks together."""


def packed_tables(space: Space, numbers: Numbers, extents: Extents) -> Packed:
    """The times of blocks of all tiles, and of required regions behind them. The core counts elements itself."""
    data, context = Data(), space.context
    known: dict[Hashable, tuple[Quantity, ...]] = {}
    for operator in context.chain.operators:
        own = {axis: extents.get((operator.name, axis), ()) for axis in context.sizes if axis in operator.axis_names}
        axes = [axis for axis, pairs in own.items() if axis in space.tiles or pairs]
        if len(axes) > MOST_TABLE_AXES:
            raise BeyondLimits
        data.integers.append(len(axes))
        tiles = {axis: _own_tiles(space, axis) for axis in axes}
        for axis in axes:
            data.integers += (numbers.axes[axis], len(tiles[axis]))
            data.counted_pairs(own[axis])
        key = _table_key(context, operator, tiles, own)
        if key not in known:
            known[key] = _figures(context, operator, tiles, own)
        for figure in known[key]:
            data.table(figure, len(axes))
    return data.packed()


def _own_tiles(space: Space, axis: str) -> tuple[int, ...]:
    return (1,) if axis in space.batch else space.tiles.get(axis, (planned_sizes(space.context.chain)[axis],))


def _table_key(
    context: CostContext, operator: Operator, tiles: Mapping[str, tuple[int, ...]], extents: Mapping[str, Any]
) -> Hashable:
    """Equal for equal layers, whose figures are the same."""
    kind = context.kinds.get(operator.name)
    if kind is None or any(extents.values()):
        return operator.name
    kernel = context.kernels[operator.name].name if operator.name in context.kernels else ""
    places = [axis.name for axis in operator.axes]
    return kind, kernel, tuple((places.index(axis), some) for axis, some in tiles.items())


def _figures(
    context: CostContext,
    operator: Operator,
    tiles: Mapping[str, tuple[int, ...]],
    extents: Mapping[str, Sequence[tuple[int, int]]],
) -> tuple[Quantity, ...]:
    every = {axis: (*some, *(tile for tile, _ in extents[axis])) for axis, some in tiles.items()}
    sizes_of = planned_sizes(context.chain)
    totals = {axis: (*(sizes_of[axis],) * len(tiles[axis]), *(total for _, total in extents[axis])) for axis in tiles}
    grid, walked = broadcast(tuple(every), every), broadcast(tuple(every), totals)
    sizes = {axis: walked[axis] if extents.get(axis) else size for axis, size in context.sizes.items()}
    box = {axis: np.minimum(grid[axis], sizes[axis]) if axis in grid else size for axis, size in sizes.items()}
    walking = context.with_sizes(sizes) if any(extents.values()) else context
    arithmetic_s, functions_s, calls = computing(walking, operator, box)
    return arithmetic_s, functions_s, calls, least_functions(walking, operator, functions_s)
