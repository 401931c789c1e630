"""Outer fused loops: all schedules with the same outer loops, and fused groups below it, priced as broadcast arrays over all
tiles.

For every tile of the outer loops the operators are independent of each other but for the memory that they leave to each other, so
that each one's inner loops are chosen alone. What one operator keeps on chip while others run (a stationary tile) depends on its
inner loops: it either stays or is read again, and every combination of that is tried where it matters.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import prod

import numpy as np

from tilewright.arrays import Count, Quantity, content, expanded, spread
from tilewright.graph.types import Operator
from tilewright.plan.counts import Counted, count, count_elements
from tilewright.plan.model.cost import Block, measure, moving_of, nothing, passing_of, seconds, work_of
from tilewright.plan.model.cost_context import axes_of_like, likeness
from tilewright.plan.model.memory.traffic import ChainFigures, chain_figures, set_conflict
from tilewright.plan.model.memory.working_set import live_bytes
from tilewright.plan.model.operands.packing_cost import may_stay
from tilewright.plan.model.pricing import Candidate
from tilewright.plan.regions.loop_views import (
    ChainView,
    LoopView,
    OperatorView,
    blocks_in_view,
    taken,
    view_of_tiles,
    view_outer_loops,
)
from tilewright.plan.regions.online_reductions import live_states
from tilewright.plan.schedule import FusedGroup, Storage, fused_group_of
from tilewright.plan.search.bounds import Bounds, TileBlocks, Tiles, tile_bytes, with_spills
from tilewright.plan.search.candidates import Order
from tilewright.plan.search.resident_tiles import (
    MOST_RESIDENT,
    Resident,
    rereading_combinations,
    resident_bytes,
    resident_bytes_of_others,
)
from tilewright.plan.space.schedule_space import Choices, Space, Views, are_cut, best_index, broadcast, shared_view
from tilewright.plan.threads import threads_seconds
from tilewright.records import record


@record
class _Option:
    """One inner loop order of an operator under an order of outer loops: figures for all tiles of the outer loops and, behind
    them, its inner tiles."""

    order: tuple[str, ...]
    seconds: Quantity
    used: Count
    """Bytes of its inner tiles."""
    rereads: np.ndarray
    """Whether nothing of its tiles stays on chip while others run."""


@record
class _Choice:
    """The best inner loops of an operator for every tile of the outer loops: price, bytes used, number of order, place of
    tiles."""

    seconds: np.ndarray
    used: np.ndarray
    order: np.ndarray
    index: np.ndarray


class OuterLoops:
    """All schedules with the same outer loops. Arrays have a dimension for every axis of the outer loops, in the order of the
    chain's axes."""

    def __init__(
        self,
        space: Space,
        outer_loops: tuple[str, ...],
        line_buffered: tuple[str, ...],
        choices: Choices | None = None,
        fused_groups: tuple[FusedGroup, ...] = (),
        *,
        views: Views | None = None,
        every: TileBlocks | None = None,
        view: ChainView | None = None,
        live: Count | None = None,
    ) -> None:
        """`every` block of the space, `views` of other orders, its own `view` and what intermediates take may be known."""
        self.space, self.outer_loops, self.line_buffered, self.fused_groups = space, outer_loops, line_buffered, fused_groups
        self.context, self.every = space.context, every or TileBlocks(space)
        self.blocks: dict[Hashable, Tiles] = {}
        self.shared = (*outer_loops, *(axis for fused_group in fused_groups for axis in fused_group.axes))
        self.dims = tuple(axis for axis in self.context.sizes if axis in self.shared)
        self.choices: Choices = choices or {axis: space.outer_tiles(axis) for axis in self.dims}
        self.shape = tuple(len(self.choices[axis]) for axis in self.dims)
        self.tiles = broadcast(self.dims, self.choices)
        views = Views() if views is None else views
        self.view = view or shared_view(space, outer_loops, line_buffered, self.tiles, fused_groups, views)
        self.parallel_blocks: Count = blocks_in_view(self.view, len(outer_loops))
        self.known_live = live

    def live_bytes(self) -> Count:
        """What intermediates take, for all tiles."""
        if self.known_live is None:
            self.known_live = live_bytes(self.view)
        return self.known_live

    def least(self, bounds: Bounds, live: Count | None = None) -> tuple[np.ndarray, np.ndarray]:
        """What the operators cost (seconds on the cores) and use (bytes) at least, for all tiles (see
        `Bounds.of_outer_loops`)."""
        count(Counted.ORDERS)
        price, used = bounds.of_outer_loops(self.view, self.choices, self.live_bytes() if live is None else live)
        return spread(self._on_cores(price), self.shape), spread(used, self.shape)

    def least_live(self, able: Iterable[tuple[FusedGroup, ...]]) -> Count:
        """What intermediates take at least (bytes) if one of these choices of fused groups shares loops below, for all
        tiles."""
        space, outer_loops, live = self.space, self.outer_loops, self.live_bytes()
        for fused_groups in able:
            smallest = {axis: space.tiles[axis][0] for fused_group in fused_groups for axis in fused_group.axes}
            view = view_outer_loops(self.view.chain, outer_loops, {**self.tiles, **smallest}, self.view.storage, fused_groups)
            live = np.minimum(live, live_bytes(view) - live_states(view))
        return live

    def is_cut(self) -> np.ndarray:
        """Where the tiles are no case of fewer outer loops."""
        return spread(are_cut(self.space, self.outer_loops, self.line_buffered, self.tiles), self.shape)

    def at_best(self, live: Count) -> np.ndarray:
        """What the operators cost (seconds on the cores) if intermediates took so much and nothing stayed of other operators."""
        around = chain_figures(self.context, self.view, live)
        options = self._options(around)
        return self._unhindered(options, live)

    def at_least(self, price: np.ndarray, used: np.ndarray) -> Candidate:
        """The outer loops with the tiles of its least bound, for what is told of plans that lost."""
        index = tuple(int(i) for i in np.unravel_index(int(np.where(self.is_cut(), price, np.inf).argmin()), self.shape))
        blocks, cores_s = int(spread(self.parallel_blocks, self.shape)[index]), float(price[index])
        return self._order().bound(
            self.context, self._tiles_at(index), cores_s=cores_s, used_bytes=int(used[index]), blocks=blocks
        )

    def _order(self) -> Order:
        return Order(self.outer_loops, self.line_buffered, self.fused_groups)

    def _tiles_at(self, index: tuple[int, ...]) -> dict[str, int]:
        return {axis: self.choices[axis][i] for axis, i in zip(self.dims, index, strict=True)}

    def restricted(self, able: np.ndarray) -> OuterLoops | None:
        """The same outer loops with those tiles of its axes that are part of any able combination; None if there are none."""
        if not able.any() or not (able := able & self.is_cut()).any():
            return None
        if able.all():
            return self
        kept, picks = {}, []
        for position, axis in enumerate(self.dims):
            dimensions = tuple(dimension for dimension in range(able.ndim) if dimension != position)
            picks.append(np.flatnonzero(able.any(axis=dimensions)))
            kept[axis] = tuple(self.choices[axis][place] for place in picks[-1])
        view, live = view_of_tiles(self.view, picks), taken(self.live_bytes(), picks)
        return OuterLoops(
            self.space, self.outer_loops, self.line_buffered, kept, self.fused_groups, every=self.every, view=view, live=live
        )

    def keeps_all(self) -> bool:
        """Whether no intermediate is computed again, or line-buffered."""
        return all(storage is Storage.KEEP for storage in self.view.storage.values())

    def best(self) -> Candidate:
        """The best candidate."""
        count(Counted.ORDERS_PRICED)
        around = chain_figures(self.context, self.view, self.live_bytes())
        options = self._options(around)
        stay = {member.operator.name: self._resident(member) for member in self.view.operators}
        alike = self._alike(options, stay)
        best: Candidate | None = None
        least = float("inf")
        for rereading in rereading_combinations(stay, alike):
            live_elsewhere = resident_bytes_of_others(stay, rereading, self.fused_groups)
            elsewhere = {name: around.live_bytes + size_bytes for name, size_bytes in live_elsewhere.items()}
            candidate = self._candidate(options, self._choose(options, elsewhere, rereading, alike))
            if best is None or candidate.cores_s < best.cores_s:
                best = candidate
            if not any(np.any(np.asarray(size_bytes) > 0) for size_bytes in live_elsewhere.values()):
                break
            least = float(self._unhindered(options, around.live_bytes).min()) if np.isinf(least) else least
            if best.cores_s <= least * self.context.coefficients.equal_within:
                break
        assert best is not None
        return best

    def _unhindered(self, options: Mapping[str, Sequence[_Option]], live: Count) -> np.ndarray:
        """The time on the cores if intermediates took so much and no operator left anything on chip while others run."""
        choices = self._choose(options, dict.fromkeys(options, live), dict.fromkeys(options, False), {})
        total = sum((choice.seconds for choice in choices.values()), np.zeros(self.shape))
        return spread(self._on_cores(total), self.shape)

    def _alike(self, options: Mapping[str, Sequence[_Option]], stay: Mapping[str, Resident]) -> dict[str, Hashable]:
        """What tells operators of long chains apart: equal layers have equal figures. Nothing in short ones."""
        if len(options) <= MOST_RESIDENT:
            return {}
        found: dict[str, Hashable] = {}
        for name, options_of in options.items():
            figures = [figures for option in options_of for figures in (option.seconds, option.used, option.rereads)]
            group = fused_group_of(self.fused_groups, name)
            found[name] = tuple(map(content, figures)), tuple(map(content, stay[name])), group
        return found

    def _choose(
        self,
        options: Mapping[str, Sequence[_Option]],
        elsewhere: Mapping[str, Count],
        rereading: Mapping[str, bool],
        alike: Mapping[str, Hashable],
    ) -> dict[str, _Choice]:
        """The best inner loops of every operator, found once for those that are alike."""
        known: dict[Hashable, _Choice] = {}
        found = {}
        for name, options_of in options.items():
            like = alike.get(name) or tuple((id(option.seconds), content(option.rereads)) for option in options_of)
            key = like, content(elsewhere[name]), rereading[name]
            if key not in known:
                known[key] = self._best_inner(options_of, elsewhere[name], rereading[name])
            found[name] = known[key]
        return found

    def _candidate(self, options: Mapping[str, Sequence[_Option]], choices: Mapping[str, _Choice]) -> Candidate:
        context = self.context
        total = sum((choice.seconds for choice in choices.values()), np.zeros(self.shape))
        used = reduce(np.maximum, (choice.used for choice in choices.values()))
        blocks = spread(self.parallel_blocks, self.shape)
        volume = prod((np.minimum(self.tiles[axis], context.sizes[axis]) for axis in self.dims), start=np.ones(self.shape))
        on_cores = np.asarray(self._on_cores(total))
        index = best_index(on_cores, volume, context.coefficients.equal_within)
        orders = {name: options[name][int(choice.order[index])].order for name, choice in choices.items()}
        inner = {name: self._inner_tiles(order, int(choices[name].index[index])) for name, order in orders.items()}
        return self._order().candidate(
            context,
            self._tiles_at(index),
            inner,
            seconds=float(total[index]),
            cores_s=float(on_cores[index]),
            used_bytes=int(used[index]),
            blocks=int(blocks[index]),
        )

    def _options(self, around: ChainFigures) -> dict[str, tuple[_Option, ...]]:
        """Every inner loop order of every operator, priced for all tiles; equal layers are priced once."""
        known: dict[Hashable, tuple[Operator, tuple[_Option, ...]]] = {}
        found: dict[str, tuple[_Option, ...]] = {}
        for member in self.view.operators:
            operator = member.operator
            key = self._likeness(around, member)
            if key not in known:
                known[key] = operator, tuple(self._options_of(around, member))
            first, options = known[key]
            if first is not operator:
                options = tuple(replace(option, order=axes_of_like(first, operator, option.order)) for option in options)
            found[operator.name] = options
        return found

    def _likeness(self, around: ChainFigures, member: OperatorView) -> Hashable:
        """Equal for operators of equal options."""
        operator = member.operator
        places = {axis.name: place for place, axis in enumerate(operator.axes)}
        orders = tuple(tuple(places[axis] for axis in order) for order in self._inner_orders(member))
        tiles = tuple(self.space.tiles.get(axis) for axis in places)
        group = fused_group_of(self.fused_groups, operator.name)
        return likeness(self.context, member), orders, tiles, group, around.shared_loops[operator.name]

    def _options_of(self, around: ChainFigures, shared: OperatorView) -> Iterator[_Option]:
        for order in self._inner_orders(shared):
            view = self._with_inner(shared, order)
            inner_around = _behind(around, len(self._inner_dims(order)))
            tiles = self._block(shared, order, view)
            price = self._price(inner_around, view, tiles.block)
            rereads = np.asarray(sum(self._resident(view))) == 0
            yield _Option(order, price, tiles.used_bytes, rereads)

    def _inner_orders(self, member: OperatorView) -> tuple[tuple[str, ...], ...]:
        """The orders of an operator's inner loops; it has none along axes with required regions."""
        return self.space.inner_orders(member.operator, (*self.shared, *member.regions))

    def _with_inner(self, shared: OperatorView, order: tuple[str, ...]) -> OperatorView:
        """The view of an operator with inner loops in this order, of all tiles."""
        dims, sizes = self._inner_dims(order), self.context.sizes
        every_tile = {**self.choices, **{axis: self.space.tiles[axis] for axis in dims}}
        tiles, member = broadcast((*self.dims, *dims), every_tile), shared.behind(len(dims))
        loops = (LoopView(axis, -(-sizes[axis] // tiles[axis]), len(self.shared) + i) for i, axis in enumerate(order))
        inner_tiles = {axis: np.minimum(tiles[axis], sizes[axis]) for axis in dims}
        every, behind = (*member.loops, *loops), {**member.tiles, **inner_tiles}
        return OperatorView(member.operator, every, member.conditions, behind, member.regions, member.line_buffered)

    def _price(self, around: ChainFigures, view: OperatorView, block: Block) -> Quantity:
        """The price with the right operand packed, or read in place where that gains enough."""
        context, least_gain = self.context, self.context.coefficients.least_gain
        if view.operator.name in context.in_tiles:
            return seconds(context, nothing(context))
        passing = passing_of(context, around, view, block)
        packed = work_of(moving_of(passing))
        price = seconds(context, packed)
        if not may_stay(context, view.operator) or np.all((price - packed.packing_s) * least_gain >= price):
            return price
        conflict = set_conflict(context, view.operator, context.cache_levels[0])
        in_place = seconds(context, work_of(moving_of(passing, conflict)))
        return np.where(in_place * least_gain < price, in_place, price)

    def _best_inner(self, options: Sequence[_Option], elsewhere: Count, rereads: bool) -> _Choice:
        """The best inner loops if other operators leave this much memory; none at all if more of them gain too little."""
        none, *orders = (self._best_tiles(number, option, elsewhere, rereads) for number, option in enumerate(options))
        if not orders:
            return none
        best = reduce(lambda left, right: _where(right.seconds < left.seconds, right, left), orders)
        return _where(best.seconds * self.context.coefficients.least_gain < none.seconds, best, none)

    def _best_tiles(self, number: int, option: _Option, elsewhere: Count, rereads: bool) -> _Choice:
        dims = self._inner_dims(option.order)
        used = option.used + expanded(elsewhere, len(dims))
        price = with_spills(self.context, option.seconds, used)
        price = np.where(option.rereads, price, np.inf) if rereads else price
        shape = self.shape + tuple(len(self.space.tiles[axis]) for axis in dims)
        prices, needs = (spread(array, shape).reshape((*self.shape, -1)) for array in (price, used))
        count_elements(Counted.CANDIDATES, prices)
        at = prices.argmin(axis=-1)
        return _Choice(_taken(prices, at), _taken(needs, at), np.full(self.shape, number), at)

    def _block(self, member: OperatorView, order: tuple[str, ...], view: OperatorView) -> Tiles:
        """The blocks of an operator under inner loops: the same in every order of them."""
        operator, key = member.operator, (member.operator.name, bool(order))
        if key not in self.blocks:
            if member.regions:
                block = measure(self.context.for_view(view), operator, view.tiles)
                self.blocks[key] = Tiles(block, tile_bytes(self.context, operator, block))
            else:
                self.blocks[key] = self.every.below(operator, self.choices, self._inner_dims(order), view.tiles)
        return self.blocks[key]

    def _inner_dims(self, order: Sequence[str]) -> tuple[str, ...]:
        return tuple(axis for axis in self.context.sizes if axis in order)

    def _resident(self, view: OperatorView) -> Resident:
        return resident_bytes(self.context, self.view, self.fused_groups, view)

    def _inner_tiles(self, order: tuple[str, ...], index: int) -> dict[str, int]:
        dims = self._inner_dims(order)
        choices = [self.space.tiles[axis] for axis in dims]
        position = np.unravel_index(index, tuple(len(tiles) for tiles in choices)) if dims else ()
        tiles = {axis: some[int(i)] for axis, some, i in zip(dims, choices, position, strict=True)}
        return {axis: tiles[axis] for axis in order}

    def _on_cores(self, seconds: Quantity) -> Quantity:
        """The time on the machine's cores of what takes so long on one thread, for all tiles."""
        machine = self.context.machine
        return threads_seconds(seconds, self.parallel_blocks, machine.cores, machine.parallel_region_s)


def outer_orders(space: Space, every: TileBlocks) -> tuple[OuterLoops, ...]:
    """Every order of outer loops of a space, shortest first."""
    views = Views()
    return tuple(OuterLoops(space, order, line_buffered, views=views, every=every) for order, line_buffered in space.variants())


def _behind(around: ChainFigures, more: int) -> ChainFigures:
    """Figures over tiles of the outer loops with dimensions for inner tiles behind."""
    held = {level: tuple(expanded(count, more) for count in counts) for level, counts in around.held.items()}
    return ChainFigures(expanded(around.live_bytes, more), around.shared_loops, held, ())


def _where(condition: np.ndarray, this: _Choice, that: _Choice) -> _Choice:
    pairs = ((this.seconds, that.seconds), (this.used, that.used), (this.order, that.order), (this.index, that.index))
    return _Choice(*(np.where(condition, left, right) for left, right in pairs))


def _taken(figures: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Of every row along the last dimension the figure at its place."""
    rows = figures.reshape(-1, figures.shape[-1])
    taken: np.ndarray = rows[np.arange(len(rows)), at.reshape(-1)]  # np.take_along_axis takes 2% of planning a CNN
    return taken.reshape(at.shape)
