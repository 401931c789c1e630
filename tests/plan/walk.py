"""The oracle of movement and memory: walk every block of a schedule and look at what it touches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from tilewright.graph.types import Access, Chain, Operator
from tilewright.plan.memory import in_place_groups
from tilewright.plan.ranges import planned_sizes
from tilewright.plan.schedule import Compute, Loop, Node, Schedule, Trip

Ranges = dict[str, tuple[int, int]]
Element = tuple[int, ...]


def blocks(chain: Chain, schedule: Schedule) -> Iterator[tuple[Operator, Ranges]]:
    """Every run of an operator with the current range of every axis, in order of execution."""
    sizes = planned_sizes(chain)
    yield from _blocks(chain, schedule.body, {axis: (0, size) for axis, size in sizes.items()}, sizes)


def _blocks(chain: Chain, body: tuple[Node, ...], ranges: Ranges, sizes: dict[str, int]) -> Iterator[tuple[Operator, Ranges]]:
    for node in body:
        if isinstance(node, Loop):
            low, high = ranges[node.axis]
            for start in range(low, high, node.tile):
                inner = {**ranges, node.axis: (start, min(start + node.tile, high))}
                yield from _blocks(chain, node.body, inner, sizes)
        elif isinstance(node, Compute) and all(
            ranges[w.axis][0] == 0 if w.trip is Trip.FIRST else ranges[w.axis][1] == sizes[w.axis] for w in node.when
        ):
            yield chain.operator(node.operator), ranges


def touched(access: Access, ranges: Ranges) -> frozenset[Element]:
    """The elements that an access touches in a box."""
    names = sorted(access.axes())
    points = product(*(range(*ranges[name]) for name in names))
    return frozenset(tuple(index.evaluate(dict(zip(names, point, strict=True))) for index in access.indices) for point in points)


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
                for element in touched(access, ranges):
                    life.read(element, time)
        if operator.write.tensor in tensors and not any(access.tensor in tensors for access in operator.reads):
            anew = all(ranges[axis.name][0] == 0 for axis in operator.reduction_axes())
            for element in touched(operator.write, ranges):
                life.write(element, time, anew)
    assert all(size > 0 for size in sizes.values())
    return life.alive(time)


def row_operators(chain: Chain) -> list[Operator]:
    """The operators that need whole rows, or their states from block to block."""
    return [operator for operator in chain.operators if operator.is_row_operator()]


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


def walked_working_set(chain: Chain, schedule: Schedule) -> int:
    """Buffers of intermediates and states plus the largest sum, over all runs, of own tiles and tiles that are used again next.

    A buffer keeps the size that its elements need at most: nothing else moves in when some of them are dead.
    """
    runs = list(blocks(chain, schedule))
    buffers = sum(max(walked_live(chain, schedule, group)) for group in in_place_groups(chain))
    buffers += sum(max(walked_rows(chain, schedule, op)) * (len(op.reduction.states) + 1) for op in row_operators(chain))
    resident = [0] * len(runs)
    for operator in chain.operators:
        for access in (*dict.fromkeys(operator.reads), operator.write):
            if access.tensor in chain.intermediates:
                continue
            uses = [(time, touched(access, ranges)) for time, (op, ranges) in enumerate(runs) if op.name == operator.name]
            for (start, tile), (end, following) in zip(uses, [*uses[1:], (len(runs), frozenset[Element]())], strict=True):
                resident[start] += len(tile)
                if tile == following:
                    for time in range(start + 1, end):
                        resident[time] += len(tile)
    return buffers + max(resident)
