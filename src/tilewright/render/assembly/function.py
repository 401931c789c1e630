"""A tile program as a function in assembly: straight lines and loops of whole vectors, whose values are all in registers.

Instructions stand in the order of the program. A value has a register from its instruction to its last use, a variable for as long
as it is used; nothing is spilled. A load or a broadcast that is used once, before anything is stored, is an operand in memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from tilewright.errors import UnsupportedOperation
from tilewright.render.assembly.addresses import Addresses
from tilewright.render.assembly.instructions import (
    BROADCASTS,
    COMMUTATIVE,
    DOTS,
    FUSED,
    LOGIC,
    PLAIN,
    PLAIN_AVX512,
    SHIFTS,
)
from tilewright.render.assembly.lifetimes import Lifetimes, same
from tilewright.render.assembly.text import function_text
from tilewright.render.assembly.words import ARGUMENTS, ENTER, LEAVE, LOAD, PUSHED, Line, Memory, OutOfRegisters, Word, place
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.index import IndexLike, terms_of
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
    Variable,
)
from tilewright.tile.types import BITS, Type

MASK_REGISTERS = 7
SIZES = {128: "xmmword", 256: "ymmword", 512: "zmmword"}
ZERO_IDIOMS = 16
"""Registers that a short instruction of AVX clears as a whole."""
FORMATS = {"float32": "<f", "float64": "<d"}


def assembly(program: TileProgram, dialect: Dialect, name: str = "") -> str:
    """The text of a function. Raises `UnsupportedOperation` for what C has to render: an operation that this file does not know, or
    too few registers."""
    return _Function(program, dialect, name or program.name).text()


HEAD = "\t.intel_syntax noprefix\n"
TAIL = '\t.section .note.GNU-stack,"",@progbits\n'


def unit(functions: Iterable[str]) -> str:
    """A file for the assembler."""
    return "".join((HEAD, *functions, TAIL))


class _Function:
    def __init__(self, program: TileProgram, dialect: Dialect, name: str) -> None:
        if dialect.vector_bits not in SIZES or program.result is not None or program.tables:
            raise UnsupportedOperation(f"no assembly of {program.name} for {dialect.name}")
        self.program, self.dialect, self.name = program, dialect, name
        self.wide = dialect.vector_bits == 512
        self.letter = "z" if self.wide else "y"
        self.word = SIZES[dialect.vector_bits]
        self.lifetimes = Lifetimes(program)
        self.addresses = Addresses(program)
        self.free = list(range(dialect.registers - 1, -1, -1))
        self.free_masks = list(range(MASK_REGISTERS, 0, -1))
        self.registers: dict[int, int] = {}
        """Of vectors, by identity; of masks where these are k registers, too."""
        self.masks: dict[int, int] = {}
        self.scalars: dict[int, Word] = {}
        self.expiring: dict[int, list[int]] = {}
        """Values by the number of the statement that needs them last."""
        self.tables: dict[str, str] = {}
        self.labels = 0

    def text(self) -> str:
        """All of it."""
        self.arguments()
        self.block(self.program.body)
        (frame,) = self.addresses.frames
        frame_bytes = place(frame.lines)
        return function_text(self.name, frame.lines, self.addresses.arguments, frame_bytes, self.table_text())

    def arguments(self) -> None:
        """The first six arrive in registers, the others on the stack, behind what is pushed."""
        for number, parameter in enumerate(self.program.parameters):
            if not isinstance(parameter, str | Buffer):
                raise UnsupportedOperation("no assembly of a program that takes scalars")
            name = parameter.name if isinstance(parameter, Buffer) else parameter
            on_stack = number - len(ARGUMENTS)
            word = Word(ARGUMENTS[number]) if on_stack < 0 else Word(slot=f"rsp + {PUSHED} + {8 + 8 * on_stack}")
            self.addresses.argument(name, word)

    def emit(self, text: str, memory: Memory | None = None) -> None:
        """An instruction of vectors."""
        self.addresses.lines.append(Line("text", memory=memory, text=text if memory is not None else f"\t{text}"))

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

    def expire(self, number: int) -> None:
        """Registers of values that no later statement needs are free."""
        for value in self.expiring.pop(number, ()):
            if value in self.registers:
                self.free.append(self.registers.pop(value))
            elif value in self.masks:
                self.free_masks.append(self.masks.pop(value))

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
        addresses.lines.extend([_jump("jmp", end), _label(otherwise), *no.lines, _label(end)] if no.lines else [_label(otherwise)])

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
        indices = [one for one in statement.operands if not isinstance(one, Value)]
        if len(indices) != len(statement.operands):
            raise UnsupportedOperation("no assembly of integers of values")
        if statement.operation is IntegerOperation.CHOOSE:
            condition, yes, no = indices
            given = addresses.word(yes)
            to = addresses.word(no)
            test = addresses.value(condition)
            addresses.lines.append(Line("cmp", test if isinstance(test, Word) else addresses.word(condition), 0))
            addresses.lines.append(Line("choose", to, given, text="ne"))
        else:
            to = self.of_two(statement.operation, *indices)
        addresses.define(statement.name, to)

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
        move = ("vmovntps" if statement.is_streamed else self.move_of(value.type)) if statement.mask is None else ""
        if move:
            self.emit(f"{move} {self.word} ptr {{}}, {register}", to)
        elif self.wide:
            self.emit(f"{self.move_of(value.type)} {self.word} ptr {{}}{{k{self.mask(statement.mask)}}}, {register}", to)
        else:
            self.emit(f"{self.masked_of(value.type)} {self.word} ptr {{}}, ymm{self.mask(statement.mask)}, {register}", to)
        self.give(temporary)

    # Instructions.

    def instruction(self, value: Instruction, following: Statement | None) -> bool:
        """An instruction; where a variable gets its value next, in that one's register."""
        is_scalar = value.type.lanes == 1 and not value.type.is_mask
        if (value.operation is Operation.BITCAST and not is_scalar) or (value.operation in _MEMORY and self.is_folded(value)):
            return False
        if is_scalar:
            self.scalar(value)
            return False
        if value.operation is Operation.PREFIX:
            self.prefix(value)
            return False
        self.check(value.type)
        goes_into = isinstance(following, Assign) and following.value is value and self.lifetimes.uses[id(value)] == 1
        if goes_into:
            assert isinstance(following, Assign)
            self.compute(value, self.registers[id(following.variable)])
        elif id(value) in self.lifetimes.uses:
            self.compute(value, self.take(value, register=self.inherited(value) if len(value.operands) <= _MOST_INHERITED else None))
        return goes_into

    def inherited(self, value: Instruction) -> int | None:
        """The register of an operand that is needed no more, which the result may have."""
        number = self.lifetimes.numbers[id(value)]
        for operand in value.operands:
            found = same(operand)
            if id(found) in self.registers and self.lifetimes.last.get(id(found)) == number and isinstance(found, Instruction):
                self.expiring[number].remove(id(found))
                return self.registers[id(found)]
        return None

    def compute(self, value: Instruction, to: int) -> None:
        """A vector in a register."""
        target = self.vector(to)
        match value.operation:
            case Operation.LOAD:
                self.load(value, target)
            case Operation.BROADCAST:
                self.broadcast(value, target)
            case Operation.FMA | Operation.MULTIPLY_ADD:
                self.multiply_add(value, to)
            case Operation.DOT:
                self.dot(value, to)
            case Operation.SHIFT_LEFT | Operation.SHIFT_RIGHT:
                left, count = value.operands
                if not isinstance(count, Constant):
                    raise UnsupportedOperation("no assembly of shifts by values")
                register, temporary = self.operand(left)
                self.emit(f"{_found(SHIFTS, (value.operation, value.type.dtype))} {target}, {register}, {int(count.number)}")
                self.give(temporary)
            case Operation.AND | Operation.OR | Operation.XOR:
                self.binary(LOGIC[value.operation] + ("d" if self.wide else ""), value, target)
            case Operation.SPLAT:
                self.splat(value, to)
            case _:
                self.binary(self.mnemonic(value.operation, value.type), value, target)

    def mnemonic(self, operation: Operation, value_type: Type) -> str:
        """Of an instruction of two operands."""
        key = operation, value_type.dtype.removeprefix("u") if value_type.dtype.startswith("u") else value_type.dtype
        if value_type.dtype.startswith("u") and operation in (Operation.SMALLER, Operation.LARGER):
            raise UnsupportedOperation("no assembly of bounds of unsigned integers")
        if self.wide and key in PLAIN_AVX512:
            return PLAIN_AVX512[key]
        return _found(PLAIN, key)

    def binary(self, mnemonic: str, value: Instruction, target: str) -> None:
        """An instruction of two operands."""
        left, right = value.operands
        if value.operation in COMMUTATIVE and self.is_folded_value(left) and not self.is_folded_value(right):
            left, right = right, left
        first, temporary = self.operand(left)
        second, memory, other = self.last_operand(right)
        self.emit(f"{mnemonic} {target}, {first}, {second}", memory)
        self.give(temporary, other)

    def multiply_add(self, value: Instruction, to: int) -> None:
        """One instruction for floats; integers are multiplied, then added."""
        left, right, total = value.operands
        if self.is_folded_value(left):
            left, right = right, left
        target, dtype = self.vector(to), value.type.dtype
        if value.type.is_float:
            if value.operation is Operation.MULTIPLY_ADD and not self.dialect.fuses:
                raise UnsupportedOperation("no assembly of sums that are not fused")
            self.with_total(_found(FUSED, dtype), left, right, total, to)
            return
        product = self.product(value)
        first, temporary = self.operand(left)
        second, memory, other = self.last_operand(right)
        self.emit(f"{self.mnemonic(Operation.MULTIPLY, value.type)} {self.vector(product)}, {first}, {second}", memory)
        self.give(temporary, other)
        self.add(dtype, target, total, product)

    def product(self, value: Instruction) -> int:
        """A register for a product that is added next: of an operand that is needed no more, where there is one."""
        own = self.inherited(value)
        return self.temporary() if own is None else own

    def add(self, dtype: str, target: str, total: Value, product: int) -> None:
        """A sum of integers plus a product in a register that is free then."""
        register, temporary = self.operand(total)
        self.emit(f"{'vpaddq' if BITS[dtype] == 64 else 'vpaddd'} {target}, {register}, {self.vector(product)}")
        self.give(temporary, product)

    def with_total(self, mnemonic: str, left: Value, right: Value, total: Value, to: int) -> None:
        """An instruction that adds to its first operand."""
        target = self.vector(to)
        is_operand = any(self.registers.get(id(same(one))) == to for one in (left, right))
        own = self.registers.get(id(same(total)))
        into = self.temporary() if is_operand and own != to else to
        if own != into:
            self.move(into, total)
        first, temporary = self.operand(left)
        second, memory, other = self.last_operand(right)
        self.emit(f"{mnemonic} {self.vector(into)}, {first}, {second}", memory)
        self.give(temporary, other)
        if into != to:
            self.emit(f"vmovaps {target}, {self.vector(into)}")
            self.give(into)

    def dot(self, value: Instruction, to: int) -> None:
        """Groups of steps: by one instruction where the dialect has it, else pairs of 16 bits are multiplied, then added."""
        left, right, total = value.operands
        if left.type.bits == 8 and right.type.dtype == "uint8":
            left, right = right, left
        dtype = right.type.dtype
        needed = {"int16": "avx512_vnni", "int8": "avx512_vnni", "bfloat16": "avx512_bf16"}.get(dtype, "")
        if dtype == "int8" and left.type.dtype != "uint8":
            raise UnsupportedOperation("no assembly of products of signed bytes")
        if needed in self.dialect.features and self.wide:
            self.with_total(DOTS[dtype], left, right, total, to)
        elif dtype == "int16" and left.type.dtype == "int16":
            product = self.product(value)
            first, temporary = self.operand(left)
            second, memory, other = self.last_operand(right)
            self.emit(f"vpmaddwd {self.vector(product)}, {first}, {second}", memory)
            self.give(temporary, other)
            self.add("int32", self.vector(to), total, product)
        else:
            raise UnsupportedOperation(f"no assembly of products of {dtype} for {self.dialect.name}")

    def load(self, value: Instruction, target: str) -> None:
        """A vector from memory."""
        place = _place(value)
        address = self.memory(place)
        if not value.operands:
            self.emit(f"{self.move_of(value.type)} {target}, {self.word} ptr {{}}", address)
        elif self.wide:
            mask = self.mask(value.operands[0])
            self.emit(f"{self.move_of(value.type)} {target}{{k{mask}}}{{z}}, {self.word} ptr {{}}", address)
        else:
            mask = self.mask(value.operands[0])
            self.emit(f"{self.masked_of(value.type)} {target}, ymm{mask}, {self.word} ptr {{}}", address)

    def broadcast(self, value: Instruction, target: str) -> None:
        """Elements of a lane in all lanes."""
        size = "qword" if value.type.bits == 64 else "dword"
        self.emit(f"{_found(BROADCASTS, _signed(value.type.dtype))} {target}, {size} ptr {{}}", self.memory(_place(value)))

    def splat(self, value: Instruction, to: int) -> None:
        """A scalar of 32 bits in all lanes."""
        if value.type.bits != 32 or value.type.is_float:
            raise UnsupportedOperation("no assembly of splats but of integers of 32 bits")
        word = self.scalars[id(value.operands[0])]
        if self.wide:
            self.addresses.lines.append(Line("text", word, text=f"vpbroadcastd {self.vector(to)}, {{half}}"))
        else:
            self.addresses.lines.append(Line("text", word, text=f"vmovd xmm{to}, {{half}}"))
            self.emit(f"vpbroadcastd {self.vector(to)}, xmm{to}")

    def prefix(self, value: Instruction) -> None:
        """A mask of the first lanes: of all at most, of none for what is below 0."""
        lanes, index = value.type.lanes, value.detail
        assert not isinstance(index, tuple | Place | TileProgram | Operation | None)
        addresses = self.addresses
        count = self.of_two(IntegerOperation.MINIMUM, index, lanes)
        addresses.define("", count)
        none = addresses.word(0)
        addresses.lines.extend([Line("cmp", count, 0), Line("choose", count, none, text="l")])
        addresses.home.pop("")
        addresses.integers.pop("")
        if self.wide:
            if lanes > 16 or not self.free_masks:
                raise OutOfRegisters("no assembly of masks of so many lanes")
            ones = addresses.word(-1)
            register = self.masks[id(value)] = self.free_masks.pop()
            addresses.lines.append(Line("shift ones", ones, count))
            addresses.lines.append(Line("text", ones, text=f"kmovw k{register}, {{half}}"))
            self.expiring.setdefault(self.lifetimes.last[id(value)], []).append(id(value))
            return
        to = self.take(value)
        bits = value.type.bits
        if bits not in (32, 64):
            raise UnsupportedOperation("no assembly of masks of short lanes")
        letter = "d" if bits == 32 else "q"
        self.table("iota", bits, range(lanes))
        addresses.lines.append(Line("text", count, text=f"vmovd xmm{to}, {{half}}"))
        self.emit(f"vpbroadcast{letter} ymm{to}, xmm{to}")
        self.emit(f"vpcmpgt{letter} ymm{to}, ymm{to}, ymmword ptr [rip + .L{self.name}_iota{bits}]")

    def scalar(self, value: Instruction) -> None:
        """An integer of at most 32 bits, as a word whose lower half it is."""
        addresses = self.addresses
        if value.type.bits > 32 or (value.type.is_float and value.type.bits > 16):
            raise UnsupportedOperation("no assembly of scalars but of integers of up to 32 bits")
        operands = value.operands
        match value.operation:
            case Operation.LOAD if not operands:
                place = _place(value)
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

    def check(self, value_type: Type) -> None:
        """Raise for what is no whole register."""
        if value_type.size_bits != self.dialect.vector_bits or value_type.rows != 1:
            raise UnsupportedOperation(f"no assembly of {value_type} for {self.dialect.name}")

    def vector(self, register: int) -> str:
        """The name of a register."""
        return f"{self.letter}mm{register}"

    def take(self, value: Value, last: int | None = None, register: int | None = None) -> int:
        """The register of a value, until its last use."""
        register = self.registers[id(value)] = self.temporary() if register is None else register
        self.expiring.setdefault(self.lifetimes.last[id(value)] if last is None else last, []).append(id(value))
        return register

    def temporary(self) -> int:
        """A free register."""
        if not self.free:
            raise OutOfRegisters(f"{self.program.name} has more values than {self.dialect.name} has registers")
        return self.free.pop()

    def give(self, *registers: int | None) -> None:
        """Registers are free again."""
        self.free.extend(register for register in registers if register is not None)

    def is_folded_value(self, value: Value) -> bool:
        """Whether an operand is read from memory by its user."""
        found = same(value)
        return isinstance(found, Instruction) and found.operation in _MEMORY and self.is_folded(found)

    def is_folded(self, value: Instruction) -> bool:
        """Whether a load or a broadcast is an operand of the instruction that uses it."""
        if value.type.lanes == 1 or (value.operation is Operation.LOAD and value.operands) or not self.lifetimes.folds(value):
            return False
        user, position = self.lifetimes.user[id(value)]
        if value.operation is Operation.BROADCAST and not (self.wide and user.type.bits >= 32):
            return False
        return position == _memory_position(user, self)

    def operand(self, value: Value) -> tuple[str, int | None]:
        """The register of an operand, and if it holds a constant for now, its number."""
        found = same(value)
        if id(found) in self.registers:
            return self.vector(self.registers[id(found)]), None
        if isinstance(found, Constant):
            register = self.temporary()
            self.load_constant(register, found)
            return self.vector(register), register
        if isinstance(found, Instruction) and found.operation in _MEMORY:
            register = self.temporary()
            self.compute(found, register)
            return self.vector(register), register
        raise UnsupportedOperation("no assembly of this operand")

    def last_operand(self, value: Value) -> tuple[str, Memory | None, int | None]:
        """The operand that may lie in memory: its text, its address if it does, else a register to give back."""
        found = same(value)
        if not self.is_folded_value(found):
            text, temporary = self.operand(value)
            return text, None, temporary
        assert isinstance(found, Instruction)
        memory = self.memory(_place(found))
        if found.operation is Operation.LOAD:
            return f"{self.word} ptr {{}}", memory, None
        size = "qword" if found.type.bits == 64 else "dword"
        return f"{size} ptr {{}}{{1to{self.dialect.vector_bits // found.type.bits}}}", memory, None

    def move(self, to: int, value: Value) -> None:
        """A register gets a value."""
        found = same(value)
        if isinstance(found, Constant):
            self.load_constant(to, found)
            return
        register, temporary = self.operand(value)
        if register != self.vector(to):
            self.emit(f"vmovaps {self.vector(to)}, {register}")
        self.give(temporary)

    def load_constant(self, to: int, constant: Constant) -> None:
        """A number in all lanes."""
        self.check(constant.type)
        octets = _octets(constant)
        if not any(octets):
            short = to < ZERO_IDIOMS
            name = f"xmm{to}" if short else self.vector(to)
            self.emit(f"vpxor {name}, {name}, {name}" if short else f"vpxord {name}, {name}, {name}")
            return
        label = f".L{self.name}_{octets.hex()}"
        self.tables[label] = f"\t.p2align 3\n{label}:\n\t.byte {', '.join(map(str, octets))}"
        self.emit(f"vpbroadcastq {self.vector(to)}, qword ptr [rip + {label}]")

    def table(self, name: str, bits: int, values: Iterable[int]) -> None:
        """Numbers in memory."""
        label = f".L{self.name}_{name}{bits}"
        kind = "long" if bits == 32 else "quad"
        self.tables[label] = f"\t.p2align 5\n{label}:\n\t.{kind} {', '.join(map(str, values))}"

    def table_text(self) -> list[str]:
        """All constants in memory."""
        return ["\t.section .rodata", *self.tables.values()] if self.tables else []

    def mask(self, value: Value | None) -> int:
        """The register of a mask."""
        assert value is not None
        found = (self.masks if self.wide else self.registers).get(id(value))
        if found is None:
            raise UnsupportedOperation("no assembly of this mask")
        return found

    def memory(self, place: Place) -> Memory:
        """The address of lanes side by side."""
        if place.stride != 1 or place.row != 0:
            raise UnsupportedOperation("no assembly of lanes at a stride")
        return self.addresses.memory(place.buffer, place.index)

    def move_of(self, value_type: Type) -> str:
        """The instruction that loads or stores a vector, under a mask of its lanes, too."""
        by_type = {"float32": "vmovups", "float64": "vmovupd"}
        if value_type.dtype in by_type:
            return by_type[value_type.dtype]
        return f"vmovdqu{value_type.bits if value_type.bits >= 32 else 32}" if self.wide else "vmovdqu"

    def masked_of(self, value_type: Type) -> str:
        """The same for AVX2, under a mask."""
        return "vmaskmovps" if value_type.bits == 32 else "vmaskmovpd"

    def label(self) -> str:
        """A new label."""
        self.labels += 1
        return f".L{self.name}_{self.labels}"


_MOST_INHERITED = 2
_MEMORY = (Operation.LOAD, Operation.BROADCAST)
_THREE = (Operation.FMA, Operation.MULTIPLY_ADD, Operation.DOT)


def _memory_position(user: Instruction, function: _Function) -> int:
    """The operand of an instruction that may lie in memory, at most one; -1 for none."""
    folding = [
        position
        for position, operand in enumerate(user.operands)
        if isinstance(one := same(operand), Instruction) and one.operation in _MEMORY and not (one.operation is Operation.LOAD and one.operands)
    ]
    if user.operation in (Operation.FMA, Operation.MULTIPLY_ADD) or user.operation in COMMUTATIVE:
        possible = (1, 0)
    elif user.operation is Operation.DOT:
        possible = (0,) if user.operands[1].type.dtype == "uint8" else (1,)
    elif user.operation in (Operation.SUBTRACT, Operation.DIVIDE, Operation.SMALLER, Operation.LARGER, Operation.AND, Operation.OR):
        possible = (1,)
    else:
        return -1
    for position in possible:
        if position in folding and function.lifetimes.folds(_instruction(user.operands[position])):
            return position
    return -1


def _instruction(value: Value) -> Instruction:
    found = same(value)
    assert isinstance(found, Instruction)
    return found


def _place(value: Instruction) -> Place:
    assert isinstance(value.detail, Place)
    return value.detail


def _signed(dtype: str) -> str:
    return dtype.removeprefix("u") if dtype.startswith("uint") else dtype


def _octets(constant: Constant) -> bytes:
    """Eight bytes of lanes with a number."""
    dtype, size = constant.type.dtype, constant.type.bits // 8
    if dtype in FORMATS:
        lane = struct.pack(FORMATS[dtype], constant.number)
    elif constant.type.is_float or constant.type.is_mask:
        raise UnsupportedOperation(f"no assembly of constants of {dtype}")
    else:
        lane = (int(constant.number) % 2 ** (8 * size)).to_bytes(size, "little")
    return lane * (8 // size)


def _found(table: dict[tuple[Operation, str], str] | dict[str, str], key: object) -> str:
    found = table.get(key)  # type: ignore[call-overload]
    if found is None:
        raise UnsupportedOperation(f"no assembly of {key}")
    return str(found)


def _jump(mnemonic: str, label: str) -> Line:
    return Line("text", text=f"\t{mnemonic} {label}")


def _label(label: str) -> Line:
    return Line("text", text=f"{label}:")


