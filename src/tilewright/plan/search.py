"""The search: every prefix, every own order, all tiles at once as broadcast arrays.

For every tile of the prefix the operators are independent of each other, so that each one's own loops are chosen alone; then
the prefix tiles with the least total price win. Ties go to larger tiles, and shorter prefixes and fewer loops are preferred
unless more of them gain something that is worth it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from math import prod

import numpy as np

from tilewright.graph.types import Operator, SymbolicExtent
from tilewright.plan.block_order import prefix_storage, prefixed
from tilewright.plan.cost import ELEMENT_BYTES, Setting, operator_work, seconds
from tilewright.plan.footprint import distinct_elements
from tilewright.plan.movement import outer_accesses
from tilewright.plan.packing import packed_elements
from tilewright.plan.parallel import ENOUGH_BLOCKS, WORTH_DISTRIBUTING_S, is_parallel
from tilewright.plan.schedule import Schedule
from tilewright.plan.space import Space, space_of
from tilewright.plan.tile_size import best_index, broadcast
from tilewright.plan.views import ChainView, Count, LoopView, OperatorView, view_prefix
from tilewright.plan.working_set import live_intermediates, resident

EQUAL = 1.01
"""Prices within this factor are equal: measured on AVX-512, blocks of 24 to 224 rows differ by less than timing noise."""
WORTH_A_LOOP = 1.02
"""More loops must be faster by this factor: below it the price cannot tell them apart."""
SPILL = 4.0
"""A working set beyond the capacity multiplies the price at least by this; so plans that fit win wherever there are any."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """The best schedule of one prefix, with the figures that it competes by. Loops that always have one trip are left out."""

    prefix: tuple[str, ...]
    tiles: Mapping[str, int]
    own_orders: Mapping[str, tuple[str, ...]]
    own_tiles: Mapping[str, Mapping[str, int]]
    seconds: float
    used_bytes: int
    blocks: int

    def schedule(self, setting: Setting) -> Schedule:
        """The schedule, without packing."""
        return prefixed(setting.chain, self.prefix, self.own_orders, self.tiles, self.own_tiles)

    def __str__(self) -> str:
        shared = ", ".join(f"{axis} by {self.tiles[axis]}" for axis in self.prefix) or "no shared loop"
        below = [f"{name}: {', '.join(order)}" for name, order in self.own_orders.items() if order]
        return "; ".join([shared, *below])


def search(setting: Setting) -> tuple[Candidate, ...]:
    """The best candidate of every prefix, the winner first, then by price."""
    space = space_of(setting)
    found: list[Candidate] = []
    for prefix in space.prefixes():
        candidate = _best_of_prefix(space, prefix)
        if all(str(candidate) != str(other) for other in found):
            found.append(candidate)
    fitting = [c for c in found if c.used_bytes <= setting.capacity_bytes] or found
    fastest = min(candidate.seconds for candidate in fitting)
    if fastest > WORTH_DISTRIBUTING_S:
        most = min(ENOUGH_BLOCKS, max(candidate.blocks for candidate in fitting))
        fitting = [candidate for candidate in fitting if candidate.blocks >= most]
    winner = fitting[0]
    for candidate in fitting[1:]:
        if candidate.seconds * WORTH_A_LOOP < winner.seconds:
            winner = candidate
    others = sorted((c for c in found if c is not winner), key=lambda candidate: candidate.seconds)
    return (winner, *others)


@dataclass(frozen=True, slots=True)
class _Own:
    """The price of one operator for every tile of the prefix, and how to get there."""

    seconds: np.ndarray
    used: np.ndarray
    order: np.ndarray
    index: np.ndarray
    orders: tuple[tuple[str, ...], ...]


def _best_of_prefix(space: Space, prefix: tuple[str, ...]) -> Candidate:
    """The best tiles of a prefix: with operands that stay on chip across operators, else with operands that stream through."""
    stays = _best_of(space, prefix, streams=False)
    if stays.used_bytes <= space.setting.capacity_bytes or len(space.setting.kernels) < 2:
        return stays
    streaming = _best_of(space, prefix, streams=True)
    return min(stays, streaming, key=lambda candidate: candidate.seconds)


def _best_of(space: Space, prefix: tuple[str, ...], *, streams: bool) -> Candidate:
    setting = space.setting
    choices = {axis: space.prefix_tiles[axis] for axis in prefix}
    shape = tuple(len(choices[axis]) for axis in prefix)
    tiles = broadcast(prefix, choices)
    view = view_prefix(setting.chain, prefix, {}, tiles, prefix_storage(setting.chain, prefix))
    live = live_intermediates(view)
    owns = {op.name: _own(space, view, op, prefix, live, shape, streams=streams) for op in setting.chain.operators}
    total = sum((own.seconds for own in owns.values()), np.zeros(shape))
    used = np.max([own.used for own in owns.values()], axis=0)
    blocks = np.broadcast_to(_blocks(setting, view.operators[0].loops), shape)
    too_few = (blocks < min(ENOUGH_BLOCKS, blocks.max())) & (total > WORTH_DISTRIBUTING_S)
    volume = prod((np.minimum(tiles[axis], setting.sizes[axis]) for axis in prefix), start=np.ones(shape))
    index = best_index(np.where(too_few, np.inf, total), volume, EQUAL)
    chosen = {axis: choices[axis][i] for axis, i in zip(prefix, index, strict=True)}
    orders = {name: own.orders[int(own.order[index])] for name, own in owns.items()}
    own_tiles = {name: _own_tiles(space, orders[name], int(own.index[index])) for name, own in owns.items()}
    return Candidate(
        prefix=tuple(axis for axis in prefix if _cuts(setting, axis, chosen[axis])),
        tiles=chosen,
        own_orders={
            name: tuple(axis for axis in order if _cuts(setting, axis, own_tiles[name][axis])) for name, order in orders.items()
        },
        own_tiles=own_tiles,
        seconds=float(total[index]),
        used_bytes=int(used[index]) * ELEMENT_BYTES,
        blocks=int(blocks[index]),
    )


def _own(
    space: Space,
    view: ChainView,
    operator: Operator,
    prefix: tuple[str, ...],
    live: Count,
    shape: tuple[int, ...],
    *,
    streams: bool,
) -> _Own:
    """The best own loops of an operator for every tile of the prefix.

    If operands stream, only loops count that leave nothing of this operator's tiles on chip while others run.
    """
    shared = view.of(operator.name)
    elsewhere = live if streams else live + _resident_of_others(view, shared)
    orders = space.own_orders(operator, prefix)
    best_s, best_used = np.full(shape, np.inf), np.zeros(shape)
    best_order, best_tiles = np.zeros(shape, dtype=int), np.zeros(shape, dtype=int)
    for number, order in enumerate(orders):
        price, used, left_behind = _price(space, view, shared, prefix, order, live, elsewhere)
        price = np.where(left_behind > 0, np.inf, price) if streams else price
        flat_shape = (*shape, -1)
        own_shape = tuple(len(space.own_tiles[axis]) for axis in order)
        price = np.broadcast_to(price, shape + own_shape).reshape(flat_shape)
        used = np.broadcast_to(used, shape + own_shape).reshape(flat_shape)
        at = price.argmin(axis=-1)
        here, needs = (np.take_along_axis(array, at[..., None], -1)[..., 0] for array in (price, used))
        better = here * (WORTH_A_LOOP if order else 1.0) < best_s if number < 2 else here < best_s
        best_s, best_used = np.where(better, here, best_s), np.where(better, needs, best_used)
        best_order, best_tiles = np.where(better, number, best_order), np.where(better, at, best_tiles)
    return _Own(best_s, best_used, best_order, best_tiles, orders)


def _price(
    space: Space,
    chain_view: ChainView,
    shared: OperatorView,
    prefix: tuple[str, ...],
    order: tuple[str, ...],
    live: Count,
    elsewhere: Count,
) -> tuple[Count, Count, Count]:
    """Seconds, elements used, and elements that stay while others run, for every combination of prefix tiles and own tiles."""
    setting = space.setting
    choices = {**{axis: space.prefix_tiles[axis] for axis in prefix}, **{axis: space.own_tiles[axis] for axis in order}}
    tiles = broadcast((*prefix, *order), choices)
    loops = tuple(LoopView(axis, -(-setting.sizes[axis] // tile), node) for node, (axis, tile) in enumerate(tiles.items()))
    box = {**shared.tiles, **{axis: np.minimum(tile, setting.sizes[axis]) for axis, tile in tiles.items()}}
    view = replace(shared, loops=loops, tiles=box)
    live, elsewhere = (_behind(count, len(order)) for count in (live, elsewhere))
    outer = [access for one, access, _ in outer_accesses(_alone(setting, view)) if one is view]
    used = elsewhere + sum(distinct_elements(access, box) for access in outer)
    price = seconds(setting, operator_work(setting, view, live, packed_elements(setting, view)))
    excess = used * ELEMENT_BYTES / setting.capacity_bytes
    others = [one for one in chain_view.operators if one is not shared]
    stay = (resident(chain_view, other, view, access) for other in others for access in outer)
    return np.where(excess > 1, price * (SPILL + excess), price), used, reduce(np.maximum, stay, 0)


def _alone(setting: Setting, view: OperatorView) -> ChainView:
    return ChainView(setting.chain, (view,), {}, setting.sizes)


def _resident_of_others(view: ChainView, running: OperatorView) -> Count:
    others = ((one, access) for one, access, _ in outer_accesses(view) if one is not running)
    return sum(resident(view, running, one, access) for one, access in others)


def _behind(count: Count, more: int) -> Count:
    """An array over prefix tiles with dimensions for own tiles behind."""
    return np.reshape(count, np.shape(count) + (1,) * more) if np.ndim(count) else count


def _own_tiles(space: Space, order: tuple[str, ...], index: int) -> dict[str, int]:
    choices = [space.own_tiles[axis] for axis in order]
    position = np.unravel_index(index, tuple(len(tiles) for tiles in choices)) if order else ()
    return {axis: tiles[int(i)] for axis, tiles, i in zip(order, choices, position, strict=True)}


def _blocks(setting: Setting, loops: tuple[LoopView, ...]) -> Count:
    count: Count = 1
    for loop in loops:
        if not is_parallel(setting.chain, loop.axis):
            break
        count = count * loop.trips
    return count


def _cuts(setting: Setting, axis: str, tile: int) -> bool:
    return isinstance(setting.chain.extents[axis], SymbolicExtent) or tile < setting.sizes[axis]
