"""Operations on vectors, each as its instructions."""

from __future__ import annotations

from tilewright.errors import UnsupportedOperation
from tilewright.render.assembly.instructions import (
    BLENDS,
    BROADCASTS,
    COMMUTATIVE,
    COMPARISONS,
    DOTS,
    FLOAT_COMPARISONS,
    FUSED,
    INTEGER_COMPARISONS,
    LOGIC,
    PLAIN,
    PLAIN_AVX512,
    ROOTS,
    SHIFTS,
)
from tilewright.render.assembly.lifetimes import same
from tilewright.render.assembly.registers import Registers, place_of, sign_bits
from tilewright.render.assembly.shuffles import instruction
from tilewright.render.assembly.words import Line
from tilewright.tile.operations import Operation
from tilewright.tile.program import Constant, Instruction, Value
from tilewright.tile.types import BITS, Type


class Operations(Registers):
    """Writes instructions of vectors."""

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
            case Operation.SHUFFLE:
                self.shuffle(value, to)
            case Operation.SELECT if self.wide:
                self.select(value, target)
            case Operation.SQUARE_ROOT | Operation.NEGATE | Operation.ABSOLUTE if value.type.is_float:
                self.unary(value, to)
            case _:
                self.binary(self.mnemonic(value.operation, value.type), value, target)

    def comparison(self, value: Instruction) -> None:
        """A mask."""
        left, right = value.operands
        self.check(left.type)
        code = (FLOAT_COMPARISONS if left.type.is_float else INTEGER_COMPARISONS).get(value.operation)
        mnemonic = COMPARISONS.get(left.type.dtype)
        if not self.wide or code is None or mnemonic is None:
            raise UnsupportedOperation(f"no assembly of {value.operation} of {left.type}")
        first, temporary = self.operand(left)
        second, other = self.operand(right)
        self.emit(f"{mnemonic} k{self.take_mask(value)}, {first}, {second}, {code}")
        self.give(temporary, other)

    def select(self, value: Instruction, target: str) -> None:
        """Lanes of one vector where a mask is set, of another elsewhere."""
        mask, yes, no = value.operands
        first, temporary = self.operand(no)
        second, other = self.operand(yes)
        mnemonic = _found(BLENDS, value.type.bits)
        self.emit(f"{mnemonic} {target}{{k{self.mask(mask)}}}, {first}, {second}")
        self.give(temporary, other)

    def shuffle(self, value: Instruction, to: int) -> None:
        """Lanes of two vectors; where no instruction knows which, by their numbers in memory."""
        for one in value.operands:
            self.check(one.type)
        lanes, bits, target = value.detail, value.type.bits, self.vector(to)
        assert isinstance(lanes, tuple)
        (first, temporary), (second, other) = (self.operand(one) for one in (value.operands * 2)[:2])
        if (found := instruction(lanes, bits, self.dialect.vector_bits)) is not None:
            mnemonic, number = found
            self.emit(f"{mnemonic} {target}, {first}, {second}" + (f", {number}" if number is not None else ""))
        elif self.wide and bits in (32, 64) and min(lanes) >= 0:
            numbers = self.temporary()
            label = self.table(f"lanes_{'_'.join(map(str, lanes))}_", bits, lanes)
            self.emit(f"vmovdqu{bits} {self.vector(numbers)}, {self.word} ptr [rip + {label}]")
            self.emit(f"vpermi2{'d' if bits == 32 else 'q'} {self.vector(numbers)}, {first}, {second}")
            self.emit(f"vmovaps {target}, {self.vector(numbers)}")
            self.give(numbers)
        else:
            raise UnsupportedOperation(f"no assembly of lanes {lanes} of {value.type}")
        self.give(temporary, other)

    def unary(self, value: Instruction, to: int) -> None:
        """A square root, or another sign."""
        register, temporary = self.operand(value.operands[0])
        if value.operation is Operation.SQUARE_ROOT:
            self.emit(f"{_found(ROOTS, value.type.dtype)} {self.vector(to)}, {register}")
        else:
            bits = self.temporary()
            is_sign = value.operation is Operation.NEGATE
            self.load_octets(bits, sign_bits(value.type, is_sign))
            mnemonic = LOGIC[Operation.XOR if is_sign else Operation.AND] + ("d" if self.wide else "")
            self.emit(f"{mnemonic} {self.vector(to)}, {register}, {self.vector(bits)}")
            self.give(bits)
        self.give(temporary)

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
        needed = "avx512_bf16" if dtype == "bfloat16" else "avx512_vnni" if self.wide else "avx_vnni"
        if dtype == "int8" and left.type.dtype != "uint8":
            raise UnsupportedOperation("no assembly of products of signed bytes")
        if needed in self.dialect.features and (self.wide or dtype != "bfloat16"):
            self.with_total(f"{'' if self.wide else '{vex} '}{DOTS[dtype]}", left, right, total, to)
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
        place = place_of(value)
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
        self.emit(f"{_found(BROADCASTS, _signed(value.type.dtype))} {target}, {size} ptr {{}}", self.memory(place_of(value)))

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


def _signed(dtype: str) -> str:
    return dtype.removeprefix("u") if dtype.startswith("uint") else dtype


def _found(table: dict[tuple[Operation, str], str] | dict[str, str] | dict[int, str], key: object) -> str:
    found = table.get(key)  # type: ignore[call-overload]
    if found is None:
        raise UnsupportedOperation(f"no assembly of {key}")
    return str(found)
