"""Lower bounds of the price of all schedules with an order of outer loops, which let the search skip orders of outer loops and
tiles that cannot win.

The parts of an operator's price that no loop order changes (arithmetic with its edges, calls, packing once, every operand once
into each level, the smallest tiles in memory) are evaluated once, for all combinations of its tiles. The bound of an order of
outer loops takes the least of every part over the loops that are left to the operator, repeats it where it is recomputed, and
adds spills.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from tilewright.graph.types import Operator
from tilewright.plan.arrays import Condition, Count, Quantity, product
from tilewright.plan.model.cost import Work, arithmetic_work, least_work, seconds, useful_seconds
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.likeness import likeness
from tilewright.plan.model.masked_work import least_guarded_work
from tilewright.plan.model.memory.working_set import live_bytes
from tilewright.plan.regions.loop_views import ChainView, OperatorView
from tilewright.plan.regions.masks import is_plain_mask
from tilewright.plan.schedule import Storage
from tilewright.plan.search.tile_blocks import TileBlocks
from tilewright.plan.space.schedule_space import Choices, Space
from tilewright.plan.space.tile_sizes import places_in

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
        self.least: dict[Hashable, tuple[np.ndarray, np.ndarray]] = {}
        self.sums: dict[Hashable, tuple[np.ndarray, np.ndarray]] = {}

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

    def of_outer_loops(self, view: ChainView, choices: Choices, live: Count | None = None) -> tuple[np.ndarray, np.ndarray]:
        """What the operators cost (seconds, recomputation and spills included) and use (bytes) at least under an order of
        outer loops.

        `choices` are the tiles of its loops, in the chain's order of axes, each along a dimension of its own. `live` is what
        intermediates take at least (default: what they take without further loops).
        """
        live = live_bytes(view) if live is None else live
        line_buffering = line_buffering_of(view)
        held = np.asarray(live)
        key = (
            tuple(choices.items()),
            line_buffering,
            held.shape,
            held.tobytes(),
            tuple(len(member.loops) for member in view.operators),
        )
        if key not in self.sums:
            self.sums[key] = self._sum(view, choices, line_buffering, live)
        return self.sums[key]

    def _sum(
        self, view: ChainView, choices: Choices, line_buffering: tuple[str, ...], live: Count
    ) -> tuple[np.ndarray, np.ndarray]:
        """The price of all operators and the most bytes that one uses, where intermediates hold `live` ones."""
        total, most = np.zeros((1,) * len(choices)), np.zeros((1,) * len(choices))
        for member in view.operators:
            price, used = self.price_and_use(member, choices, line_buffering)
            total = total + with_spills(self.context, price, used + live)
            most = np.maximum(most, used + live)
        return total, most

    def price_and_use(
        self, member: OperatorView, choices: Choices, line_buffering: tuple[str, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
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
        traffic = moved * guarded.computed * touches
        work = Work(
            arithmetic * repeats,
            functions * touches * repeats,
            packing,
            overhead * repeats,
            {level.name: traffic for level in self.context.cache_levels},
        )
        return work, used * (not member.regions)

    def _of_regions(self, member: OperatorView, arithmetic: Quantity, functions: Quantity) -> tuple[Quantity, Quantity]:
        """The least arithmetic and functions of all required regions together, given those of every point once.

        Required regions may have fewer edges than the whole axis: their edges count along rows, only useful work where columns
        follow.
        """
        if not member.regions:
            return arithmetic, functions
        context, operator = self.context.with_sizes(member.computed_sizes(self.context.sizes)), member.operator
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
        for part in self.parts[member.operator.name]:
            for position, axis in enumerate(axes):
                if part.shape[position] == 1:
                    continue
                if axis in choices:
                    part = part.take(places_in(self.space.tiles[axis], choices[axis]), position)
                else:
                    least = has_inner or axis in member.regions
                    part = part.min(axis=position, keepdims=True) if least else part.take([-1], position)
            sizes = dict(zip(axes, part.shape, strict=True))
            yield part.reshape(tuple(sizes.get(axis, 1) for axis in choices))

    def _parts(self, operator: Operator) -> tuple[np.ndarray, ...]:
        """Arithmetic, functions, packing, overhead, bytes into each level, bytes of tiles: for all tiles of all axes."""
        context, axes, every = self.context, self.axes[operator.name], self.every.of(operator)
        work = least_work(context, operator, every.block)
        moved = next(iter(work.traffic_bytes.values()))
        parts = (
            work.arithmetic_s,
            work.functions_s,
            work.packing_s,
            work.overhead_s,
            moved,
            every.used_bytes,
        )
        return tuple(np.reshape(part, np.shape(part) or (1,) * len(axes)) for part in parts)


def line_buffering_of(view: ChainView) -> tuple[str, ...]:
    """The tensors that have circular line buffers, and the axis along which they are."""
    line_buffered = tuple(tensor for tensor, storage in view.storage.items() if storage is Storage.LINE_BUFFER)
    return (*line_buffered, view.operators[-1].loops[-1].axis) if line_buffered else ()
