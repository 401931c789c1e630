"""A tile program as a function in assembly: straight lines and loops of whole vectors, whose values are all in registers.

Instructions stand in the order of the program. A value has a register from its instruction to its last use, a variable for as
long as it is used; nothing is spilled. What is loaded for one use, before anything is stored, is an operand in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext

from tilewright.errors import UnsupportedOperation
from tilewright.render.assembly.lifetimes import is_other_name
from tilewright.render.assembly.operations import Operations
from tilewright.render.assembly.registers import MEMORY, place_of
from tilewright.render.assembly.text import function_text
from tilewright.render.assembly.words import (
    ARGUMENTS,
    ENTER,
    LEAVE,
    LINE_BYTES,
    LOAD,
    PUSHED,
    SCRATCH_MEMORY,
    Line,
    OutOfRegisters,
    Word,
    place,
    with_scratch,
)
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation, Operation
from tilewright.tile.program import (
    Assign,
    Block,
    Buffer,
    Constant,
    Define,
    For,
    If,
    Instruction,
    Integer,
    Place,
    Prefetch,
    Statement,
    Store,
    TileProgram,
    Value,
)
from tilewright.tile.types import BITS

HEAD, TAIL = "\t.intel_syntax noprefix\n", '\t.section .note.GNU-stack,"",@progbits\n'
MOST_INHERITED = 2
"""Operands of instructions whose result may lie where an operand did."""


def assembly(program: TileProgram, dialect: Dialect, name: str = "", order: Sequence[int] = ()) -> str:
    """The text of a function, for `unit`. `order` says which of its arguments each parameter is; by default they are in order.

    Raises `UnsupportedOperation` for what C has to render: an operation that is not known here, or too few registers.
    """
    return _Function(program, dialect, name or program.name).text(order or range(len(program.parameters)))


def unit(functions: Iterable[str]) -> str:
    """A file for the assembler."""
    return "".join((HEAD, *functions, TAIL))


class _Function(Operations):
    labels = 0

    def text(self, order: Sequence[int]) -> str:
        """All of it."""
        self.arguments(order)
        scratch_bytes = self.scratch_memory()
        self.block(self.program.body)
        (frame,) = self.addresses.frames
        frame_bytes = with_scratch(place(frame.lines), scratch_bytes)
        return function_text(self.name, frame.lines, self.addresses.arguments, frame_bytes, self.table_text())

    def arguments(self, order: Sequence[int]) -> None:
        """The first six arrive in registers, the others on the stack, behind what is pushed."""
        words = {number: _argument(number) for number in order}
        for number, parameter in zip(order, self.program.parameters, strict=True):
            if not isinstance(parameter, str | Buffer):
                raise UnsupportedOperation("no assembly of a program that takes scalars")
            name = parameter.name if isinstance(parameter, Buffer) else parameter
            self.addresses.argument(name, words[number])

    def scratch_memory(self) -> int:
        """A pointer for all scratch memory of its own; how many bytes that is."""
        taken = 0
        for table in self.program.tables:
            if not isinstance(table.elements, int):
                raise UnsupportedOperation("no assembly of scratch memory of any size")
            word = Word()
            self.addresses.lines.append(Line(SCRATCH_MEMORY, word, taken))
            self.addresses.define(table.name, word)
            taken += -(-table.elements * BITS[table.dtype] // (8 * LINE_BYTES)) * LINE_BYTES
        return taken

    # Statements.

    def block(self, block: Block) -> None:
        """All statements of a block, each with the assignment that follows it."""
        numbers = self.lifetimes.numbers
        skipped = False
        for position, statement in enumerate(block):
            if skipped:
                skipped = False
            else:
                following = block[position + 1] if position + 1 < len(block) else None
                skipped = self.statement(statement, following)
            self.expire(numbers[id(statement)])

    def statement(self, statement: Statement, following: Statement | None) -> bool:
        """One statement; whether it did the following assignment, too."""
        match statement:
            case Instruction():
                return self.instruction(statement, following)
            case Define(variable=variable, value=value):
                self.move(self.take(variable), value)
            case Assign(variable=variable, value=value):
                self.move(self.registers[id(variable)], value)
            case Store():
                self.store(statement)
            case Prefetch(place=place):
                self.emit("prefetcht0 {}", self.addresses.memory(place.buffer, place.index))
            case Integer():
                self.integer(statement)
            case If():
                self.condition(statement)
            case For():
                self.loop(statement)
            case _:
                raise UnsupportedOperation(f"no assembly of {type(statement).__name__}")
        return False

    def condition(self, statement: If) -> None:
        """A block that runs if an integer is not 0, and one that runs elsewhere."""
        addresses = self.addresses
        frames = []
        test = Line("cmp", addresses.word(statement.condition), 0)
        for body in (statement.body, statement.otherwise):
            addresses.enter()
            self.block(body)
            frames.append(addresses.frames.pop())
        yes, no = frames
        end, otherwise = self.label(), self.label()
        addresses.lines.extend([*yes.before, *no.before, test, _jump("je", otherwise), *yes.lines])
        addresses.lines.extend(
            [_jump("jmp", end), _label(otherwise), *no.lines, _label(end)] if no.lines else [_label(otherwise)]
        )

    def loop(self, loop: For) -> None:
        """Counts down what is left of the range. Constants of an outermost loop are loaded before it."""
        addresses = self.addresses
        for constant in self.lifetimes.constants.get(id(loop), ()):
            self.load_constant(self.take(constant, self.lifetimes.ends[id(loop)]), constant)
        left = addresses.word(loop.stop - loop.start if isinstance(loop.stop, int) else loop.stop + -1 * loop.start)
        top, end = self.label(), self.label()
        addresses.enter(loop)
        self.block(loop.body)
        frame = addresses.frames[-1]
        count = 0
        steps = []
        while count < len(frame.pointers):
            word, step = frame.pointers[count]
            steps.append(Line("add", word, addresses.value(step * loop.step)))
            count += 1
        addresses.leave(
            [
                Line("cmp", left, 0),
                _jump("jle", end),
                Line("text", text="\t.p2align 5"),
                Line(ENTER),
                _label(top),
                *frame.lines,
                *steps,
                Line("sub", left, loop.step),
                _jump("jg", top),
                Line(LEAVE),
                _label(end),
            ]
        )
        self.expire(self.lifetimes.ends[id(loop)])

    def integer(self, statement: Integer) -> None:
        """An integer that no polynomial is."""
        addresses = self.addresses
        if statement.operation is IntegerOperation.ADDRESS:
            (where,) = statement.operands
            assert isinstance(where, Place)
            addresses.define(statement.name, addresses.address(where))
            return
        indices = [one for one in statement.operands if not isinstance(one, Value | Place)]
        if len(indices) != len(statement.operands):
            raise UnsupportedOperation("no assembly of integers of values")
        if statement.operation is IntegerOperation.OPAQUE:
            addresses.other_names[statement.name] = addresses.plain(indices[0])
            return
        level = max(addresses.level(addresses.plain(one)) for one in indices)
        with addresses.before(level + 1) if self.is_hoisted(statement) else nullcontext():
            if statement.operation is IntegerOperation.CHOOSE:
                to = self.choice(*indices)
            else:
                to = self.of_two(statement.operation, *indices)
            addresses.define(statement.name, to)

    @staticmethod
    def is_hoisted(statement: Integer) -> bool:
        """Whether an integer may be computed where no program asks for it: nothing is divided by what might be zero."""
        divides = statement.operation in (IntegerOperation.FLOOR_DIVIDE, IntegerOperation.REMAINDER)
        return not divides or isinstance(statement.operands[1], int)

    def choice(self, condition: IndexLike, yes: IndexLike, no: IndexLike) -> Word:
        """One of two, by whether an integer is 0."""
        addresses = self.addresses
        given, to = addresses.word(yes), addresses.word(no)
        addresses.lines.append(Line("cmp", addresses.word(condition), 0))
        addresses.lines.append(Line("choose", to, given, text="ne"))
        return to

    def of_two(self, operation: IntegerOperation, left: IndexLike, right: IndexLike) -> Word:
        """An integer of two others."""
        addresses = self.addresses
        to = addresses.word(left)
        match operation:
            case IntegerOperation.LESS | IntegerOperation.EQUAL:
                suffix = "l" if operation is IntegerOperation.LESS else "e"
                addresses.lines.append(Line("compare", to, addresses.value(right), text=suffix))
            case IntegerOperation.MINIMUM | IntegerOperation.MAXIMUM:
                other = addresses.word(right)
                suffix = "l" if operation is IntegerOperation.MINIMUM else "g"
                addresses.lines.extend([Line("cmp", other, to), Line("choose", to, other, text=suffix)])
            case IntegerOperation.FLOOR_DIVIDE if isinstance(right, int) and not right & (right - 1):
                addresses.lines.append(Line("sar", to, right.bit_length() - 1))
            case IntegerOperation.REMAINDER if isinstance(right, int) and not right & (right - 1):
                addresses.lines.append(Line("and", to, right - 1))
            case IntegerOperation.FLOOR_DIVIDE | IntegerOperation.REMAINDER:
                text = "rdx" if operation is IntegerOperation.REMAINDER else "rax"
                addresses.lines.append(Line("divide", to, addresses.word(right), text=text))
            case _:
                raise UnsupportedOperation(f"no assembly of integers by {operation}")
        return to

    def store(self, statement: Store) -> None:
        """Lanes are written."""
        value = statement.value
        self.check(value.type)
        to = self.memory(statement.place)
        register, temporary = self.operand(value)
        kind = "masked " if statement.mask is not None else "streamed " if statement.is_streamed else ""
        move, _ = self.named(f"{kind}store", value.type.dtype)
        if statement.mask is None:
            self.emit(f"{move} {self.word} ptr {{}}, {register}", to)
        elif self.wide:
            self.emit(f"{move} {self.word} ptr {{}}{{k{self.mask(statement.mask)}}}, {register}", to)
        else:
            self.emit(f"{move} {self.word} ptr {{}}, ymm{self.mask(statement.mask)}, {register}", to)
        self.give(temporary)

    # Instructions.

    def instruction(self, value: Instruction, following: Statement | None) -> bool:
        """An instruction; where a variable gets its value next, in that one's register."""
        is_scalar = value.type.lanes == 1 and not value.type.is_mask
        if is_scalar:
            self.scalar(value)
            return False
        if is_other_name(value) or (value.operation in MEMORY and self.is_folded(value)):
            return False
        if value.operation is Operation.BITCAST:
            self.move(self.take(value), value.operands[0])
            return False
        if value.operation is Operation.PREFIX:
            self.prefix(value)
            return False
        if value.type.is_mask:
            self.comparison(value)
            return False
        self.check(value.type)
        goes_into = isinstance(following, Assign) and following.value is value and self.lifetimes.uses[id(value)] == 1
        if goes_into:
            assert isinstance(following, Assign)
            self.compute(value, self.registers[id(following.variable)])
        elif id(value) in self.lifetimes.uses:
            self.compute(
                value, self.take(value, register=self.inherited(value) if len(value.operands) <= MOST_INHERITED else None)
            )
        return goes_into

    def prefix(self, value: Instruction) -> None:
        """A mask of the first lanes: of all at most, of none for what is below 0."""
        lanes, index = value.type.lanes, value.detail
        assert not isinstance(index, tuple | Place | TileProgram | Operation | None)
        addresses = self.addresses
        if self.wide:
            if lanes > 16:
                raise OutOfRegisters("no assembly of masks of so many lanes")
            ones = self.ones(addresses.plain(index), lanes)
            addresses.lines.append(Line("text", ones, text=f"kmovw k{self.take_mask(value)}, {{quarter}}"))
            return
        count = self.count_of(index, lanes)
        to = self.take(value)
        bits = value.type.bits
        if bits not in (32, 64):
            raise UnsupportedOperation("no assembly of masks of short lanes")
        integer = f"int{bits}"
        self.table("iota", bits, range(lanes))
        addresses.lines.append(Line("text", count, text=f"vmovd xmm{to}, {{half}}"))
        self.emit(f"{self.named('broadcast', integer)[0]} ymm{to}, xmm{to}")
        self.emit(f"{self.named(Operation.GREATER, integer)[0]} ymm{to}, ymm{to}, ymmword ptr [rip + .L{self.name}_iota{bits}]")

    def ones(self, index: IndexLike, lanes: int) -> Word:
        """As many ones as an index says, lanes at most, computed before all loops that do not change it."""
        addresses, level, key = self.addresses, self.addresses.level(index), ("ones", index, lanes)
        found = addresses.known(key, range(level, level + 1))
        if found is None:
            with addresses.before(level + 1):
                count, found = self.count_of(index, lanes), addresses.word(-1)
                addresses.lines.append(Line("shift ones", found, count))
            addresses.frames[level].known[key] = found
        return found

    def count_of(self, index: IndexLike, lanes: int) -> Word:
        """An index between 0 and so many lanes."""
        addresses = self.addresses
        count, none = self.of_two(IntegerOperation.MINIMUM, index, lanes), addresses.word(0)
        addresses.lines.extend([Line("cmp", count, 0), Line("choose", count, none, text="l")])
        return count

    def scalar(self, value: Instruction) -> None:
        """An integer of at most 32 bits, as a word whose lower half it is."""
        addresses = self.addresses
        if value.type.bits > 32 or (value.type.is_float and value.type.bits > 16):
            raise UnsupportedOperation("no assembly of scalars but of integers of up to 32 bits")
        operands = value.operands
        match value.operation:
            case Operation.LOAD if not operands:
                place = place_of(value)
                word = Word()
                size = {8: "byte", 16: "word", 32: "dword"}[value.type.bits]
                mnemonic = "mov" if value.type.bits == 32 else "movsx" if value.type.is_signed else "movzx"
                addresses.lines.append(Line(LOAD, word, memory=self.memory(place), text=f"{mnemonic} {{half}}, {size} ptr {{}}"))
            case Operation.CAST if value.type.bits == 32:
                word = self.scalars[id(operands[0])]
            case Operation.BITCAST if operands[0].type.lanes == 1:
                word = self.scalars[id(operands[0])]
                if operands[0].type.is_signed and not value.type.is_signed and value.type.bits < 32:
                    word = self.changed("and", operands[0], 2**value.type.bits - 1)
            case Operation.SHIFT_LEFT if isinstance(operands[1], Constant) and value.type.bits == 32:
                word = self.changed("shl", operands[0], int(operands[1].number))
            case Operation.OR if not isinstance(operands[1], Constant):
                word = self.changed("or", operands[0], self.scalars[id(operands[1])])
            case _:
                raise UnsupportedOperation(f"no assembly of {value.operation} of scalars")
        self.scalars[id(value)] = word

    def changed(self, operation: str, value: Value, by: Word | int) -> Word:
        """A word that an instruction makes of another."""
        word = Word()
        self.addresses.lines.extend([Line("mov", word, self.scalars[id(value)]), Line(operation, word, by)])
        return word

    # Operands and registers.

    def label(self) -> str:
        """A new label."""
        self.labels += 1
        return f".L{self.name}_{self.labels}"


def _argument(number: int) -> Word:
    on_stack = number - len(ARGUMENTS)
    return Word(ARGUMENTS[number]) if on_stack < 0 else Word(slot=f"rsp + {PUSHED} + {8 + 8 * on_stack}")


def _jump(mnemonic: str, label: str) -> Line:
    return Line("text", text=f"\t{mnemonic} {label}")


def _label(label: str) -> Line:
    return Line("text", text=f"{label}:")
