"""The oracle of movement and memory: walk every block of a schedule and look at what it touches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import prod
from types import MappingProxyType

import numpy as np

from tilewright.graph.expressions.index import Index
from tilewright.graph.types import Access, Chain, Operator
from tilewright.plan.regions.live_ranges import is_lasting, shared_buffers
from tilewright.plan.regions.loop_views import view_schedule
from tilewright.plan.regions.required_regions import schedule_region_axes, shared_loops
from tilewright.plan.schedule import Compute, Loop, Node, Schedule, Storage, Trip, planned_sizes

Ranges = dict[str, tuple[int, int]]
Element = tuple[int, ...]
Box = tuple[tuple[str, int, int], ...]
"""Axes with the ends of their ranges."""


def blocks(chain: Chain, schedule: Schedule) -> Iterator[tuple[Operator, Ranges]]:
    """Every run of an operator with the current range of every axis, in order of execution."""
    yield from _Walk(chain, schedule).blocks()


class _Walk:
    """Blocks one by one. Producers that compute required regions of their consumers work on the hull of what these touch, or on
    what is new of it."""

    def __init__(self, chain: Chain, schedule: Schedule) -> None:
        self.chain, self.schedule, self.sizes = chain, schedule, planned_sizes(chain)
        self.region_axes = schedule_region_axes(chain, schedule)
        self.shared = shared_loops(schedule)
        self.reached: dict[tuple[str, str], int] = {}
        """Where the line-buffered results end, since the innermost shared loop began."""

    def blocks(self) -> Iterator[tuple[Operator, Ranges]]:
        yield from self._body(self.schedule.body, {axis: (0, size) for axis, size in self.sizes.items()}, 0)

    def _body(self, body: tuple[Node, ...], ranges: Ranges, depth: int) -> Iterator[tuple[Operator, Ranges]]:
        boxes = self._boxes(ranges) if self.region_axes and depth == len(self.shared) else {}
        for node in body:
            here = {**ranges, **{axis: box for (name, axis), box in boxes.items() if name in _names(node)}}
            if isinstance(node, Loop):
                low, high = here[node.axis]
                if depth == len(self.shared) - 1:
                    self.reached = {}
                for start in range(low, high, node.tile):
                    yield from self._body(node.body, {**here, node.axis: (start, min(start + node.tile, high))}, depth + 1)
            elif isinstance(node, Compute) and all(
                here[w.axis][0] == 0 if w.trip is Trip.FIRST else here[w.axis][1] == self.sizes[w.axis] for w in node.when
            ):
                yield self.chain.operator(node.operator), here

    def _boxes(self, ranges: Ranges) -> dict[tuple[str, str], tuple[int, int]]:
        boxes: dict[tuple[str, str], tuple[int, int]] = {}
        for name, axis in self.region_axes:
            write = self.chain.operator(name).write
            dimension = next(d for d, index in enumerate(write.indices) if axis in index.axes())
            positions = {
                element[dimension]
                for consumer in self.chain.consumers(write.tensor)
                for access in consumer.reads
                if access.tensor == write.tensor
                for element in _real(access, {**ranges, **{a: box for (o, a), box in boxes.items() if o == consumer.name}})
            }
            low, high = (min(positions), max(positions) + 1) if positions else (0, 0)
            if (
                self.schedule.storage_of(write.tensor) is Storage.LINE_BUFFER
                and self.shared[-1].axis in self.region_axes[name, axis].slopes
            ):
                low = max(low, self.reached.get((name, axis), 0))
                self.reached[name, axis] = max(high, low)
            boxes[name, axis] = (low, max(high, low))
        return boxes


def _names(node: Node) -> set[str]:
    if isinstance(node, Loop):
        return {name for inner in node.body for name in _names(inner)}
    return {node.operator}


def _real(access: Access, ranges: Ranges) -> frozenset[Element]:
    """The elements that an access touches where its guard holds."""
    return _elements(access, _box(access, ranges), access.guard.constraints if access.guard else ())


def touched(access: Access, ranges: Ranges) -> frozenset[Element]:
    """The elements that an access touches in a box."""
    return _elements(access, _box(access, ranges), ())


def _box(access: Access, ranges: Ranges) -> Box:
    return tuple((name, *ranges[name]) for name in sorted(access.axes()))


@lru_cache(maxsize=2048)
def _elements(access: Access, box: Box, guards: tuple[Index, ...]) -> frozenset[Element]:
    """Every point of the box is looked at, all of them in one array for each axis."""
    if not access.indices:
        return frozenset({()})
    grid = np.meshgrid(*(np.arange(low, high) for _, low, high in box), indexing="ij")
    points = {name: axis.ravel() for (name, _, _), axis in zip(box, grid, strict=True)}
    shape = (prod(high - low for _, low, high in box),)
    is_real = np.ones(shape, bool)
    for guard in guards:
        is_real &= guard.evaluate(points) >= 0
    dimensions = (np.broadcast_to(index.evaluate(points), shape)[is_real].tolist() for index in access.indices)
    return frozenset(zip(*dimensions, strict=True))


def walked_movements(chain: Chain, schedule: Schedule) -> dict[str, int]:
    """Elements moved per input and output: a tile is loaded when it differs from the one that the access had last.

    An output tile is written when it is replaced, and at the end; it is read back when it comes again.
    """
    current: dict[tuple[str, Access, bool], frozenset[Element]] = {}
    seen: set[tuple[str, frozenset[Element]]] = set()
    moved: dict[str, int] = {}

    def add(tensor: str, amount: int) -> None:
        moved[tensor] = moved.get(tensor, 0) + amount

    for operator, ranges in blocks(chain, schedule):
        for access in dict.fromkeys(operator.reads):
            tile = touched(access, ranges)
            if access.tensor in chain.inputs and current.get((operator.name, access, False)) != tile:
                current[operator.name, access, False] = tile
                add(access.tensor, len(tile))
        if operator.write.tensor == chain.output:
            key, tile = (operator.name, operator.write, True), touched(operator.write, ranges)
            if current.get(key) != tile:
                add(chain.output, len(current.get(key, ())) + (len(tile) if (chain.output, tile) in seen else 0))
                current[key] = tile
                seen.add((chain.output, tile))
    for (_, access, is_output), tile in current.items():
        if is_output:
            add(access.tensor, len(tile))
    return moved


@dataclass
class _Life:
    """Spans of time (first write to last read) of the elements of one buffer."""

    spans: dict[Element, list[list[int]]] = field(default_factory=dict)

    def write(self, element: Element, time: int, anew: bool) -> None:
        if anew or element not in self.spans:
            self.spans.setdefault(element, []).append([time, time])

    def read(self, element: Element, time: int) -> None:
        self.spans[element][-1][1] = time

    def alive(self, end: int) -> list[int]:
        changes = [0] * (end + 2)
        for spans in self.spans.values():
            for first, last in spans:
                changes[first] += 1
                changes[last + 1] -= 1
        counts, total = [], 0
        for change in changes[: end + 1]:
            total += change
            counts.append(total)
        return counts


def walked_live(chain: Chain, schedule: Schedule, tensors: tuple[str, ...]) -> list[int]:
    """How many elements of the buffer that some intermediates share are alive, run by run."""
    life = _Life()
    sizes = planned_sizes(chain)
    time = -1
    for time, (operator, ranges) in enumerate(blocks(chain, schedule)):
        for access in operator.reads:
            if access.tensor in tensors:
                for element in _real(access, ranges):
                    life.read(element, time)
        if operator.write.tensor in tensors and not any(access.tensor in tensors for access in operator.reads):
            anew = all(ranges[axis.name][0] == 0 for axis in operator.reduction_axes())
            for element in touched(operator.write, ranges):
                life.write(element, time, anew)
    assert all(size > 0 for size in sizes.values())
    return life.alive(time)


def row_operators(chain: Chain) -> list[Operator]:
    """The operators that need whole rows, or their states from block to block."""
    return [operator for operator in chain.operators if operator.is_row_reduction()]


def walked_rows(chain: Chain, schedule: Schedule, operator: Operator) -> list[int]:
    """Of how many rows some blocks are done and others not yet, run by run; a row that is done in one run needs no state."""
    sizes = planned_sizes(chain)
    open_rows: set[Element] = set()
    counts = [0]
    for one, ranges in blocks(chain, schedule):
        if one.name != operator.name:
            continue
        rows = set(product(*(range(*ranges[axis.name]) for axis in operator.axes if axis not in operator.reduction_axes())))
        reduced = [axis.name for axis in operator.reduction_axes()]
        begun = not all(ranges[name][0] == 0 for name in reduced)
        done = all(ranges[name][1] == sizes[name] for name in reduced)
        assert rows <= open_rows or not begun, "a row goes on that was never begun"
        if begun or not done:
            counts.append(len(open_rows | rows))
        open_rows = open_rows - rows if done else open_rows | rows
    return counts


def walked_places(chain: Chain, schedule: Schedule) -> list[list[tuple[str, ...]]]:
    """The buffers that share a place, after `live_ranges`; none of them may be alive together."""
    view = view_schedule(chain, schedule)
    found: list[list[tuple[str, ...]]] = []
    for groups in shared_buffers(view):
        lasting = [group for group in groups if is_lasting(view, group)]
        turns = [group for group in groups if group not in lasting]
        runs = [walked_live(chain, schedule, group) for group in turns]
        assert all(sum(count > 0 for count in counts) <= 1 for counts in zip(*runs, strict=True)), turns
        found += [*([turns] if turns else []), *([group] for group in lasting)]
    return found


def walked_working_set(chain: Chain, schedule: Schedule, element_bytes: Mapping[str, int] = MappingProxyType({})) -> int:
    """Buffers of intermediates and states plus the largest sum, over all runs, of inner tiles and tiles that are used again next.

    A buffer keeps the size that its elements need at most: nothing else moves in before all of them are dead. An element counts
    once, or as many bytes as `element_bytes` says of its tensor.
    """
    runs = list(blocks(chain, schedule))
    lives = [
        [max(walked_live(chain, schedule, group)) * element_bytes.get(group[0], 1) for group in groups]
        for groups in walked_places(chain, schedule)
    ]
    buffers = sum(map(max, lives))
    for op in row_operators(chain):
        size = element_bytes.get(op.write.tensor, 1)
        buffers += size * max(walked_rows(chain, schedule, op)) * (len(op.reduction.states) + 1)
    resident = [0] * len(runs)
    for operator in chain.operators:
        for access in (*dict.fromkeys(operator.reads), operator.write):
            if access.tensor in chain.intermediates:
                continue
            uses = [(time, touched(access, ranges)) for time, (op, ranges) in enumerate(runs) if op.name == operator.name]
            for (start, tile), (end, following) in zip(uses, [*uses[1:], (len(runs), frozenset[Element]())], strict=True):
                size = element_bytes.get(access.tensor, 1) * len(tile)
                resident[start] += size
                if tile == following:
                    for time in range(start + 1, end):
                        resident[time] += size
    return buffers + max(resident)
