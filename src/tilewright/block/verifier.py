"""Verifier of block programs: what is read was written, regions lie inside of their buffers, and no buffer is larger than used.

Every loop is walked at its first two blocks and at its last one, each block of distributed loops by a thread of its own, which
reads what regions before and the block itself have written. Of a buffer the hull of what was written is known, from the first
element to the last one. Gathers may read any element of what was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from tilewright.block.integers import IntegerExpression, Variable, VariableKind, evaluated
from tilewright.block.memory import ALIGNMENT_WORDS, POINT, Buffer, BufferName, Gather, Lifetime, Panels, Range, View
from tilewright.block.program import Region
from tilewright.block.statements import Fill, For, Leaf, Let, Rounded, Statement, Transfer
from tilewright.block.walk import Walk
from tilewright.errors import InternalError
from tilewright.records import record

Hull: TypeAlias = tuple[int, int] | None
"""The first and the last of some elements; None of none."""
Steps: TypeAlias = Sequence[tuple[IntegerExpression, IntegerExpression]]
"""(size, stride) of everything along which an access goes."""


@record
class Access:
    """The elements that a statement reads, writes or both; None for steps of computed positions."""

    place: View | Gather
    steps: Steps | None
    reads: bool = True
    writes: bool = False


@dataclass(slots=True)
class _Memory:
    """A buffer, the hull of what was written, the elements up to the last one that was touched, and the longest stride."""

    buffer: Buffer
    written: tuple[int, int] | None = None
    used: int = 0
    stride: int = ALIGNMENT_WORDS


def verify(
    regions: Iterable[Region], given: Iterable[Buffer], results: Iterable[Buffer], variables: Mapping[Variable, int]
) -> None:
    """Raise `InternalError` where the regions of a chain are wrong, for run-time sizes of these values.

    `given` are the tensors that are there before, `results` those that the regions write.
    """
    results = list(results)
    known = {one.name: _Memory(one) for one in results}
    known |= {one.name: _Memory(one, (0, evaluated(one.elements, variables) - 1)) for one in given}
    for region in regions:
        for constant in region.constants:
            known = {buffer.name: _Memory(buffer) for buffer in constant.buffers} | known
            _Thread(constant, known, variables).body(constant.body)
        known = {one.name: _Memory(one) for one in region.buffers if one.lifetime is not Lifetime.THREAD} | known
        used: dict[BufferName, _Memory] = {}
        ahead = behind = {name: memory.written for name, memory in known.items()}
        trips = [evaluated(loop.trips, variables) for loop in region.parallel]
        for block in product(*map(_corners, trips)):
            number = 0
            for trip, position in zip(trips, block, strict=True):
                number = number * trip + position
            scratch = {buffer.name: used.setdefault(buffer.name, _Memory(buffer)) for buffer in region.scratch}
            for name, memory in (known | scratch).items():
                memory.written = ahead.get(name)
            _Thread(region, known | scratch, variables).blocks(region, (number,))
            behind = {name: _hull(behind[name], memory.written) for name, memory in known.items()}
        for name, memory in known.items():
            memory.written = behind[name]
        shared = (known[buffer.name] for buffer in region.buffers if buffer.name not in used)
        _check_capacities(region, [*used.values(), *shared], variables)
        touched = {place.buffer for node in region.nodes() for place in _places(node)}
        for buffer in region.scratch:
            if buffer.name not in touched:
                raise _error(region, f"{buffer.name} is declared", "nothing touches it")
    for one in results:
        _check_capacities(region, [known[one.name]], variables)
        if known[one.name].written is None and evaluated(one.elements, variables):
            raise InternalError(f"nothing writes {one.name}")


def _hull(first: Hull, second: Hull) -> Hull:
    """Of both together."""
    if first is None or second is None:
        return first or second
    return min(first[0], second[0]), max(first[1], second[1])


def _corners(count: int) -> tuple[int, ...]:
    """The first two of so many blocks, and the last one.

    >>> _corners(1), _corners(9)
    ((0,), (0, 1, 8))
    """
    return tuple(sorted({0, min(1, count - 1), count - 1})) if count > 0 else ()


def _check_capacities(region: Region, memories: Iterable[_Memory], variables: Mapping[Variable, int]) -> None:
    """Rows may be padded, to cache lines at least: a buffer ends with a whole one."""
    lets = (node.variable.kind for node in region.nodes() if isinstance(node, Let))
    if VariableKind.DOMAIN_START in (kinds := set(lets)) or VariableKind.DOMAIN_SIZE in kinds:
        return  # the largest block is none of those that are walked
    for memory in memories:
        elements = evaluated(memory.buffer.elements, variables)
        if memory.used and elements > -(-memory.used // memory.stride) * memory.stride:
            raise _error(region, f"{memory.buffer.name} has {elements} elements", f"{memory.used} are used")


def _error(region: Region, what: str, why: str) -> InternalError:
    return InternalError(f"{what} in region {region.name}: {why}")


class _Thread(Walk):
    """Some blocks of one thread."""

    def __init__(self, region: Region, memory: Mapping[BufferName, _Memory], variables: Mapping[Variable, int]) -> None:
        super().__init__(variables)
        self.region, self.memory = region, memory

    def at(self, value: IntegerExpression) -> int:
        """What an expression is here."""
        try:
            return super().at(value)
        except KeyError as missing:
            raise _error(self.region, f"{missing.args[0]} is used", "it is not defined there") from None

    def body(self, statements: Iterable[Statement]) -> None:
        """Statements in order, whose variables nobody knows behind them."""
        before = dict(self.values)
        super().body(statements)
        self.values = before

    def _loop(self, loop: For) -> None:
        start, stop = self.at(loop.whole.start), self.at(loop.whole.stop)
        starts = range(start, max(stop, start + loop.may_be_empty), loop.tile)
        for number in _corners(len(starts)):
            self._enter(loop.block, starts[number], loop.tile, stop)
            self.body(loop.body)

    def statement(self, node: Statement) -> None:
        """Check what a statement touches."""
        for access in self._accesses(node):
            self._touch(access)
        if isinstance(node, Let):
            self.values[node.variable] = 0  # an element of a tensor: any value

    def _touch(self, access: Access) -> None:
        name = access.place.buffer
        if name not in self.memory:
            raise _error(self.region, f"{name} is touched", "nobody declares that buffer")
        memory = self.memory[name]
        if memory.buffer.dtype != access.place.dtype:
            raise _error(self.region, f"{name} is touched as {access.place.dtype}", f"it has {memory.buffer.dtype}")
        if access.steps is None:
            if memory.written is None:
                raise _error(self.region, f"{name} is read", "nothing of it was written before")
            return
        steps = [(self.at(size), self.at(stride)) for size, stride in access.steps]
        if any(size <= 0 for size, _ in steps):
            return
        first = self.at(access.place.offset) + sum((size - 1) * stride for size, stride in steps if stride < 0)
        last = self.at(access.place.offset) + sum((size - 1) * stride for size, stride in steps if stride > 0)
        elements = evaluated(memory.buffer.elements, self.values)
        if first < 0 or last >= elements:
            raise _error(self.region, f"elements {first} to {last} of {name} are touched", f"it has {elements}")
        if access.reads and (memory.written is None or first < memory.written[0] or last > memory.written[1]):
            raise _error(self.region, f"elements {first} to {last} of {name} are read", f"written are {memory.written}")
        memory.used = max(memory.used, last + 1)
        memory.stride = max([memory.stride, *(abs(stride) for _, stride in steps)])
        if access.writes:
            self._write(memory, first, last)

    def _write(self, memory: _Memory, first: int, last: int) -> None:
        """What lies in the same place is lost."""
        memory.written = _hull(memory.written, (first, last))
        group = memory.buffer.reuse_group
        for other in self.memory.values() if group is not None else ():
            if other.buffer.reuse_group == group and other is not memory:
                other.written = None

    def _accesses(self, node: Statement) -> Iterator[Access]:
        match node:
            case Let(value=Rounded(element)):
                yield Access(element, ())
            case Fill(target, box):
                yield _over(target, box, reads=False, writes=True)
            case Transfer():
                yield from self._moved(node)
            case Leaf():
                yield from self._computed(node)

    def _moved(self, move: Transfer) -> Iterator[Access]:
        outer = [(size, move.source.stride(axis)) for axis, size, _ in move.outer]
        box = [(move.depth, move.source.stride(move.depth_axis)), (move.columns, move.source.stride(move.column_axis))]
        yield Access(move.source, [*outer, *box])
        groups, width = -(-self.at(move.depth) // move.interleave), move.panel_columns
        rows: Steps = [(groups * move.interleave, move.target_row), (move.columns, 1)]
        if width:
            whole = -(-self.at(move.columns) // width)
            steps = (groups, width * move.interleave), (width, move.interleave), (move.interleave, 1)
            rows = [(whole, move.panel_stride), *steps]
        yield Access(move.target, [*((size, stride) for _, size, stride in move.outer), *rows], reads=False, writes=True)

    def _computed(self, leaf: Leaf) -> Iterator[Access]:
        reduced = {axis.name for axis in leaf.operator.reduction_axes()} if leaf.operator.reduction is not None else set()
        kept = [(axis, span) for axis, span in leaf.box if axis not in reduced or leaf.write.stride(axis) != 0]
        for operand in leaf.accesses():
            box, place = kept if operand.place is leaf.write else leaf.box, operand.place
            if isinstance(place, View) and place.panels is not None:
                steps = self._steps(place, place.panels, dict(box))
                yield Access(place, steps, bool(self.at(operand.is_read)), operand.is_written)
            else:
                yield _over(place, box, reads=bool(self.at(operand.is_read)), writes=operand.is_written)

    def _steps(self, view: View, panels: Panels, box: Mapping[str, Range]) -> Steps:
        """Of panels, which hold groups of neighbouring rows."""
        width, groups = panels.width, panels.interleave
        rows, columns = (self.at(box.get(axis or "", POINT).size) for axis in (panels.rows, panels.columns))
        outer = [(span.size, view.stride(axis)) for axis, span in box.items() if axis not in (panels.rows, panels.columns)]
        within = [(groups, 1), (-(-columns // width), panels.stride), (min(width, columns), groups)]
        return [*outer, (-(-rows // groups), panels.row), *within]


def _places(node: Statement) -> Iterator[View | Gather]:
    """Where a statement reads and writes."""
    match node:
        case Let(value=Rounded(element)):
            yield element
        case Fill(target):
            yield target
        case Transfer(source, target):
            yield from (source, target)
        case Leaf():
            yield from (operand.place for operand in node.accesses())


def _over(place: View | Gather, box: Iterable[tuple[str, Range]], *, reads: bool = True, writes: bool = False) -> Access:
    """An operand over the box of its leaf."""
    if isinstance(place, Gather):
        return Access(place, None)
    return Access(place, [(span.size, place.stride(axis)) for axis, span in box], reads, writes)
