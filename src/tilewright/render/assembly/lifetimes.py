"""How long values of a tile program are needed, how often they are used, and which loads are operands of what uses them."""

from __future__ import annotations

from tilewright.tile.operations import Operation
from tilewright.tile.program import (
    Assign,
    Block,
    Constant,
    Define,
    For,
    If,
    Instruction,
    Statement,
    Store,
    TileProgram,
    Value,
    Variable,
)

SHIFTS = frozenset((Operation.SHIFT_LEFT, Operation.SHIFT_RIGHT))


def same(value: Value) -> Value:
    """What has the bits of a value, and keeps them."""
    while is_other_name(value):
        assert isinstance(value, Instruction)
        value = value.operands[0]
    return value


def is_other_name(value: Value) -> bool:
    """Whether a value needs no register beside that of its operand. A variable may change before its bits are used."""
    if not isinstance(value, Instruction) or value.operation is not Operation.BITCAST:
        return False
    return not isinstance(value.operands[0], Variable)


class Lifetimes:
    """Of the values of one program. Statements are numbered in the order of the text; a block ends with a number of its own."""

    def __init__(self, program: TileProgram) -> None:
        self.numbers: dict[int, int] = {}
        """Of statements, by identity; of loops, that of their start."""
        self.last: dict[int, int] = {}
        """The number of the last statement that needs a value."""
        self.uses: dict[int, int] = {}
        self.user: dict[int, tuple[Instruction, int]] = {}
        """The instruction that used a value last, and the operand that the value is."""
        self.constants: dict[int, list[Constant]] = {}
        """Those that are used inside of an outermost loop, by its identity."""
        self.ends: dict[int, int] = {}
        """The number of the end of a loop."""
        self._born: dict[int, int] = {}
        self._place: dict[int, tuple[int, int]] = {}
        self._count = self._stores = 0
        self._loops: list[tuple[int, list[int]]] = []
        self._outermost: For | None = None
        self._block(program.body)

    def folds(self, load: Instruction) -> bool:
        """Whether what reads memory may stand where its value is used: once, in the same block, before anything is written."""
        if self.uses.get(id(load)) != 1 or id(load) not in self.user:
            return False
        return self._place[id(load)] == self._place[id(self.user[id(load)][0])]

    def _block(self, block: Block) -> None:
        for statement in block:
            self._count += 1
            self.numbers[id(statement)] = self._count
            self._place[id(statement)] = (id(block), self._stores)
            self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        match statement:
            case Instruction():
                if not is_other_name(statement):
                    for position, operand in enumerate(statement.operands):
                        if position and statement.operation in SHIFTS and isinstance(operand, Constant):
                            continue  # it is part of the instruction
                        self._use(operand)
                        self.user[id(same(operand))] = (statement, position)
                    self._begin(statement)
            case Define():
                self._use(statement.value)
                self._begin(statement.variable)
            case Assign():
                self._use(statement.value)
                self._use(statement.variable)
            case Store():
                self._use(statement.value)
                if statement.mask is not None:
                    self._use(statement.mask)
                self._stores += 1
            case For():
                self._loop(statement)
            case If():
                self._block(statement.body)
                self._block(statement.otherwise)

    def _loop(self, loop: For) -> None:
        is_outermost = self._outermost is None
        if is_outermost:
            self._outermost = loop
        self._loops.append((self._count, []))
        self._block(loop.body)
        self._count += 1
        self.ends[id(loop)] = self._count
        _, used = self._loops.pop()
        for value in used:
            self.last[value] = self._count
            if self._loops and self._born[value] < self._loops[-1][0]:
                self._loops[-1][1].append(value)
        if is_outermost:
            self._outermost = None

    def _begin(self, value: Value) -> None:
        self._born[id(value)] = self.last[id(value)] = self._count

    def _use(self, operand: Value) -> None:
        value = same(operand)
        self.uses[id(value)] = self.uses.get(id(value), 0) + 1
        if isinstance(value, Constant):
            self._use_constant(value)
            return
        self.last[id(value)] = self._count
        if self._loops and self._born.get(id(value), 0) < self._loops[-1][0]:
            self._loops[-1][1].append(id(value))

    def _use_constant(self, constant: Constant) -> None:
        if self._outermost is not None and constant.number != 0:
            known = self.constants.setdefault(id(self._outermost), [])
            if constant not in known:
                known.append(constant)
