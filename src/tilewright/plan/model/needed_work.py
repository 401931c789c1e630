"""Needed work: how many points of an operator any schedule computes, and what masks leave of them by blocks of rows.

Points are counted from what consumers read, back from the sink. A producer that computes required regions of its consumers (see
`required_regions`) leaves out what none of them reads: what slices and strides skip, and what lies beyond the guards of a part of
a concatenation. All other axes are computed whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import lcm, prod

from tilewright.arrays import Condition, Count, Quantity, either
from tilewright.formulas.programs import tabulated
from tilewright.graph.types import Access, Chain, Operator, planned_extent
from tilewright.plan.chains import derived_once
from tilewright.plan.element_types import outer_bytes
from tilewright.plan.model.cost_context import CostContext, flops, flops_by_type
from tilewright.plan.reasons import KeyLimit
from tilewright.plan.regions.footprint import distinct_values, swept_elements
from tilewright.plan.regions.loop_views import OperatorView
from tilewright.plan.regions.masked_pairs import planned_data, share_of_pairs, shares_of_pairs
from tilewright.plan.regions.masks import KeyMask, is_plain_mask, key_mask_of, key_step, loops_around_mask
from tilewright.plan.regions.required_regions import Reading, readings
from tilewright.plan.schedule import Schedule, box_sizes, planned_sizes
from tilewright.plan.types import KeyBlocks
from tilewright.records import record


@record
class GuardedWork:
    """Shares of all pairs of a row and a key; figures may be arrays."""

    computed: Quantity = 1.0
    masked: Quantity = 1.0
    """Touched by a mask."""


def guarded_work(context: CostContext, view: OperatorView, shared_loops: int) -> GuardedWork:
    """What an operator does of its points inside so many shared loops."""
    key_mask = key_mask_of(context.chain)
    if key_mask is None or view.operator.name not in key_mask.operators:
        return GuardedWork()
    is_cut: Condition = False
    tiles: dict[str, Count] = {axis: context.sizes[axis] for axis in key_mask.row_axes}
    for loop in view.loops[:shared_loops]:
        if loop.axis == key_mask.axis:
            is_cut = is_cut | (loop.trips > 1)
        elif loop.axis in tiles:
            tiles[loop.axis] = either(is_cut, context.sizes[loop.axis], view.tiles[loop.axis])
    align, step = key_alignment(context, key_mask)
    shares = partial(shares_of_pairs, context.chain, align, step)
    return GuardedWork(*tabulated(("computed pairs", "masked pairs"), shares, *tiles.values()))


def least_guarded_work(context: CostContext, operator: str) -> GuardedWork:
    """What an operator does at least: in blocks of one row nothing is masked but the last vectors of every row."""
    key_mask = key_mask_of(context.chain)
    if key_mask is None or operator not in key_mask.operators:
        return GuardedWork()
    align, step = key_alignment(context, key_mask)
    return GuardedWork(share_of_pairs(context.chain, (1,) * len(key_mask.row_axes), align, step)[0], 0.0)


def needed_share(chain: Chain, operator: str) -> float:
    """The share of its points that an operator has to compute, whatever the blocks: pairs of a row and a key that it needs."""
    key_mask = key_mask_of(chain)
    if key_mask is None or operator not in key_mask.operators:
        return 1.0
    return share_of_pairs(chain, (1,) * len(key_mask.row_axes), 1, 1)[0]


def needed_keys(chain: Chain, operator: str, access: Access) -> float:
    """The share of an operand that an operator has to touch: of the keys those that any row needs; a mask may touch none."""
    key_mask = key_mask_of(chain)
    if key_mask is None or operator not in key_mask.operators or key_mask.axis not in access.axes():
        return 1.0
    if is_plain_mask(chain, operator):
        return 0.0
    rows = tuple(planned_sizes(chain)[axis] for axis in key_mask.row_axes)
    return share_of_pairs(chain, rows, 1, 1)[0]


def key_blocks(context: CostContext, schedule: Schedule) -> KeyBlocks | None:
    """What the masks of a chain leave to be computed under a schedule; None without masks."""
    chain, key_mask = context.chain, key_mask_of(context.chain)
    if key_mask is None:
        return None
    box = box_sizes(loops_around_mask(chain, schedule), planned_sizes(chain))
    rows = tuple((axis, box[axis]) for axis in key_mask.row_axes)
    computed, masked = share_of_pairs(chain, tuple(tile for _, tile in rows), *key_alignment(context, key_mask))
    is_known = all(planned_data(chain, limit) is not None for limit in key_mask.limits)
    limits = tuple(KeyLimit(limit.constraint, limit.access.tensor if limit.access else "") for limit in key_mask.limits)
    return KeyBlocks(key_mask.axis, limits, rows, 1 - computed, masked, computed - masked, is_known)


def key_alignment(context: CostContext, key_mask: KeyMask) -> tuple[int, int]:
    """What the first key is a multiple of, and what the number of keys is a multiple of."""
    columns = [context.kernels[name].columns for name, roles in context.roles.items() if roles.column == key_mask.axis]
    step = key_step(columns, context.lanes(context.chain.operators[-1]))
    return lcm(step, *columns), step


Sizes = Mapping[str, int]


@derived_once
def needed_sizes(chain: Chain) -> Mapping[str, Sizes]:
    """For every operator, the points along every axis of the chain that have to be computed: the size, or fewer."""
    sizes = planned_sizes(chain)
    found: dict[str, Sizes] = {}
    for operator in reversed(chain.operators):
        following = readings(chain, operator) if chain.consumers(operator.write.tensor) else {}
        found[operator.name] = needed = dict(sizes)
        for axis, ways in following.items():
            needed[axis] = max(_positions(reading, found[reading.consumer], sizes, sizes[axis]) for reading in ways)
    return found


def least_bytes(chain: Chain) -> int:
    """Of all inputs and the output, what any schedule touches: a tensor that is read twice counts once, no more than it has."""

    def touched(operator: Operator, access: Access) -> int:
        needed = needed_sizes(chain)[operator.name]
        count = min(int(swept_elements(access, needed, needed)), _elements(chain, access.tensor))
        return int(count * needed_keys(chain, operator.name, access))

    return outer_bytes(chain, touched)


def least_flops(chain: Chain) -> dict[str, int]:
    """Of all contractions, by element type of the products: a multiplication and an addition for every point that is needed."""
    needed, contractions = needed_sizes(chain), filter(Operator.is_contraction, chain.operators)
    of = {op.name: round(flops(op, needed[op.name]) * needed_share(chain, op.name)) for op in contractions}
    return flops_by_type(chain, of)


def _elements(chain: Chain, tensor: str) -> int:
    return prod(max(planned_extent(extent), 1) for extent in chain.tensor(tensor).shape)


def _positions(reading: Reading, needed: Sizes, sizes: Sizes, extent: int) -> int:
    """The least number of positions inside the tensor that a reading takes: of points that lie anywhere on its axes."""
    index = reading.index
    if all(needed[axis] == sizes[axis] for axis in index.axes()):
        positions = int(distinct_values(index, sizes))
    else:
        positions = 1 + sum(needed[axis] - 1 for axis in index.axes())
    low, high = index.bounds(sizes)
    return max(positions - max(-low, 0) - max(high - extent + 1, 0), 1)
