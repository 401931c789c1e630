"""Lower bounds of the price of all schedules with an order of outer loops, which let the search skip orders of outer loops and
tiles that cannot win.

The parts of an operator's price that no loop order changes (arithmetic with its edges, calls, packing once, every operand once
into each level, the smallest tiles in memory) are evaluated once, for all combinations of its tiles. The bound of an order of
outer loops takes the least of every part over the loops that are left to the operator, repeats it where it is recomputed, and
adds spills.

Blocks of operators with all tiles of a space are evaluated once, and taken from there for every order of outer loops. Along axes
with required regions blocks depend on the loops: those of such operators are not taken from here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tilewright.arrays import Condition, Count, Quantity, Value, either, product
from tilewright.graph.types import Operator
from tilewright.plan.model.cost import Block, Work, arithmetic_work, least_work, measure, seconds, useful_seconds
from tilewright.plan.model.cost_context import CostContext, likeness
from tilewright.plan.model.memory.traffic import Footprints
from tilewright.plan.model.memory.working_set import live_bytes
from tilewright.plan.model.needed_work import least_guarded_work
from tilewright.plan.model.operands.packing_cost import has_all_rows, operand_read_once
from tilewright.plan.regions.loop_views import ChainView, OperatorView
from tilewright.plan.regions.masks import is_plain_mask
from tilewright.plan.schedule import Storage
from tilewright.plan.space.schedule_space import Choices, Space, broadcast, places_in
from tilewright.records import record


@record
class Tiles:
    """Blocks of an operator, and the bytes of their tiles."""

    block: Block
    used_bytes: Count


class TileBlocks:
    """The blocks of a space's operators, once they were asked for."""

    def __init__(self, space: Space) -> None:
        self.space, self.context = space, space.context
        operators = self.context.chain.operators
        self.axes = {op.name: tuple(a for a in self.context.sizes if a in space.tiles and a in op.axis_names) for op in operators}
        self.found: dict[str, Tiles] = {}

    def of(self, operator: Operator) -> Tiles:
        """Those with all tiles of all axes, each along a dimension of its own in the order of the chain's axes."""
        if operator.name not in self.found:
            context, axes = self.context, self.axes[operator.name]
            choices = {axis: (1,) if axis in self.space.batch else self.space.tiles[axis] for axis in axes}
            tiles = broadcast(axes, choices)
            box = {axis: np.minimum(tiles[axis], size) if axis in tiles else size for axis, size in context.sizes.items()}
            block = measure(context, operator, box)
            self.found[operator.name] = Tiles(block, tile_bytes(context, operator, block))
        return self.found[operator.name]

    def below(self, operator: Operator, choices: Choices, inner: Sequence[str], tiles: Mapping[str, Count]) -> Tiles:
        """Those with the tiles of some outer loops and, in dimensions behind, all tiles of these inner loops.

        `tiles` are those of all axes; what no loop cuts is whole.
        """
        every = self.of(operator)
        block = every.block
        places = Places(self.axes[operator.name], choices, inner, self.space)
        tile, swept = (tuple(places.taken(size) for size in sizes) for sizes in (block.footprints.tile, block.footprints.swept))
        work = (places.taken(figure) for figure in (block.arithmetic_s, block.functions_s, block.calls))
        return Tiles(Block(tiles, Footprints(tile, swept), *work), places.taken(every.used_bytes))


class Places:
    """Where the tiles of some loops stand among all tiles of an operator's axes."""

    def __init__(self, axes: Sequence[str], choices: Choices, inner: Sequence[str], space: Space) -> None:
        self.rank = len(axes)
        self.picks: list[tuple[int, slice | list[int]]] = []
        for place, axis in enumerate(axes):
            if axis in choices:
                every = (1,) if axis in space.batch else space.tiles[axis]
                if choices[axis] != every:
                    self.picks.append((place, places_in(every, choices[axis])))
            elif axis not in inner:
                self.picks.append((place, slice(-1, None)))
        self.order = [place for place, axis in enumerate(axes) if axis not in inner]
        self.order += [place for place, axis in enumerate(axes) if axis in inner]
        self.behind = sum(axis in inner for axis in axes)
        self.outer = [axes.index(axis) if axis in axes else None for axis in choices]

    def taken(self, figure: Value) -> Value:
        """A figure of all tiles for those of the loops: outer ones first, then inner ones. Plain values stay plain."""
        if not isinstance(figure, np.ndarray) or not figure.ndim:
            return figure
        some: npt.NDArray[Any] = figure
        for place, pick in self.picks:
            if some.shape[place] > 1:
                some = some[(slice(None),) * place + (pick,)]
        outer: tuple[int, ...] = tuple(1 if place is None else some.shape[place] for place in self.outer)
        inner: tuple[int, ...] = tuple(some.shape[place] for place in self.order[self.rank - self.behind :])
        return some.transpose(self.order).reshape((*outer, *inner))


def tile_bytes(context: CostContext, operator: Operator, block: Block) -> Count:
    """What an operator's tiles of inputs and outputs take, but for what passes by once."""
    operands, read_once = context.operands[operator.name], operand_read_once(context, operator)
    passes: Condition = read_once is not None and has_all_rows(context, operator, block.tiles)
    kept = [True if operand.is_write or operand.access != read_once else np.logical_not(passes) for operand in operands]
    tiles = zip(operands, block.footprints.tile, kept, strict=True)
    return sum(one.element_bytes * either(is_kept, tile, 0) for one, tile, is_kept in tiles if not one.is_intermediate)


PriceAndUse: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Seconds, and bytes of the fusion level."""
SPILL = 4.0
"""A working set beyond the capacity multiplies the price at least by this; so plans that fit win wherever there are any."""


def with_spills(context: CostContext, price: Quantity, used: Quantity) -> Quantity:
    """The price where `used` bytes fit the fusion level, and far more where they do not."""
    excess = used / context.capacity_bytes
    return np.where(excess > 1, price * (SPILL + excess), price)


class Bounds:
    """Lower bounds of a space; what orders of outer loops have in common is computed once.

    Arrays of an order of outer loops have a dimension for each of its axes, in the chain's order.
    """

    def __init__(self, space: Space, every: TileBlocks | None = None) -> None:
        self.space, self.context = space, space.context
        self.every = every or TileBlocks(space)
        self.axes = self.every.axes
        self.parts = self._all_parts(self.context.chain.operators)
        self.works: dict[Hashable, tuple[Work, np.ndarray]] = {}
        self.shown = 1.0
        """The share of waiting for the pages of right operands that is not hidden."""
        self._forget_prices()

    def _all_parts(self, operators: Sequence[Operator]) -> dict[str, tuple[np.ndarray, ...]]:
        """The parts of every operator; those of equal layers are evaluated once."""
        known: dict[Hashable, tuple[np.ndarray, ...]] = {}
        found: dict[str, tuple[np.ndarray, ...]] = {}
        for operator in operators:
            tiles = tuple(self.space.tiles.get(axis.name) for axis in operator.axes)
            places = tuple(operator.axes.index(operator.axis(axis)) for axis in self.axes[operator.name])
            key = self.context.kinds.get(operator.name, operator.name), tiles, places
            if key not in known:
                known[key] = self._parts(operator)
            found[operator.name] = known[key]
        return found

    def _forget_prices(self) -> None:
        self.least: dict[Hashable, PriceAndUse] = {}
        self.sums: dict[Hashable, PriceAndUse] = {}

    def with_prefetches(self) -> Bounds:
        """The same bounds with everything hidden that prefetches may hide: of traffic, and of waiting for pages."""
        hidden, coefficients = copy(self), self.context.coefficients
        hidden.shown = 1 - coefficients.prefetch_hides
        shown = replace(coefficients, visible_traffic=coefficients.visible_traffic * hidden.shown)
        hidden.context = replace(self.context, coefficients=shown)
        hidden._forget_prices()
        return hidden

    def without_spills(self, view: ChainView, choices: Choices) -> np.ndarray:
        """As `of_outer_loops`, if everything fitted the fusion level."""
        line_buffering = line_buffering_of(view)
        prices = (self.price_and_use(member, choices, line_buffering)[0] for member in view.operators)
        return sum(prices, np.zeros((1,) * len(choices)))

    def of_outer_loops(self, view: ChainView, choices: Choices, live: Count | None = None) -> PriceAndUse:
        """What the operators cost (seconds, recomputation and spills included) and use (bytes) at least under an order of
        outer loops.

        `choices` are the tiles of its loops, in the chain's order of axes, each along a dimension of its own. `live` is what
        intermediates take at least (default: what they take without further loops).
        """
        live = live_bytes(view) if live is None else live
        line_buffering = line_buffering_of(view)
        held = np.asarray(live)
        depths = tuple(len(member.loops) for member in view.operators)
        key = tuple(choices.items()), line_buffering, held.shape, held.tobytes(), depths
        if key not in self.sums:
            self.sums[key] = self._sum(view, choices, line_buffering, live)
        return self.sums[key]

    def _sum(self, view: ChainView, choices: Choices, line_buffering: tuple[str, ...], live: Count) -> PriceAndUse:
        """The price of all operators and the most bytes that one uses, where intermediates hold `live` ones."""
        total, most = np.zeros((1,) * len(choices)), np.zeros((1,) * len(choices))
        for member in view.operators:
            price, tiles = self.price_and_use(member, choices, line_buffering)
            used = tiles + live
            total = total + with_spills(self.context, price, used)
            most = np.maximum(most, used)
        return total, most

    def price_and_use(self, member: OperatorView, choices: Choices, line_buffering: tuple[str, ...]) -> PriceAndUse:
        """Those of one operator; `line_buffering` has the tensors that have circular line buffers, and the axis along which they
        are."""
        buffering = line_buffering if member.regions else ()
        key = likeness(self.context, member), tuple(choices.items()), tuple(member.regions), buffering
        if key not in self.works:
            self.works[key] = self._work_and_use(member, choices)
        if key not in self.least:
            work, used = self.works[key]
            shown = work if self.shown == 1.0 else replace(work, packing_s=work.packing_s * self.shown)
            self.least[key] = np.asarray(seconds(self.context, shown)), used
        return self.least[key]

    def _work_and_use(self, member: OperatorView, choices: Choices) -> tuple[Work, np.ndarray]:
        axes = member.operator.axis_names
        repeats: Quantity = product(loop.trips for loop in member.loops if loop.axis not in axes)
        all_arithmetic, all_functions, packing, overhead, moved, used = self._over_inner(member, choices)
        arithmetic, functions = self._of_regions(member, all_arithmetic, all_functions)
        if member.regions:
            packing, overhead, moved = (part * self._read_whole(member) for part in (packing, overhead, moved))
        guarded = least_guarded_work(self.context, member.operator.name)
        touches = not is_plain_mask(self.context.chain, member.operator.name)
        repeats = repeats * guarded.computed
        traffic = dict.fromkeys((level.name for level in self.context.cache_levels), moved * guarded.computed * touches)
        work = Work(arithmetic * repeats, functions * touches * repeats, packing, overhead * repeats, traffic)
        return work, used * (not member.regions)

    def _of_regions(self, member: OperatorView, arithmetic: Quantity, functions: Quantity) -> tuple[Quantity, Quantity]:
        """The least arithmetic and functions of all required regions together, given those of every point once.

        Required regions may have fewer edges than the whole axis: their edges count along rows, only useful work where columns
        follow.
        """
        if not member.regions:
            return arithmetic, functions
        context, operator = self.context.for_view(member), member.operator
        repeated: Quantity = 1.0
        for axis, walk in member.regions.items():
            repeated = repeated * (walk.total / self.context.sizes[axis])
        if operator.name not in context.kernels:
            return arithmetic, functions * repeated
        roles = context.roles[operator.name]
        if roles.column in member.regions:
            return useful_seconds(context, operator), functions
        if roles.row in member.regions:
            return arithmetic_work(context, operator, member.tiles).seconds, functions
        return arithmetic * repeated, functions

    def _read_whole(self, member: OperatorView) -> Condition:
        """Whether required regions have every point at least once: where strides skip some, nothing is known of what is left."""
        whole: Condition = True
        for axis, walk in member.regions.items():
            whole = whole & (walk.total >= self.context.sizes[axis])
        return whole

    def _over_inner(self, member: OperatorView, choices: Choices) -> Iterator[np.ndarray]:
        """The parts over the tiles of an order of outer loops: the least over inner loops; the whole axis where the operator has
        none.

        Along axes with required regions its blocks are required regions, of any size.
        """
        axes = self.axes[member.operator.name]
        has_inner = len(self.space.inner_orders(member.operator, (*choices, *member.regions))) > 1
        every = set(axes) - set(self.space.batch)  # a batch has one tile
        places = {axis: [-1] for axis in axes if not (has_inner or axis in member.regions)}
        places |= {axis: places_in(self.space.tiles[axis], some) for axis, some in choices.items() if axis in every}
        for part in self.parts[member.operator.name]:
            for position, axis in enumerate(axes):
                if part.shape[position] > 1:
                    part = part.take(places[axis], position) if axis in places else part.min(axis=position, keepdims=True)
            sizes = dict(zip(axes, part.shape, strict=True))
            yield part.reshape(tuple(sizes.get(axis, 1) for axis in choices))

    def _parts(self, operator: Operator) -> tuple[np.ndarray, ...]:
        """Arithmetic, functions, packing, overhead, bytes into each level, bytes of tiles: for all tiles of all axes."""
        context, axes, every = self.context, self.axes[operator.name], self.every.of(operator)
        work = least_work(context, operator, every.block)
        moved = next(iter(work.traffic_bytes.values()))
        parts = (work.arithmetic_s, work.functions_s, work.packing_s, work.overhead_s, moved, every.used_bytes)
        return tuple(np.reshape(part, np.shape(part) or (1,) * len(axes)) for part in parts)


def line_buffering_of(view: ChainView) -> tuple[str, ...]:
    """The tensors that have circular line buffers, and the axis along which they are."""
    line_buffered = tuple(tensor for tensor, storage in view.storage.items() if storage is Storage.LINE_BUFFER)
    return (*line_buffered, view.operators[-1].loops[-1].axis) if line_buffered else ()
