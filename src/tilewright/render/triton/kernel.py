"""A region as one kernel: distributed blocks are programs of its launch, loops are loops, leaves are what they compute.

A perfect nest of loops is one loop over all its blocks: Triton pipelines innermost loops alone, and no nest of short ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from tilewright.block.integers import Variable
from tilewright.block.memory import BufferName
from tilewright.block.program import Region, distributed, entered
from tilewright.block.statements import Fill, For, Leaf, Statement
from tilewright.graph.expressions.scalar import State
from tilewright.graph.types import Operator
from tilewright.records import record
from tilewright.render.triton.memory import Memory
from tilewright.render.triton.positions import Positions
from tilewright.render.triton.products import write_sum
from tilewright.render.triton.refusals import refused
from tilewright.render.triton.registers import Registers
from tilewright.render.triton.rows import write_fill, write_rows
from tilewright.render.triton.scalars import Helper
from tilewright.render.triton.scopes import INDENT, Scopes
from tilewright.render.triton.sizes import roles_of
from tilewright.render.triton.values import Writer, write_map


@record
class Kernel:
    """The text of a function, the scalar functions of the module that it calls, and how many programs a launch has."""

    text: str
    helpers: frozenset[Helper]
    blocks: int


def render(region: Region, name: str, arguments: Sequence[str]) -> Kernel:
    """The kernel of a region, whose parameters are pointers to these tensors.

    Raises `UnsupportedOperation` for what it cannot say.
    """
    return _Kernel(region, arguments).rendered(name)


class _Kernel:
    """A walk over a region that writes its kernel."""

    def __init__(self, region: Region, arguments: Sequence[str]) -> None:
        self.region, self.scopes = region, Scopes()
        self.positions = Positions(region, self.scopes)
        memory = Memory(self.positions, arguments)
        self.writer = Writer(memory, Registers(memory))
        self.orders = dict(_orders(region))

    def rendered(self, name: str) -> Kernel:
        """The whole function."""
        blocks = self._grid()
        body = self.region.body
        while (loop := distributed(body)) is not None:
            self._statements(entered(body))
            body = loop.body
        self._statements(body)
        parameters = ", ".join(self.writer.memory.pointers.values())
        lines = ["@triton.jit", f"def {name}({parameters}):", *(INDENT + line for line in self.scopes.open[0].lines)]
        return Kernel("\n".join(lines), frozenset(self.writer.helpers), blocks)

    def _grid(self) -> int:
        """The blocks of distributed loops are numbered together, outermost first."""
        loops = [loop for loop in self.region.parallel if isinstance(loop.block.start, Variable)]
        trips = [_trips(loop) for loop in loops]
        if loops:
            self.scopes.put("pid = tl.program_id(0)")
        for position, loop in enumerate(loops):
            self._start(loop, _digit("pid", trips, position))
        return prod(trips)

    def _start(self, loop: For, block: str) -> None:
        """The first point of a block, given the text of its number."""
        assert isinstance(loop.block.start, Variable)
        first = "" if loop.whole.start == 0 else f"{self.scopes.text(loop.whole.start)} + "
        scaled = f"{block} * {loop.tile}" if loop.tile > 1 else block
        self.scopes.define(loop.block.start, f"{first}{scaled}", f"{loop.axis}_at")
        self._name_size(loop)

    def _name_size(self, loop: For) -> None:
        if isinstance(loop.block.size, Variable):
            left = f"{self.scopes.text(loop.whole.stop)} - {self.scopes.text(loop.block.start)}"
            self.scopes.names[loop.block.size] = f"tl.minimum({left}, {loop.tile})"
            self.scopes.open[-1].variables.add(loop.block.size)

    def _statements(self, body: Iterable[Statement]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        match statement:
            case For():
                self._loops(_nest(statement))
            case Fill(target):
                write_fill(self.writer, statement, self.orders.get(target.buffer, ()))
            case Leaf():
                self._leaf(statement)
            case _:
                raise refused(f"a {type(statement).__name__}", "it has loops and leaves, whose edges are masks")

    def _leaf(self, leaf: Leaf) -> None:
        if leaf.epilogue is not None or leaf.inverse is not None:
            raise refused(f"the ending of {leaf.operator.name}", "maps behind a product are leaves of their own")
        if leaf.operator.is_map():
            write_map(self.writer, leaf)
        elif is_plain_sum(leaf.operator):
            write_sum(self.writer, leaf)
        else:
            write_rows(self.writer, leaf)

    def _loops(self, loops: tuple[For, ...]) -> None:
        self.scopes.enter()
        header = self._header(loops)
        self._statements(loops[-1].body)
        self.positions.forget(self.scopes.level)
        self.scopes.leave(header)

    def _header(self, loops: tuple[For, ...]) -> str:
        """The line of a loop, with the starts of its blocks in its scope."""
        if len(loops) == 1:
            return self._header_of_one(loops[0])
        trips, number = [_trips(loop) for loop in loops], self.scopes.fresh("step")
        for position, loop in enumerate(loops):
            self._start(loop, _digit(number, trips, position))
        return f"for {number} in range(0, {prod(trips)}):"

    def _header_of_one(self, loop: For) -> str:
        name = self.scopes.fresh(f"{loop.axis}_at")
        if isinstance(loop.block.start, Variable):
            self.scopes.names[loop.block.start] = name
            self.scopes.open[-1].variables.add(loop.block.start)
        self._name_size(loop)
        return f"for {name} in range({self.scopes.text(loop.whole.start)}, {self.scopes.text(loop.whole.stop)}, {loop.tile}):"


def is_plain_sum(operator: Operator) -> bool:
    """Whether points are added up, and nothing is done behind the last one."""
    if operator.reduction is None:
        return False
    (state, *others) = operator.reduction.states
    starts_empty = state.combine == "add" and state.identity == 0
    return not others and starts_empty and operator.reduction.finish == State(state.name)


def _orders(region: Region) -> Iterable[tuple[BufferName, tuple[str, ...]]]:
    """By buffer of the sums of a matrix product their axes in the order in which the product makes them."""
    for node in region.nodes():
        if isinstance(node, Leaf) and (roles := roles_of(node)) is not None:
            yield node.write.buffer, (roles.row, roles.column)


def _trips(loop: For) -> int:
    if not isinstance(loop.trips, int):
        raise refused(f"the blocks of {loop.axis}", "their number is known at run time only")
    return loop.trips


def _digit(number: str, trips: Sequence[int], position: int) -> str:
    """The number of a loop's block, of that of all blocks of a nest.

    >>> [_digit("pid", (2, 3, 4), position) for position in range(3)]
    ['pid // 12', 'pid // 4 % 3', 'pid % 4']
    """
    behind = prod(trips[position + 1 :])
    text = number if behind == 1 else f"{number} // {behind}"
    return text if position == 0 else f"{text} % {trips[position]}"


def _nest(loop: For) -> tuple[For, ...]:
    """A loop with those that fill its body, as far as their blocks are counted before."""
    nest = [loop]
    while len(nest[-1].body) == 1 and isinstance(inner := nest[-1].body[0], For):
        nest.append(inner)
    counted = all(isinstance(one.trips, int) and isinstance(one.block.start, Variable) for one in nest)
    return tuple(nest) if counted else (loop,)
