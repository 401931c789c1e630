"""Byte trace of a block program: which bytes of tensors come into each memory level, region by region.

A level holds, of every operand of every operator, the region of the current blocks of some loops; loops inside of these are
walked as one. What a leaf wants of a region that is there costs nothing. What is not there comes as a whole, in the pieces of
the innermost level, and takes the place of what was there. What is written leaves once for every time that it comes, and comes
from behind where the leaf reads it as well. No formula of a cost model is used. What counts is said by these rules:

- A packed copy stands for its tensor: who reads the copy wants that part of the tensor. Packing itself counts nothing: prices
  have it as a term of its own, and a copy that stays in a cache moves nothing behind it.
- A region is the box of its indices, less positions at which a guard of these indices' axes says that there is no element.
  What overlapping boxes have in common comes with each of them.
- Where masks bound an axis, what is there of its blocks stays while the bounds move: rows need more or fewer keys of a block.
- Scratch counts nothing, nor do states of rows that parts leave to their combination: what a thread makes and reads again stays
  in the innermost level, and prices have the combination as a term of its own.
- Parts of a split know nothing of each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import gcd
from typing import TypeAlias

import numpy as np

from tilewright.block.integers import IntegerExpression, Variable, VariableKind, evaluated, nodes
from tilewright.block.memory import BufferName, Content, Gather, Range, View
from tilewright.block.program import Region, walk
from tilewright.block.statements import Fill, For, If, Leaf, Let, Prefetch, Rounded, Statement, Transfer
from tilewright.errors import InternalError
from tilewright.graph.expressions.index import Index
from tilewright.graph.types import element_bytes, planned_extent

Blocks: TypeAlias = frozenset[tuple[str, str, int]]
"""(operator, axis, tile) of the loops around operators whose current blocks a level holds."""
Moved: TypeAlias = dict[tuple[str, str], int]
"""Bytes by tensor and level."""
Box: TypeAlias = tuple[tuple[str, tuple[int, int]], ...]
"""(axis, (start, stop)) of every axis."""
Steps: TypeAlias = tuple[tuple[int, int], ...]
"""(stride, size) of everything along which a region goes, the smallest stride first."""
OF_MASKS = (VariableKind.DOMAIN_START, VariableKind.DOMAIN_SIZE)


def bytes_moved(
    region: Region,
    program: Iterable[Region],
    variables: Mapping[Variable, int],
    levels: Mapping[str, Blocks],
    parts: str = "",
) -> Moved:
    """What a parallel region of a program moves into each level.

    The innermost level stands first; those behind it hold blocks of some of its loops, or of none: then all that is touched.
    `parts` is the axis of a split. Raises `InternalError` where that depends on the data of a call.
    """
    trace = _Trace(region, program, levels, variables, parts)
    trace.body(region.body)
    return trace.moved


def _packed_from(program: Iterable[Region]) -> Iterator[tuple[BufferName, View]]:
    """For every packed operand the view that it is copied from."""
    for region in program:
        for node in (*(node for constant in region.constants for node in constant.nodes()), *region.nodes()):
            if isinstance(node, Transfer) and node.target.buffer.content is Content.PACKED:
                yield node.target.buffer, node.source


@dataclass(slots=True)
class _Operand:
    """A place in memory, and the range of every axis of its leaf."""

    place: View | Gather
    ranges: dict[str, Range]
    masked: str
    """The axis that masks bound, if there is one."""


class _Trace:
    """One walk over the blocks of the innermost level."""

    def __init__(
        self, region: Region, program: Iterable[Region], levels: Mapping[str, Blocks], sizes: Mapping[Variable, int], parts: str
    ) -> None:
        self.sources, self.scratch = dict(_packed_from(program)), {buffer.name for buffer in region.scratch}
        self.levels, self.parts = levels, parts
        self.copied = {view.buffer for view in self.sources.values()}
        self.values = {level: dict(sizes) for level in levels}
        """Of variables, where the loops that cut no block of a level are walked as one."""
        self.innermost = next(iter(levels))
        self.whole: dict[str, For] = {}
        """The outermost loop over an axis that the innermost level walks as one."""
        self.bounded: set[str] = set()
        """The axes of loops over what masks leave of them."""
        self.walked: set[Variable] = set()
        """The starts of all loops of several blocks that it walks as one."""
        self.there: dict[tuple[str, Hashable], tuple[Hashable, dict[Hashable, tuple[int, int]]]] = {}
        """The region of an operand that a level holds, and its pieces, each with the keys that masks have let through."""
        self.operators: dict[int, frozenset[str]] = {}
        """Of loops, by identity."""
        self.moved: Moved = Counter()

    def body(self, nodes: Iterable[Statement]) -> None:
        """Statements in order."""
        for node in nodes:
            match node:
                case For(body=body):
                    for _ in self._blocks(node):
                        if node.level and node.axis == self.parts:
                            self.there.clear()
                        self.body(body)
                case If(condition, body):
                    self.body(body if self._may_hold(condition) else ())
                case Let(variable, value) if not isinstance(value, Rounded):
                    for values in self.values.values():
                        values[variable] = evaluated(value, values)
                case Leaf():
                    self._leaf(node)
                case Transfer() | Fill() | Prefetch():
                    pass
                case _:
                    raise InternalError(f"{node} depends on the data of a call")

    def at(self, value: IntegerExpression, level: str = "") -> int:
        """What an expression is in the current block of a level."""
        return value if isinstance(value, int) else evaluated(value, self.values[level or self.innermost])

    def _may_hold(self, condition: IntegerExpression) -> bool:
        """Whether a condition holds in a block of the innermost level: in one of the blocks of loops that are walked as one."""
        return bool(self.at(condition)) or any(not self.walked.isdisjoint(node.operands) for node in nodes(condition))

    def _blocks(self, loop: For) -> Iterator[None]:
        """All blocks of a loop; one where the innermost level holds them all."""
        start, stop = self.at(loop.whole.start), self.at(loop.whole.stop)
        if self._cuts(loop, self.innermost):
            bounded = {loop.axis} if _is_masked(loop.whole) else set()
            self.bounded |= bounded
            for begin in range(start, stop, loop.tile):
                self._enter(loop, begin, min(loop.tile, stop - begin))
                yield
            self.bounded -= bounded
            return
        is_outermost = self.whole.setdefault(loop.axis, loop) is loop
        self._enter(loop, start, stop - start)
        walked = {loop.block.start} if isinstance(loop.block.start, Variable) and stop - start > loop.tile else set()
        self.walked |= walked
        yield
        self.walked -= walked
        if is_outermost:
            del self.whole[loop.axis]

    def _cuts(self, loop: For, level: str) -> bool:
        """Whether a level holds the current block of a loop: that of a leaf inside."""
        return any((operator, loop.axis, loop.tile) in self.levels[level] for operator in self._operators(loop))

    def _operators(self, loop: For) -> frozenset[str]:
        """The operators of the leaves in a loop."""
        if id(loop) not in self.operators:
            self.operators[id(loop)] = frozenset(leaf.operator.name for leaf in walk(loop.body) if isinstance(leaf, Leaf))
        return self.operators[id(loop)]

    def _enter(self, loop: For, start: int, size: int) -> None:
        for level, values in self.values.items():
            is_cut = self._cuts(loop, level)
            if isinstance(loop.block.start, Variable):
                values[loop.block.start] = start if is_cut else self.at(loop.whole.start, level)
            if isinstance(loop.block.size, Variable):
                values[loop.block.size] = size if is_cut else self.at(loop.whole.size, level)

    def _leaf(self, leaf: Leaf) -> None:
        operands = list(leaf.accesses())
        written = {operand.place.buffer for operand in operands if operand.is_written}
        read = [operand for operand in operands if not operand.is_written]
        for operand in (operand for operand in read if operand.place.buffer not in written):
            indices = tuple(access.indices for access in leaf.operator.reads if access.tensor == operand.name)
            place = self.sources.get(operand.place.buffer, operand.place)
            self._wants((leaf.operator.name, indices), place, leaf.box)
        changed = {operand.place.buffer for operand in read}
        for operand in (operand for operand in operands if operand.is_written):
            times = 2 if operand.place.buffer in changed or self.at(operand.is_read) else 1
            self._wants("", operand.place, leaf.box, times)

    def _wants(self, reader: Hashable, place: View | Gather, box: Iterable[tuple[str, Range]], times: int = 1) -> None:
        """An operand of a leaf, by the accesses of its operator; all that writes to a tensor is one operand, of no reader."""
        if place.buffer in self.scratch or (place.buffer.content is Content.PARTIAL and place.buffer.of):
            return
        operand = self._operand(place, dict(box))
        keys = operand.ranges.get(operand.masked, Range(0, 1, 1))
        first, count = self.at(keys.start), self.at(keys.size)
        sizes = self._sizes(operand)
        piece = self._begin(operand, self.innermost), sizes
        if any(size <= 0 for _, size in sizes):
            return
        size_bytes = times * element_bytes(place.dtype) * self._elements(operand, sizes)
        for level in self.levels:
            region = piece if level == self.innermost else self._begin(operand, level)
            there, pieces = self.there.get((level, (reader, _form(place))), (None, {}))
            pieces = pieces if there == region else {}
            self.there[level, (reader, _form(place))] = region, pieces
            low, high = pieces.get(piece, (first, first))
            pieces[piece] = begin, end = min(low, first), max(high, first + count)
            self.moved[place.buffer.tensor, level] += (end - begin - (high - low)) * size_bytes

    def _operand(self, place: View | Gather, box: dict[str, Range]) -> _Operand:
        """An operand, with what the innermost level walks as one."""
        loops = {axis: self.whole[axis] for axis in box if axis in self.whole}
        ranges = {axis: loops[axis].whole if axis in loops else span for axis, span in box.items()}
        masked = [axis for axis in ranges if axis in _axes(place) and (axis in self.bounded or _is_masked(ranges[axis]))]
        return _Operand(place, ranges, masked[0] if masked else "")

    def _begin(self, operand: _Operand, level: str) -> Hashable:
        """Where the region of an operand begins in the current block of a level; any keys where no loop cuts them."""
        place, masked = operand.place, operand.masked if operand.masked not in self.bounded else ""
        if isinstance(place, View) and place.buffer not in self.copied:
            ahead = self.at(operand.ranges[masked].start, level) * self.at(place.stride(masked), level) if masked else 0
            return self.at(place.offset, level) - ahead
        axes = _axes(place)
        return tuple(self.at(span.start, level) for axis, span in operand.ranges.items() if axis in axes and axis != masked)

    def _sizes(self, operand: _Operand) -> tuple[tuple[str | int, int], ...]:
        """The steps of a view, but for keys; (axis, size) of a gather."""
        place, ranges = operand.place, operand.ranges
        sizes = {axis: 1 if axis == operand.masked else self.at(span.size) for axis, span in ranges.items()}
        if isinstance(place, Gather):
            return tuple((axis, size) for axis, size in sizes.items() if axis in _axes(place))
        steps = [(abs(self.at(stride)), sizes[axis]) for axis, stride in place.strides if axis in sizes]
        for axis, loop in self.whole.items():
            if axis not in ranges and isinstance(loop.block.start, Variable):
                steps.append((self._step(place.offset, loop.block.start), self.at(loop.whole.size)))
        return tuple(sorted((stride, size) for stride, size in steps if stride and size != 1))

    def _elements(self, operand: _Operand, sizes: tuple[tuple[str | int, int], ...]) -> int:
        """The distinct elements of a region, of keys one."""
        place, ranges = operand.place, operand.ranges
        if isinstance(place, View):
            return distinct_places(sizes)
        guard = place.guard.constraints if place.guard is not None else ()
        limits = tuple(limit.with_extents(planned_extent) for limit in guard if limit.axes() <= _axes(place))
        box = {axis: (self.at(span.start), self.at(span.stop)) for axis, span in ranges.items()}
        return distinct_positions(place.indices, limits, box | dict.fromkeys(filter(None, [operand.masked]), (0, 1)))

    def _step(self, offset: IntegerExpression, variable: Variable) -> int:
        """How far an offset moves with a variable."""
        values = self.values[self.innermost]
        return abs(evaluated(offset, {**values, variable: values[variable] + 1}) - evaluated(offset, values))


def _form(place: View | Gather) -> Hashable:
    """Equal for accesses that address the same elements of a tensor."""
    return place.buffer, place.strides if isinstance(place, View) else (place.indices, place.guard)


def _is_masked(span: Range) -> bool:
    return any(isinstance(value, Variable) and value.kind in OF_MASKS for value in (span.start, span.size))


def _axes(place: View | Gather) -> frozenset[str]:
    if isinstance(place, Gather):
        return frozenset().union(*(index.axes() for index in place.indices))
    return frozenset(axis for axis, stride in place.strides if stride != 0)


@lru_cache(maxsize=1 << 12)
def distinct_places(steps: Steps) -> int:
    """The distinct sums of steps.

    Strides that share a factor beyond what all smaller ones reach are independent of these: numbers multiply.

    >>> distinct_places(((1, 3), (2, 28), (58, 3), (116, 4)))
    513
    """
    count, group, reach = 1, list[tuple[int, int]](), 0
    for number, (stride, size) in enumerate(steps):
        if gcd(*(larger for larger, _ in steps[number:])) > reach:
            count, group, reach = count * len(_sums(group)), [], 0
        group.append((stride, size))
        reach += stride * (size - 1)
    return count * len(_sums(group))


def _sums(steps: Iterable[tuple[int, int]]) -> np.ndarray:
    """All sums of steps."""
    sums = np.zeros(1, int)
    for stride, size in steps:
        sums = np.unique(sums[:, None] + np.arange(size) * stride)
    return sums


def distinct_positions(indices: tuple[Index, ...], limits: tuple[Index, ...], box: Mapping[str, tuple[int, int]]) -> int:
    """The distinct positions in a box at points where no limit is below 0; what has no common axis multiplies.

    >>> from tilewright.graph.expressions.index import axis
    >>> rows, columns = axis("y") * 2 + axis("k"), axis("c")
    >>> box = {"y": (0, 4), "k": (0, 3), "c": (0, 5)}
    >>> distinct_positions((rows, columns), (), box), distinct_positions((rows, columns), (rows + -1,), box)
    (45, 40)
    """
    count, left = 1, {*indices, *limits}
    while left:
        group, axes = {left.pop()}, frozenset[str]()
        while axes != (axes := frozenset().union(*(index.axes() for index in group))):
            group |= {index for index in left if index.axes() & axes}
        left -= group
        places, held = (tuple(index for index in some if index in group) for some in (indices, limits))
        count *= _distinct(places, held, tuple((axis, box[axis]) for axis in sorted(axes)))
    return count


@lru_cache(maxsize=1 << 12)
def _distinct(indices: tuple[Index, ...], limits: tuple[Index, ...], box: Box) -> int:
    """The same of indices and limits that have axes in common."""
    grid = np.ix_(*(np.arange(start, stop) for _, (start, stop) in box))
    points = dict(zip((axis for axis, _ in box), grid, strict=True))
    is_real = reduce(np.logical_and, (limit.evaluate(points) >= 0 for limit in limits), np.ones([1] * len(box), bool))
    every = np.broadcast_arrays(is_real, *grid, *(index.evaluate(points) for index in indices))
    return len(np.unique(np.stack([np.zeros(every[0].shape, int), *every[len(box) + 1 :]])[:, every[0]].T, axis=0))
