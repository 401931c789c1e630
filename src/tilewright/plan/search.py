"""The exact search of the fusion level: every prefix, every own order, all tiles at once as broadcast arrays.

For every tile of the prefix the operators are independent of each other but for the memory that they leave to each other, so
that each one's own loops are chosen alone. What one operator keeps on chip while others run (a stationary tile) depends on its
own loops: it either stays or streams through, and every combination of that is tried where it matters. Prefixes whose
arithmetic alone costs more than the best price so far are skipped. Equal prices go to larger tiles, shorter prefixes and fewer
loops. The price of this level counts the nearest level inside a block only: `nesting` refines the best few plans.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np

from tilewright.graph.types import SymbolicExtent
from tilewright.plan.block_order import prefixed
from tilewright.plan.bounds import Bounds, tile_elements, with_spills
from tilewright.plan.cost import Block, measure, operator_work, seconds
from tilewright.plan.images import follows
from tilewright.plan.packing import may_stay
from tilewright.plan.parallel import ENOUGH_BLOCKS, WORTH_DISTRIBUTING_S, imbalance, is_parallel, threads_seconds
from tilewright.plan.schedule import Schedule
from tilewright.plan.setting import ELEMENT_BYTES, Setting
from tilewright.plan.space import Space, Views, are_cut, shared_view, space_of
from tilewright.plan.tile_size import best_index, broadcast
from tilewright.plan.traffic import Surroundings, set_conflict, surroundings
from tilewright.plan.views import Count, LoopView, OperatorView, expanded, view_behind
from tilewright.plan.working_set import resident

MOST_STAYING = 4
"""Operators of which every combination of stationary and streaming tiles is tried."""
KEPT_BOUNDS = 8
"""Prefixes that were not searched of which the bound is kept, shortest first."""

Blocks: TypeAlias = dict[Hashable, Block]
Tiles: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """The best schedule of one prefix, with the figures that it competes by. Loops that always have one trip are left out."""

    prefix: tuple[str, ...]
    tiles: Mapping[str, int]
    own_orders: Mapping[str, tuple[str, ...]]
    own_tiles: Mapping[str, Mapping[str, int]]
    seconds: float
    """On one thread."""
    cores_s: float
    """On the machine's cores: what candidates compete by."""
    used_bytes: int
    blocks: int
    is_bound: bool = False
    """Whether the figures are only what the prefix costs at least: enough to lose by."""
    rolled: tuple[str, ...] = ()
    """Intermediates that are rolled along the last loop of the prefix."""

    def schedule(self, setting: Setting) -> Schedule:
        """The schedule, without packing."""
        return prefixed(setting.chain, self.prefix, self.own_orders, self.tiles, self.own_tiles, self.rolled)

    def __str__(self) -> str:
        shared = ", ".join(f"{axis} by {self.tiles[axis]}" for axis in self.prefix) or "no shared loop"
        below = [f"{name}: {', '.join(order)}" for name, order in self.own_orders.items() if order]
        rolled = [f"{', '.join(self.rolled)} rolled along {self.prefix[-1]}"] if self.rolled else []
        return "; ".join([shared, *rolled, *below])


def search(setting: Setting) -> tuple[Candidate, ...]:
    """The best candidate of every prefix that can compete, the winner first, then by price.

    Prefixes are searched in the order of their bounds, those that roll nothing first; a longer one must gain what is `worth_it`.
    """
    space = space_of(setting)
    bounds = Bounds(space)
    blocks, views = Blocks(), Views()
    prefixes = [_Prefix(space, prefix, rolled, blocks, views=views) for prefix, rolled in space.variants()]
    least = [prefix.least(bounds) for prefix in prefixes]
    enough = min(ENOUGH_BLOCKS, max(prefix.most_blocks() for prefix in prefixes))
    found: dict[int, Candidate] = {}
    for number in sorted(range(len(prefixes)), key=lambda number: (bool(prefixes[number].rolled), least[number][0].min())):
        price, used = least[number]
        bound, bound_of_spills = (_bound(setting, found, number, enough, spills) for spills in (False, True))
        may_fit = used * ELEMENT_BYTES <= setting.capacity_bytes
        here = prefixes[number].restricted((price <= bound) & (may_fit | (price <= bound_of_spills)))
        if here is not None and not (_is_few(setting, here, enough) and bound < np.inf):
            found[number] = here.best()
    unlike: dict[str, Candidate] = {}
    for number in sorted(found):
        unlike.setdefault(str(found[number]), found[number])
    candidates = list(unlike.values())
    winner = _winner(setting, candidates)
    skipped = [number for number in range(len(prefixes)) if number not in found][:KEPT_BOUNDS]
    lost = [*(c for c in candidates if c is not winner), *(prefixes[number].at_least(*least[number]) for number in skipped)]
    return (winner, *sorted(lost, key=lambda candidate: (candidate.is_bound, candidate.cores_s)))


def _bound(setting: Setting, found: Mapping[int, Candidate], number: int, enough: int, spills: bool) -> float:
    """The price above which a prefix, or tiles of it, cannot win after those that were found; infinite if there are none.

    An earlier prefix may be dearer than the best by `worth_it`, a later one must gain as much. What was found but does not fit
    bounds only what cannot fit (`spills`).
    """
    coefficients = setting.coefficients
    able = {
        other: candidate.cores_s
        for other, candidate in found.items()
        if (spills or candidate.used_bytes <= setting.capacity_bytes)
        and (candidate.blocks >= enough or candidate.seconds <= WORTH_DISTRIBUTING_S)
    }
    if not able:
        return float("inf")
    before = [seconds / coefficients.worth_it for other, seconds in able.items() if other < number]
    return min([min(able.values()) * coefficients.worth_it * coefficients.equal_within, *before])


def _is_few(setting: Setting, prefix: _Prefix, enough: int) -> bool:
    """Whether a prefix can only have fewer blocks than the work is worth."""
    return prefix.most_blocks() < enough and setting.arithmetic_s > WORTH_DISTRIBUTING_S


def _winner(setting: Setting, found: Sequence[Candidate]) -> Candidate:
    """The first of those that fit, have enough blocks, and cost no more than what another loop must gain."""
    able = [c for c in found if c.used_bytes <= setting.capacity_bytes] or list(found)
    if min(candidate.seconds for candidate in able) > WORTH_DISTRIBUTING_S:
        most = min(ENOUGH_BLOCKS, max(candidate.blocks for candidate in able))
        able = [candidate for candidate in able if candidate.blocks >= most]
    fastest = min(candidate.cores_s for candidate in able)
    return next(c for c in able if c.cores_s <= fastest * setting.coefficients.worth_it)


@dataclass(frozen=True, slots=True)
class _Option:
    """One own order of an operator under a prefix: figures for all tiles of the prefix and, behind them, its own tiles."""

    order: tuple[str, ...]
    seconds: np.ndarray
    used: np.ndarray
    """Elements of its own tiles."""
    streams: np.ndarray
    """Whether nothing of its tiles stays on chip while others run."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """The best own loops of an operator for every tile of the prefix: price, elements used, number of order, place of tiles."""

    seconds: np.ndarray
    used: np.ndarray
    order: np.ndarray
    index: np.ndarray


class _Prefix:
    """All schedules with one prefix. Arrays have a dimension for every prefix axis, in the order of the chain's axes."""

    def __init__(
        self,
        space: Space,
        prefix: tuple[str, ...],
        rolled: tuple[str, ...],
        blocks: Blocks,
        choices: Mapping[str, Tiles] | None = None,
        views: Views | None = None,
    ) -> None:
        self.space, self.prefix, self.rolled, self.blocks = space, prefix, rolled, blocks
        self.setting = space.setting
        self.dims = tuple(axis for axis in self.setting.sizes if axis in prefix)
        self.choices = choices or {axis: space.prefix_tiles(axis) for axis in self.dims}
        self.shape = tuple(len(self.choices[axis]) for axis in self.dims)
        self.tiles = broadcast(self.dims, self.choices)
        self.view = shared_view(space, prefix, rolled, self.tiles, {} if views is None else views)
        self.follow = follows(self.setting.chain, self.view.storage, prefix)

    def least(self, bounds: Bounds) -> tuple[np.ndarray, np.ndarray]:
        """What the operators cost (seconds on the cores) and use (elements) at least, for all tiles."""
        trips = {axis: -(-self.setting.sizes[axis] // self.tiles[axis]) for axis in self.dims}
        price, used = bounds.of_prefix(self.view, trips)
        return np.broadcast_to(self._on_cores(price), self.shape), np.broadcast_to(used, self.shape)

    def is_cut(self) -> np.ndarray:
        """Where the tiles are no case of a prefix with fewer loops."""
        return np.broadcast_to(are_cut(self.space, self.prefix, self.rolled, self.tiles), self.shape)

    def at_least(self, price: np.ndarray, used: np.ndarray) -> Candidate:
        """The prefix with the tiles of its least bound, for what is told of plans that lost."""
        index = tuple(int(i) for i in np.unravel_index(int(np.where(self.is_cut(), price, np.inf).argmin()), self.shape))
        tiles = {axis: self.choices[axis][i] for axis, i in zip(self.dims, index, strict=True)}
        blocks = int(np.broadcast_to(self._parallel_blocks(), self.shape)[index])
        cores = self.setting.machine.cores
        seconds = float(price[index]) * cores / imbalance(blocks, cores)
        cut = tuple(axis for axis in self.prefix if self._cuts(axis, tiles[axis]))
        used_bytes = int(used[index]) * ELEMENT_BYTES
        return Candidate(cut, tiles, {}, {}, seconds, float(price[index]), used_bytes, blocks, True, self.rolled)

    def restricted(self, able: np.ndarray) -> _Prefix | None:
        """The same prefix with those tiles of its axes that are part of any able combination; None if there are none."""
        if not able.any() or not (able := able & self.is_cut()).any():
            return None
        if able.all():
            return self
        kept = {}
        for position, axis in enumerate(self.dims):
            others = tuple(other for other in range(able.ndim) if other != position)
            kept[axis] = tuple(
                tile for tile, any_able in zip(self.choices[axis], np.atleast_1d(able.any(axis=others)), strict=True) if any_able
            )
        return _Prefix(self.space, self.prefix, self.rolled, {}, kept)

    def most_blocks(self) -> int:
        """The most independent blocks that any tiles give."""
        return int(np.max(self._parallel_blocks()))

    def best(self) -> Candidate:
        """The best candidate."""
        around = surroundings(self.setting, self.view)
        options = {one.operator.name: tuple(self._options(around, one)) for one in self.view.operators}
        stay = {one.operator.name: self._left(one) for one in self.view.operators}
        best: Candidate | None = None
        least = float("inf")
        for streaming in self._modes(stay):
            kept = {name: 0 if streaming[name] else elements for name, elements in stay.items()}
            others = {name: sum(elements for other, elements in kept.items() if other != name) for name in options}
            elsewhere = {name: around.live_elements + elements for name, elements in others.items()}
            candidate = self._candidate(options, self._choose(options, elsewhere, streaming))
            if best is None or candidate.cores_s < best.cores_s:
                best = candidate
            if not any(np.any(np.asarray(elements) > 0) for elements in others.values()):
                break
            least = self._free(options, around) if np.isinf(least) else least
            if best.cores_s <= least * self.setting.coefficients.equal_within:
                break
        assert best is not None
        return best

    def _free(self, options: Mapping[str, Sequence[_Option]], around: Surroundings) -> float:
        """What could be reached if no operator left anything on chip while others run."""
        free = self._choose(options, dict.fromkeys(options, around.live_elements), dict.fromkeys(options, False))
        return float(np.min(self._on_cores(sum(choice.seconds for choice in free.values()))))

    def _modes(self, stay: Mapping[str, Count]) -> Iterator[dict[str, bool]]:
        """Every combination of operators whose tiles stream through; first all that may stay do.

        In chains where more than `MOST_STAYING` operators could keep a tile: all of them, one by one, none.
        """
        able = [name for name, elements in stay.items() if np.any(np.asarray(elements) > 0)]
        every = product((False, True), repeat=len(able)) if len(able) <= MOST_STAYING else _all_single_none(len(able))
        for streaming in sorted(every, key=sum):
            yield {**dict.fromkeys(stay, False), **dict(zip(able, streaming, strict=True))}

    def _choose(
        self, options: Mapping[str, Sequence[_Option]], elsewhere: Mapping[str, Count], streaming: Mapping[str, bool]
    ) -> dict[str, _Choice]:
        return {name: self._best_own(own, elsewhere[name], streaming[name]) for name, own in options.items()}

    def _candidate(self, options: Mapping[str, Sequence[_Option]], choices: Mapping[str, _Choice]) -> Candidate:
        setting = self.setting
        total = sum((choice.seconds for choice in choices.values()), np.zeros(self.shape))
        used = reduce(np.maximum, (choice.used for choice in choices.values()))
        blocks = np.broadcast_to(self._parallel_blocks(), self.shape)
        too_few = (blocks < min(ENOUGH_BLOCKS, blocks.max())) & (total > WORTH_DISTRIBUTING_S)
        volume = prod((np.minimum(self.tiles[axis], setting.sizes[axis]) for axis in self.dims), start=np.ones(self.shape))
        on_cores = self._on_cores(total)
        index = best_index(np.where(too_few, np.inf, on_cores), volume, setting.coefficients.equal_within)
        tiles = {axis: self.choices[axis][i] for axis, i in zip(self.dims, index, strict=True)}
        orders = {name: options[name][int(choice.order[index])].order for name, choice in choices.items()}
        own_tiles = {name: self._own_tiles(order, int(choices[name].index[index])) for name, order in orders.items()}
        return Candidate(
            prefix=tuple(axis for axis in self.prefix if self._cuts(axis, tiles[axis])),
            tiles=tiles,
            own_orders={
                name: tuple(axis for axis in order if self._cuts(axis, own_tiles[name][axis])) for name, order in orders.items()
            },
            own_tiles=own_tiles,
            seconds=float(total[index]),
            cores_s=float(on_cores[index]),
            used_bytes=int(used[index]) * ELEMENT_BYTES,
            blocks=int(blocks[index]),
            rolled=self.rolled if self.rolled and self._cuts(self.prefix[-1], tiles[self.prefix[-1]]) else (),
        )

    def _options(self, around: Surroundings, shared: OperatorView) -> Iterator[_Option]:
        """Every own order of an operator, priced for all tiles."""
        for order in self._own_orders(shared):
            view = self._with_own(shared, order)
            here = _behind(around, len(self._own_dims(order)))
            block = self._block(shared, order)
            price = self._price(here, view, block)
            yield _Option(order, price, tile_elements(self.setting, shared.operator, block), np.asarray(self._left(view)) == 0)

    def _own_orders(self, one: OperatorView) -> tuple[tuple[str, ...], ...]:
        """The orders of an operator's own loops; it has none along axes along which it follows its consumers."""
        return self.space.own_orders(one.operator, (*self.prefix, *one.walks))

    def _with_own(self, shared: OperatorView, order: tuple[str, ...]) -> OperatorView:
        """The view of an operator with loops of its own in this order, of all tiles."""
        dims, sizes = self._own_dims(order), self.setting.sizes
        tiles, one = self._tiles(dims), view_behind(shared, len(dims))
        loops = (LoopView(axis, -(-sizes[axis] // tiles[axis]), len(self.prefix) + i) for i, axis in enumerate(order))
        own = {axis: np.minimum(tiles[axis], sizes[axis]) for axis in dims}
        return replace(one, loops=(*one.loops, *loops), tiles={**one.tiles, **own})

    def _price(self, around: Surroundings, view: OperatorView, block: Block) -> Count:
        """The price with the right operand packed, or read in place where that gains enough."""
        setting, worth = self.setting, self.setting.coefficients.worth_it
        packed = operator_work(setting, around, view, block)
        price = seconds(setting, packed)
        if not may_stay(setting, view.operator) or np.all((price - packed.packing_s) * worth >= price):
            return price
        conflict = set_conflict(setting, view.operator, setting.cache_levels[0])
        in_place = seconds(setting, operator_work(setting, around, view, block, conflict=conflict))
        return np.where(in_place * worth < price, in_place, price)

    def _best_own(self, options: Sequence[_Option], elsewhere: Count, streams: bool) -> _Choice:
        """The best own loops if other operators leave this much memory; none at all if more of them gain too little."""
        none, *orders = (self._best_tiles(number, option, elsewhere, streams) for number, option in enumerate(options))
        if not orders:
            return none
        best = reduce(lambda one, other: _where(other.seconds < one.seconds, other, one), orders)
        return _where(best.seconds * self.setting.coefficients.worth_it < none.seconds, best, none)

    def _best_tiles(self, number: int, option: _Option, elsewhere: Count, streams: bool) -> _Choice:
        dims = self._own_dims(option.order)
        used = option.used + expanded(elsewhere, len(dims))
        price = with_spills(self.setting, option.seconds, used)
        price = np.where(option.streams, price, np.inf) if streams else price
        shape = self.shape + tuple(len(self.space.tiles[axis]) for axis in dims)
        prices, needs = (np.broadcast_to(array, shape).reshape((*self.shape, -1)) for array in (price, used))
        at = prices.argmin(axis=-1)
        return _Choice(_taken(prices, at), _taken(needs, at), np.full(self.shape, number), at)

    def _block(self, one: OperatorView, order: tuple[str, ...]) -> Block:
        along = self.prefix[-1] if self.rolled else ""
        key = (one.operator.name, frozenset(self.prefix), self.rolled, along, bool(order))
        if key not in self.blocks:
            view = self._with_own(one, order)
            self.blocks[key] = measure(self.setting.walked(view.walked(self.setting.sizes)), one.operator, view.tiles)
        return self.blocks[key]

    def _own_dims(self, order: Sequence[str]) -> tuple[str, ...]:
        return tuple(axis for axis in self.setting.sizes if axis in order)

    def _tiles(self, own: tuple[str, ...]) -> dict[str, np.ndarray]:
        return broadcast((*self.dims, *own), {**self.choices, **{axis: self.space.tiles[axis] for axis in own}})

    def _left(self, view: OperatorView) -> Count:
        """What stays on chip of an operator's tiles while others run: under a prefix that is the same for all of them."""
        other = next((one for one in self.view.operators if one.operator.name != view.operator.name), None)
        outer = [one.access for one in self.setting.operands[view.operator.name] if not one.is_intermediate]
        return 0 if other is None else sum(resident(self.view, other, view, access) for access in outer)

    def _own_tiles(self, order: tuple[str, ...], index: int) -> dict[str, int]:
        dims = self._own_dims(order)
        choices = [self.space.tiles[axis] for axis in dims]
        position = np.unravel_index(index, tuple(len(tiles) for tiles in choices)) if dims else ()
        return {axis: tiles[int(i)] for axis, tiles, i in zip(dims, choices, position, strict=True)}

    def _parallel_blocks(self) -> Count:
        count: Count = 1
        for loop in self.view.operators[-1].loops[: len(self.prefix) - bool(self.rolled)]:
            if not is_parallel(self.setting.chain, loop.axis, self.follow):
                break
            count = count * loop.trips
        return count

    def _on_cores(self, seconds: Count) -> Count:
        """The time on the machine's cores of what takes so long on one thread, for all tiles."""
        machine = self.setting.machine
        return threads_seconds(seconds, self._parallel_blocks(), machine.cores, machine.parallel_region_s)

    def _cuts(self, axis: str, tile: int) -> bool:
        return isinstance(self.setting.chain.extents[axis], SymbolicExtent) or tile < self.setting.sizes[axis]


def _all_single_none(count: int) -> Iterator[tuple[bool, ...]]:
    yield (False,) * count
    yield from (tuple(i == single for i in range(count)) for single in range(count))
    yield (True,) * count


def _behind(around: Surroundings, more: int) -> Surroundings:
    """Figures over prefix tiles with dimensions for own tiles behind."""
    held = {level: tuple(expanded(count, more) for count in counts) for level, counts in around.held.items()}
    return Surroundings(expanded(around.live_elements, more), around.shared_loops, held, ())


def _where(condition: np.ndarray, this: _Choice, that: _Choice) -> _Choice:
    pairs = ((this.seconds, that.seconds), (this.used, that.used), (this.order, that.order), (this.index, that.index))
    return _Choice(*(np.where(condition, one, other) for one, other in pairs))


def _taken(figures: np.ndarray, at: np.ndarray) -> np.ndarray:
    return np.take_along_axis(figures, at[..., None], -1)[..., 0]
