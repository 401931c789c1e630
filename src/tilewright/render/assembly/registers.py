"""Registers of vectors and masks, and operands: in a register, or in memory where one instruction alone uses what is loaded."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable

from tilewright.errors import UnsupportedOperation
from tilewright.render.assembly.addresses import Addresses
from tilewright.render.assembly.lifetimes import Lifetimes, same
from tilewright.render.assembly.words import Line, Memory, OutOfRegisters, Word
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.operations import Operation
from tilewright.tile.program import Constant, Instruction, Place, TileProgram, Value
from tilewright.tile.types import Type

MASK_REGISTERS = 7
FEATURES = (frozenset({"avx2", "fma"}), frozenset({"avx512f"}))
"""Of dialects with fused multiply-adds whose instructions are known here: one of these."""
SIZES = {256: "ymmword", 512: "zmmword"}
ZERO_IDIOMS = 16
"""Registers that a short instruction of AVX clears as a whole."""
FORMATS = {"float32": "<f", "float64": "<d"}
MEMORY = (Operation.LOAD, Operation.BROADCAST)
COMMUTATIVE = frozenset((Operation.ADD, Operation.MULTIPLY))
LAST_OPERAND = frozenset((Operation.SUBTRACT, Operation.DIVIDE, Operation.SMALLER, Operation.LARGER, Operation.AND, Operation.OR))
"""Whose last operand may lie in memory."""
POINTERS = {8: "byte", 16: "word", 32: "dword", 64: "qword"}
"""What an element in memory is called, by its bits."""


class Registers(ABC):
    """Which value lies where, while a program is written."""

    def __init__(self, program: TileProgram, dialect: Dialect, name: str) -> None:
        """Raises `UnsupportedOperation` for programs of no dialect of x86, for functions of values, and for tables of numbers."""
        is_known = any(features <= dialect.features for features in FEATURES)
        if not is_known or program.result is not None or any(table.values is not None for table in program.tables):
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

    def check(self, value_type: Type) -> None:
        """Raise for what is no whole register."""
        if value_type.size_bits != self.dialect.vector_bits or value_type.rows != 1:
            raise UnsupportedOperation(f"no assembly of {value_type} for {self.dialect.name}")

    def named(self, operation: str, *dtypes: str) -> tuple[str, str]:
        """The instruction of the dialect's table, and its immediate operand as the last one."""
        entry = self.dialect.entry(operation, *dtypes)
        if entry is None or not entry.mnemonic:
            raise UnsupportedOperation(f"no assembly of {operation} of {', '.join(dtypes)} for {self.dialect.name}")
        mnemonic, has_number, number = entry.mnemonic.rstrip(",").partition(" $")
        return mnemonic, f", {number}" if has_number else ""

    def vector(self, register: int) -> str:
        """The name of a register."""
        return f"{self.letter}mm{register}"

    @abstractmethod
    def compute(self, value: Instruction, to: int) -> None:
        """A vector in a register."""

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

    def expire(self, number: int) -> None:
        """Registers of values that no later statement needs are free."""
        for value in self.expiring.pop(number, ()):
            if value in self.registers:
                self.free.append(self.registers.pop(value))
            elif value in self.masks:
                self.free_masks.append(self.masks.pop(value))

    def inherited(self, value: Instruction) -> int | None:
        """The register of an operand that is needed no more, which the result may have."""
        number = self.lifetimes.numbers[id(value)]
        for operand in value.operands:
            found = same(operand)
            if id(found) in self.registers and self.lifetimes.last.get(id(found)) == number and not isinstance(found, Constant):
                self.expiring[number].remove(id(found))
                return self.registers[id(found)]
        return None

    def is_folded_value(self, value: Value) -> bool:
        """Whether an operand is read from memory by its user."""
        found = same(value)
        return isinstance(found, Instruction) and found.operation in MEMORY and self.is_folded(found)

    def is_folded(self, value: Instruction) -> bool:
        """Whether a load or a broadcast is an operand of the instruction that uses it."""
        if value.type.lanes == 1 or (value.operation is Operation.LOAD and value.operands) or not self.lifetimes.folds(value):
            return False
        user, position = self.lifetimes.user[id(value)]
        if value.operation is Operation.BROADCAST and not (self.wide and user.type.bits >= 32):
            return False
        return position == _memory_position(user, self.lifetimes)

    def operand(self, value: Value) -> tuple[str, int | None]:
        """The register of an operand, and if it holds a constant for now, its number."""
        found = same(value)
        if id(found) in self.registers:
            return self.vector(self.registers[id(found)]), None
        if isinstance(found, Constant):
            register = self.temporary()
            self.load_constant(register, found)
            return self.vector(register), register
        if isinstance(found, Instruction) and found.operation in MEMORY:
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
        memory = self.memory(place_of(found))
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
        self.load_octets(to, _octets(constant))

    def load_octets(self, to: int, octets: bytes) -> None:
        """Eight bytes, over and over."""
        if not any(octets):
            short = to < ZERO_IDIOMS
            name = f"xmm{to}" if short else self.vector(to)
            self.emit(f"vpxor {name}, {name}, {name}" if short else f"vpxord {name}, {name}, {name}")
            return
        label = f".L{self.name}_{octets.hex()}"
        self.tables[label] = f"\t.p2align 3\n{label}:\n\t.byte {', '.join(map(str, octets))}"
        self.emit(f"vpbroadcastq {self.vector(to)}, qword ptr [rip + {label}]")

    def table(self, name: str, bits: int, values: Iterable[int]) -> str:
        """Numbers in memory: their label."""
        label = f".L{self.name}_{name}{bits}"
        kind = "long" if bits == 32 else "quad"
        self.tables[label] = f"\t.p2align 5\n{label}:\n\t.{kind} {', '.join(map(str, values))}"
        return label

    def table_text(self) -> list[str]:
        """All constants in memory."""
        return ["\t.section .rodata", *self.tables.values()] if self.tables else []

    def take_mask(self, value: Value) -> int:
        """The mask register of a value, until its last use."""
        if not self.free_masks:
            raise OutOfRegisters(f"{self.program.name} has more masks than there are registers")
        register = self.masks[id(value)] = self.free_masks.pop()
        self.expiring.setdefault(self.lifetimes.last[id(value)], []).append(id(value))
        return register

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

    def emit(self, text: str, memory: Memory | None = None) -> None:
        """An instruction of vectors."""
        self.addresses.lines.append(Line("text", memory=memory, text=text if memory is not None else f"\t{text}"))


def _memory_position(user: Instruction, lifetimes: Lifetimes) -> int:
    """The operand of an instruction that may lie in memory, at most one; -1 for none."""
    folding = [
        position
        for position, operand in enumerate(user.operands)
        if isinstance(one := same(operand), Instruction) and one.operation in MEMORY and not one.operands
    ]
    possible: tuple[int, ...]
    if user.operation in (Operation.FMA, Operation.MULTIPLY_ADD) or user.operation in COMMUTATIVE:
        possible = (1, 0)
    elif user.operation is Operation.DOT:
        possible = (0,) if user.operands[1].type.dtype == "uint8" else (1,)
    elif user.operation in LAST_OPERAND:
        possible = (1,)
    else:
        return -1
    for position in possible:
        if position in folding and lifetimes.folds(_instruction(user.operands[position])):
            return position
    return -1


def _instruction(value: Value) -> Instruction:
    found = same(value)
    assert isinstance(found, Instruction)
    return found


def place_of(value: Instruction) -> Place:
    assert isinstance(value.detail, Place)
    return value.detail


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


def sign_bits(value_type: Type, is_sign: bool) -> bytes:
    """Eight bytes of floats with the sign alone, or with all but that."""
    size = value_type.bits // 8
    sign = 1 << (value_type.bits - 1)
    return (sign if is_sign else sign - 1).to_bytes(size, "little") * (8 // size)
