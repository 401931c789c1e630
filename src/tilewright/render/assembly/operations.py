"""Operations on vectors, each as its instructions."""

from __future__ import annotations

from tilewright.errors import UnsupportedOperation
from tilewright.render.assembly.lifetimes import same
from tilewright.render.assembly.registers import COMMUTATIVE, POINTERS, Registers, place_of, sign_bits
from tilewright.render.assembly.shuffles import instruction
from tilewright.render.assembly.words import Line
from tilewright.tile.operations import COMPARISONS, Operation
from tilewright.tile.passes.support import key_types
from tilewright.tile.program import Constant, Instruction, Value


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
                mnemonic, _ = self.named(f"{value.operation} by number", value.type.dtype)
                self.emit(f"{mnemonic} {target}, {register}, {int(count.number)}")
                self.give(temporary)
            case Operation.SPLAT:
                self.splat(value, to)
            case Operation.SHUFFLE:
                self.shuffle(value, to)
            case Operation.SELECT if self.wide:
                self.select(value, target)
            case Operation.NEGATE | Operation.ABSOLUTE if value.type.is_float:
                self.with_sign(value, to)
            case _:
                self.by_table(value, target)

    def by_table(self, value: Instruction, target: str) -> None:
        """An operation on one or two whole registers, by the instruction of the dialect."""
        mnemonic, number = self.named(value.operation, *key_types(value.operation, value.type, value.operands))
        for one in value.operands:
            self.check(one.type)
        if len(value.operands) == 1:
            register, temporary = self.operand(value.operands[0])
            self.emit(f"{mnemonic} {target}, {register}{number}")
            self.give(temporary)
        elif len(value.operands) == 2 and not number:
            self.binary(mnemonic, value, target)
        else:
            raise UnsupportedOperation(f"no assembly of {value.operation}")

    def comparison(self, value: Instruction) -> None:
        """A mask."""
        if not self.wide or value.operation not in COMPARISONS:
            raise UnsupportedOperation(f"no assembly of {value.operation} for {self.dialect.name}")
        left, right = value.operands
        self.check(left.type)
        mnemonic, number = self.named(value.operation, left.type.dtype)
        first, temporary = self.operand(left)
        second, other = self.operand(right)
        self.emit(f"{mnemonic} k{self.take_mask(value)}, {first}, {second}{number}")
        self.give(temporary, other)

    def select(self, value: Instruction, target: str) -> None:
        """Lanes of one vector where a mask is set, of another elsewhere."""
        mask, yes, no = value.operands
        first, temporary = self.operand(no)
        second, other = self.operand(yes)
        mnemonic, _ = self.named(Operation.SELECT, value.type.dtype)
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
            load, _ = self.named("load", f"int{bits}")
            self.emit(f"{load} {self.vector(numbers)}, {self.word} ptr [rip + {label}]")
            self.emit(f"vpermi2{'d' if bits == 32 else 'q'} {self.vector(numbers)}, {first}, {second}")
            self.emit(f"vmovaps {target}, {self.vector(numbers)}")
            self.give(numbers)
        else:
            raise UnsupportedOperation(f"no assembly of lanes {lanes} of {value.type}")
        self.give(temporary, other)

    def with_sign(self, value: Instruction, to: int) -> None:
        """A float with the other sign, or with none."""
        register, temporary = self.operand(value.operands[0])
        bits = self.temporary()
        is_sign = value.operation is Operation.NEGATE
        self.load_octets(bits, sign_bits(value.type, is_sign))
        mnemonic, _ = self.named(Operation.XOR if is_sign else Operation.AND, value.type.integer.dtype)
        self.emit(f"{mnemonic} {self.vector(to)}, {register}, {self.vector(bits)}")
        self.give(bits, temporary)

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
            self.with_total(self.named(Operation.FMA, dtype)[0], left, right, total, to)
            return
        product = self.product(value)
        first, temporary = self.operand(left)
        second, memory, other = self.last_operand(right)
        mnemonic, _ = self.named(Operation.MULTIPLY, dtype)
        self.emit(f"{mnemonic} {self.vector(product)}, {first}, {second}", memory)
        self.give(temporary, other)
        self.add(dtype, target, total, product)

    def product(self, value: Instruction) -> int:
        """A register for a product that is added next: of an operand that is needed no more, where there is one."""
        own = self.inherited(value)
        return self.temporary() if own is None else own

    def add(self, dtype: str, target: str, total: Value, product: int) -> None:
        """A sum of integers plus a product in a register that is free then."""
        register, temporary = self.operand(total)
        mnemonic, _ = self.named(Operation.ADD, dtype)
        self.emit(f"{mnemonic} {target}, {register}, {self.vector(product)}")
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
        dtypes = left.type.dtype, right.type.dtype, value.type.dtype
        if (entry := self.dialect.entry(Operation.DOT, *dtypes)) is not None:
            self.with_total(entry.mnemonic, left, right, total, to)
        elif dtypes == ("int16", "int16", "int32"):
            product = self.product(value)
            first, temporary = self.operand(left)
            second, memory, other = self.last_operand(right)
            mnemonic, _ = self.named("pair sums", "int16")
            self.emit(f"{mnemonic} {self.vector(product)}, {first}, {second}", memory)
            self.give(temporary, other)
            self.add("int32", self.vector(to), total, product)
        else:
            raise UnsupportedOperation(f"no assembly of products of {left.type} and {right.type} for {self.dialect.name}")

    def load(self, value: Instruction, target: str) -> None:
        """A vector from memory."""
        place = place_of(value)
        address = self.memory(place)
        move, _ = self.named(f"{'masked ' * bool(value.operands)}load", value.type.dtype)
        if not value.operands:
            self.emit(f"{move} {target}, {self.word} ptr {{}}", address)
        elif self.wide:
            self.emit(f"{move} {target}{{k{self.mask(value.operands[0])}}}{{z}}, {self.word} ptr {{}}", address)
        else:
            self.emit(f"{move} {target}, ymm{self.mask(value.operands[0])}, {self.word} ptr {{}}", address)

    def broadcast(self, value: Instruction, target: str) -> None:
        """Elements of a lane in all lanes."""
        mnemonic, _ = self.named("broadcast", value.type.dtype)
        self.emit(f"{mnemonic} {target}, {POINTERS[value.type.bits]} ptr {{}}", self.memory(place_of(value)))

    def splat(self, value: Instruction, to: int) -> None:
        """A scalar of 32 bits in all lanes."""
        if value.type.bits != 32 or value.type.is_float:
            raise UnsupportedOperation("no assembly of splats but of integers of 32 bits")
        word = self.scalars[id(value.operands[0])]
        mnemonic, _ = self.named("broadcast", value.type.dtype)
        if self.wide:
            self.addresses.lines.append(Line("text", word, text=f"{mnemonic} {self.vector(to)}, {{half}}"))
        else:
            self.addresses.lines.append(Line("text", word, text=f"vmovd xmm{to}, {{half}}"))
            self.emit(f"{mnemonic} {self.vector(to)}, xmm{to}")
