"""Choice of layouts: every image between operators has its channels as they are written, or last, whichever is cheaper in all.

Channels that lie last are read side by side by products of pixels and filters, whose results need no transposition;
rows of pixels fill the vectors of wide images. Every convolution, pool and reduction is priced, with the maps behind it, with all
images that it touches in either layout, by its best algorithm. Where its images lie differently it costs the transposition of
some of them, too. The assignment with the smallest sum is found exactly (`cheapest`).

A layout is the order of a tensor's dimensions, so that prices, algorithms and code know of none: they see other index maps.

A convolution says which dimension of its image and of its result has the channels. Maps, pools and reductions carry it on: the
dimension that the same axis walks. Tensors that a map reads and writes lie alike, as maps are no place to transpose in: they are
epilogues of sums, and parts of concatenations that are written in place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import TypeAlias

from tilewright import progress
from tilewright.graph.rewrites.index_changes.reorder_dimensions import Order, with_orders
from tilewright.graph.types import Access, Graph, Operator, Tensor, planned_extent
from tilewright.machine.machine import Machine
from tilewright.plan.algorithms.definition import Problem, applicable, beaten
from tilewright.plan.algorithms.padded_image import convolution_of
from tilewright.plan.types import ImageLayouts
from tilewright.plan.whole_model.algorithm_prices import AlgorithmPrices, Part
from tilewright.plan.whole_model.forms import Near
from tilewright.plan.whole_model.groups import DataFlow
from tilewright.precision import Precision
from tilewright.records import record

Variable: TypeAlias = str
Value: TypeAlias = int


@record
class Table:
    """A cost for every assignment of values to some variables, in their order."""

    variables: tuple[Variable, ...]
    costs: Mapping[tuple[Value, ...], float]

    def at(self, values: Mapping[Variable, Value]) -> float:
        """The cost at an assignment of these variables and any others."""
        return self.costs[tuple(values[variable] for variable in self.variables)]


def cheapest(values: Mapping[Variable, Sequence[Value]], tables: Iterable[Table]) -> dict[Variable, Value]:
    """The values of all variables with the smallest sum of costs; of equal sums the one with the earlier values.

    >>> costs = Table(("a", "b"), {(0, 0): 2.0, (0, 1): 0.0, (1, 0): 1.0, (1, 1): 3.0})
    >>> cheapest({"a": (0, 1), "b": (0, 1)}, [costs, Table(("b",), {(0,): 0.0, (1,): 1.5})])
    {'a': 1, 'b': 0}
    """
    left, waiting = list(tables), set(values)
    eliminated: list[tuple[Variable, list[Table]]] = []
    while waiting:
        variable = min(waiting, key=lambda name: (len(_neighbours(name, left)), list(values).index(name)))
        waiting.remove(variable)
        of_variable = [table for table in left if variable in table.variables]
        left = [table for table in left if variable not in table.variables]
        left.append(_without(variable, of_variable, values))
        eliminated.append((variable, of_variable))
    found: dict[Variable, Value] = {}
    for variable, of_variable in reversed(eliminated):
        found[variable] = min(values[variable], key=lambda value: _sum(of_variable, found | {variable: value}))
    return {variable: found[variable] for variable in values}


def _neighbours(variable: Variable, tables: Iterable[Table]) -> set[Variable]:
    return {name for table in tables if variable in table.variables for name in table.variables} - {variable}


def _without(variable: Variable, tables: Sequence[Table], values: Mapping[Variable, Sequence[Value]]) -> Table:
    """The tables as one, in which a variable has its cheapest value."""
    others = tuple(sorted(_neighbours(variable, tables)))
    costs = {}
    for assignment in product(*(values[name] for name in others)):
        known = dict(zip(others, assignment, strict=True))
        costs[assignment] = min(_sum(tables, known | {variable: value}) for value in values[variable])
    return Table(others, costs)


def _sum(tables: Iterable[Table], assignment: Mapping[Variable, Value]) -> float:
    return sum(table.at(assignment) for table in tables)


LEAST_RANK = 3
"""Of an image: batch, channels, and a dimension of space."""


@record
class Images:
    """The images of a graph."""

    channels: Mapping[str, int]
    """The dimension of channels, by tensor."""
    groups: Mapping[str, str]
    """The first of the images that lie alike, by tensor."""


def images_of(graph: Graph, constants: Collection[str], machine: Machine) -> Images:
    """The images that operators of a graph leave to each other: no inputs, outputs or constants."""
    known, outside = _channels(graph, machine), {*graph.outputs, *constants}
    made = dict.fromkeys(operator.write.tensor for operator in graph.operators)
    between = (name for name in made if name in known and name not in outside)
    channels = {name: known[name] for name in between if _is_image(graph.tensor(name), known[name])}
    return Images(channels, _groups(graph, channels))


def _is_image(tensor: Tensor, channel: int) -> bool:
    """Whether the order of dimensions matters: there are several channels and several points of space."""
    extents = [planned_extent(extent) for extent in tensor.shape]
    return len(extents) >= LEAST_RANK and extents[channel] > 1 and prod(extents[1:]) > extents[channel]


def _channels(graph: Graph, machine: Machine) -> dict[str, int]:
    """The dimension of channels of every tensor for which an operator tells it, or carries it on."""
    found: dict[str, int] = {}
    tensors = {tensor.name: tensor for tensor in graph.tensors}
    for operator in graph.operators:
        for name, dimension in _of_convolution(Problem(operator, tensors, frozenset(), machine)):
            found.setdefault(name, dimension)
    before = 0
    while len(found) > before:
        before = len(found)
        for operator in graph.operators:
            for name, dimension in _carried(operator, found):
                found.setdefault(name, dimension)
    return found


def _of_convolution(problem: Problem) -> Iterator[tuple[str, int]]:
    found = convolution_of(problem)
    if found is not None:
        tensors = found.roles.image.tensor, problem.operator.write.tensor
        pairs = zip(tensors, found.channel_dimensions(), strict=True)
        yield from ((tensor, dimension) for tensor, dimension in pairs if dimension is not None)


def _carried(operator: Operator, known: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """The dimensions of channels of what a map, a pool or a reduction reads and writes, from those that are known."""
    if operator.is_product_sum():
        return
    accesses = [access for access in (*operator.reads, operator.write) if not access.lookups]
    for access in accesses:
        if access.tensor in known:
            axes = access.indices[known[access.tensor]].axes()
            for other in accesses:
                place = _place(other, axes) if len(other.indices) == len(access.indices) else None
                if place is not None and other.tensor not in known:
                    yield other.tensor, place


def _place(access: Access, axes: frozenset[str]) -> int | None:
    """The only dimension that these axes walk, if there is one."""
    places = [place for place, index in enumerate(access.indices) if index.axes() & axes]
    return places[0] if len(places) == 1 else None


def _groups(graph: Graph, images: Mapping[str, int]) -> dict[str, str]:
    """The first image of those that maps join, by image."""
    first, order = {name: name for name in images}, list(images)
    for operator in filter(Operator.is_map, graph.operators):
        joined = {first[access.tensor] for access in (*operator.reads, operator.write) if access.tensor in images}
        lowest = min(joined, key=order.index, default="")
        first = {name: lowest if group in joined else group for name, group in first.items()}
    return first


AS_WRITTEN, CHANNELS_LAST = 0, 1
LAYOUTS = (AS_WRITTEN, CHANNELS_LAST)
LEAST_GAIN = 0.99
"""Of the time as written: prices cannot tell smaller differences."""

Assignment = Mapping[str, int]
"""A layout for the first of each group of images."""


@record
class ChosenLayouts:
    """The images of a graph, and the orders of dimensions of those that lie otherwise than they are written."""

    images: Images
    orders: Mapping[str, Order]
    rival: Mapping[str, Order]
    """Of images that all lie alike otherwise: as they are written, or with channels last, whichever takes less."""

    def rivals(self) -> Iterator[ChosenLayouts]:
        """These layouts and their rival: sums of parts do not tell what fusion of several parts saves."""
        yield self
        if self.rival != self.orders:
            yield replace(self, orders=self.rival)

    def reported(self) -> ImageLayouts | None:
        """By name, as plans have it; None without images."""
        last = tuple(name for name in self.images.channels if name in self.orders)
        written = tuple(name for name in self.images.channels if name not in self.orders)
        return ImageLayouts(last, written) if last or written else None


def choose_layouts(prices: AlgorithmPrices, precision: Precision) -> ChosenLayouts:
    """The layouts of the images of a graph by which it takes the least time."""
    graph = prices.graph
    images = images_of(graph, prices.constants, prices.options.machine)
    choice = _Choice(graph, prices, precision, images, DataFlow(graph))
    orders, rival = _orders(choice) if choice.movable else ({}, {})
    return ChosenLayouts(images, orders, rival)


def _orders(choice: _Choice) -> tuple[Mapping[str, Order], Mapping[str, Order]]:
    """The orders of dimensions of those images that are cheaper with channels last, and the rival's."""
    movable, units = choice.movable, list(choice.units())
    tables = [choice.table(unit) for unit in progress.counted(units, "choosing layouts", len(units))]
    found = cheapest(dict.fromkeys(movable, LAYOUTS), tables)
    written, last = (dict.fromkeys(movable, layout) for layout in LAYOUTS)
    written_s, last_s, found_s = (_sum(tables, values) for values in (written, last, found))
    orders, every = choice.orders(found) if found_s < written_s * LEAST_GAIN else {}, choice.orders(last)
    is_rival_written = orders == every or (bool(orders) and written_s <= last_s)
    return orders, {} if is_rival_written else every


@record
class _Unit:
    """An operator with the maps behind it, and the groups of images that they touch."""

    operators: tuple[Operator, ...]
    groups: tuple[str, ...]


@dataclass(slots=True)
class _Choice:
    graph: Graph
    prices: AlgorithmPrices
    precision: Precision
    images: Images
    flow: DataFlow
    known: Near[tuple[int, Mapping[tuple[int, ...], float]]] = field(default_factory=Near)
    """Points and times of operators that were priced."""
    movable: tuple[str, ...] = ()
    """Groups of which some image has its channels elsewhere than last."""

    def __post_init__(self) -> None:
        moving = {group for name, group in self.images.groups.items() if self._order(name) is not None}
        self.movable = tuple(group for group in dict.fromkeys(self.images.groups.values()) if group in moving)

    def orders(self, layouts: Assignment) -> dict[str, Order]:
        """The orders of dimensions that differ from those written."""
        last = (name for name, group in self.images.groups.items() if layouts.get(group) == CHANNELS_LAST)
        return {name: order for name in last if (order := self._order(name)) is not None}

    def _order(self, name: str) -> Order | None:
        """The dimensions with channels last; None where they are."""
        rank, channel = len(self.graph.tensor(name).shape), self.images.channels[name]
        order = (*(place for place in range(rank) if place != channel), channel)
        return order if channel < rank - 1 else None

    def units(self) -> Iterator[_Unit]:
        """Operators whose time depends on layouts, each once, with the maps behind them."""
        behind: set[str] = set()
        for operator in self.graph.operators:
            if operator.name not in behind and operator.write.tensor not in self.prices.constants:
                operators = (operator, *self.flow.maps_behind(operator))
                behind.update(each.name for each in operators)
                touched = dict.fromkeys(self.images.groups.get(name, "") for name in _touched(operators))
                if groups := tuple(group for group in touched if group in self.movable):
                    yield _Unit(operators, groups)

    def table(self, unit: _Unit) -> Table:
        """The times of a unit by the layouts of its images; those of a near unit of its form, scaled by their points."""
        part = self.prices.part(unit.operators)
        form = part.form([])
        form = replace(form, structure=(form.structure, self._groups_of(part, unit)))
        points = prod(planned_extent(axis.extent) for axis in unit.operators[0].axes)
        near = self.known.nearest(form) if self.prices.known.takes_over else None
        if near is not None:
            of_near, costs = near.known
            return Table(unit.groups, {layouts: cost * points / max(of_near, 1) for layouts, cost in costs.items()})
        alike = {layout: self._seconds(part, unit, (layout,) * len(unit.groups)) for layout in LAYOUTS}
        costs = {layouts: self._mixed_seconds(unit, layouts, alike) for layouts in product(LAYOUTS, repeat=len(unit.groups))}
        self.known.add(form, (points, costs))
        return Table(unit.groups, costs)

    def _mixed_seconds(self, unit: _Unit, layouts: tuple[int, ...], alike: Mapping[int, float]) -> float:
        """The time with all images in one layout, and those transposed that have the other, whichever takes less.

        It is what operators take at most: most of them read or write across for less.
        """
        return min(
            seconds
            + sum(self._moving_seconds(unit, group) for group, own in zip(unit.groups, layouts, strict=True) if own != layout)
            for layout, seconds in alike.items()
        )

    def _moving_seconds(self, unit: _Unit, group: str) -> float:
        """The time of reading the largest image of a group that a unit touches, and writing it in another order."""
        images = (name for name in _touched(unit.operators) if self.images.groups.get(name) == group)
        return max(map(self.prices.moving_seconds, images))

    def _groups_of(self, part: Part, unit: _Unit) -> tuple[int | None, ...]:
        """For each tensor of a part the number of its group."""
        groups = (self.images.groups.get(tensor.name) for tensor in part.graph.tensors)
        return tuple(unit.groups.index(group) if group in unit.groups else None for group in groups)

    def _seconds(self, part: Part, unit: _Unit, layouts: tuple[int, ...]) -> float:
        """On all cores, by the best algorithm."""
        orders = self.orders(dict(zip(unit.groups, layouts, strict=True)))
        part = replace(part, graph=with_orders(part.graph, orders)) if orders else part
        tensors = {tensor.name: tensor for tensor in part.graph.tensors}
        problem = Problem(part.graph.operators[0], tensors, self.prices.constants, self.prices.options.machine)
        algorithms = applicable(problem, self.precision)
        if not algorithms:
            return self.prices.time(part, {}).cores_s
        times = self.prices.offers(part, problem.operator, algorithms, beaten(problem, algorithms))
        return min(time.cores_s for time in times.values() if not time.is_bound)


def _touched(operators: Sequence[Operator]) -> list[str]:
    """The tensors that operators read and write, in order, each once."""
    return list(dict.fromkeys(access.tensor for operator in operators for access in (*operator.reads, operator.write)))
