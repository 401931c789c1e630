"""C types, literals and the definitions that a text needs in front of it."""

from __future__ import annotations

import math
import struct

from tilewright.errors import InternalError
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.index import IndexLike, terms_of
from tilewright.tile.types import FLOATS, Type, vector

SCALARS = {
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "float16": "unsigned short",
    "bfloat16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned",
    "int64": "long",
    "uint64": "unsigned long",
    "float32": "float",
    "float64": "double",
}
"""Elements in memory, and values of one lane; what C has no type for is bits."""
STORED_AS = {"float16": "uint16", "bfloat16": "uint16"}
SHORTEST = vector("int64", 2)
"""As long as the shortest vector in C: narrower values leave its upper lanes undefined."""
REGISTERS = {"aarch64": "w", "ppc64le": "wa"}
"""Constraints of inline assembly on vectors; on x86 they depend on how many registers there are."""
MASK_REGISTERS = {8: "unsigned char", 16: "unsigned short", 32: "unsigned", 64: "unsigned long"}


class Vocabulary:
    """What texts of one file have in common: definitions by name, in the order in which they are needed."""

    def __init__(self, dialect: Dialect) -> None:
        """Nothing defined."""
        self.dialect = dialect
        self.definitions: dict[str, str] = {}
        self._types: dict[Type, str] = {}

    def text(self) -> str:
        """All definitions."""
        return "".join(f"{text}\n" for text in self.definitions.values())

    def define(self, name: str, text: str) -> str:
        """The name, defined once."""
        if name not in self.definitions:
            self.definitions[name] = text
        return name

    def type(self, t: Type) -> str:
        """The C type of a value."""
        found = self._types.get(t)
        if found is None:
            found = self._types[t] = self._type(t)
        return found

    def _type(self, t: Type) -> str:
        if t.rows > 1:
            raise InternalError(f"C has no register tiles: {t}")
        if t.is_mask:
            if t.lanes == 1:
                return "int"
            return MASK_REGISTERS[max(8, register_lanes(t))] if self.is_mask_register(t) else self.type(t.integer)
        if t.lanes == 1:
            return SCALARS[t.dtype]
        return self.vector_type(STORED_AS.get(t.dtype, t.dtype), register_lanes(t))

    def vector_type(self, dtype: str, lanes: int) -> str:
        """A vector and, as `name_u`, the same in memory, wherever it lies and whatever type it has there."""
        name = f"{dtype}x{lanes}"
        if name not in self.definitions:
            size = f"vector_size({vector(dtype, lanes).size_bits // 8})"
            c = SCALARS[dtype]
            self.definitions[name] = (
                f"typedef {c} {name} __attribute__(({size}));\n"
                f"typedef {c} {name}_u __attribute__(({size}, aligned(1), may_alias));"
            )
        return name

    def element_type(self, dtype: str) -> str:
        """An element in memory, wherever it lies and whatever type it has there."""
        kind = STORED_AS.get(dtype, dtype)
        return self.define(f"{kind}_u", f"typedef {SCALARS[kind]} {kind}_u __attribute__((aligned(1), may_alias));")

    def is_mask_register(self, t: Type) -> bool:
        """Whether a mask lies in a mask register."""
        return self.dialect.has_mask_registers and t.is_mask and t.lanes > 1

    @property
    def is_x86(self) -> bool:
        """Whether registers are those of x86."""
        return self.dialect.architecture == "x86_64"

    def keep(self, t: Type) -> str:
        """A macro that keeps a vector in a register."""
        if self.is_x86 or self.dialect.architecture in REGISTERS:
            letter = self.constraint(t)
            return self.define(f"keep_{letter}", f'#define keep_{letter}(v) __asm__("" : "+{letter}"(v))')
        letters = {"x86_64": "x", "aarch64": "w", "powerpc64": "wa"}
        lines = [
            f'#{"el" * bool(number)}if defined(__{machine}__)\n#define keep(v) __asm__("" : "+{letter}"(v))'
            for number, (machine, letter) in enumerate(letters.items())
        ]
        return self.define("keep", "\n".join([*lines, "#else\n#define keep(v) ((void)0)\n#endif"]))

    @property
    def has_many_registers(self) -> bool:
        """More than 16: with so few, Clang does not find room for two broadcasts at a time that it is told to keep."""
        return self.dialect.registers > 16

    def constraint(self, t: Type) -> str:
        """Where inline assembly of this dialect has a value."""
        if self.is_mask_register(t):
            return "k"
        return REGISTERS.get(self.dialect.architecture) or ("v" if self.has_many_registers else "x")


def physical_lanes(lanes: int) -> int:
    """The next power of two."""
    return 1 << (lanes - 1).bit_length()


def register_lanes(t: Type) -> int:
    """Lanes of the C vector that holds a value."""
    return max(physical_lanes(t.lanes), SHORTEST.size_bits // t.bits)


def all_lanes(t: Type) -> str:
    """A mask register whose lanes are all set."""
    return f"0x{(1 << t.lanes) - 1:x}{'UL' if t.lanes > 32 else ''}"


def literal(number: float, dtype: str) -> str:
    """A number of an element type; in parentheses where it has a sign.

    >>> literal(-1, "int8"), literal(300, "uint8"), literal(0.1, "float32"), literal(1, "bfloat16"), literal(-(2**63), "int64")
    ('(-1)', '44', '0x1.99999ap-4f', '16256', '(-9223372036854775807L - 1)')
    """
    if dtype in STORED_AS:
        return str(_half_bits(float(number), dtype))
    if dtype in FLOATS:
        return _float_literal(float(number), dtype)
    return _integer_literal(int(number), vector(dtype))


def _integer_literal(number: int, t: Type) -> str:
    number &= (1 << t.bits) - 1
    if t.is_signed and number >> t.bits - 1:
        number -= 1 << t.bits
        if number == -(1 << t.bits - 1) and t.bits >= 32:
            return f"({number + 1}{'L' if t.bits == 64 else ''} - 1)"
    suffix = ("" if t.is_signed or t.bits < 32 else "U") + ("L" if t.bits == 64 else "")
    return f"({number}{suffix})" if number < 0 else f"{number}{suffix}"


def _float_literal(number: float, dtype: str) -> str:
    f = "f" if dtype == "float32" else ""
    if f:
        number = rounded_to_float32(number)
    if math.isnan(number):
        return f'__builtin_nan{f}("")'
    if math.isinf(number):
        return f"({'-' * (number < 0)}__builtin_inf{f}())"
    digits, power = number.hex().split("p")
    text = f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}p{int(power)}{f}"
    return f"({text})" if text.startswith("-") else text


def rounded_to_float32(number: float) -> float:
    """The nearest float32.

    >>> rounded_to_float32(1e39), rounded_to_float32(0.5)
    (inf, 0.5)
    """
    try:
        found: float = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)
    return found


def _half_bits(number: float, dtype: str) -> int:
    """Those of the nearest float16, or bfloat16."""
    if dtype == "float16":
        try:
            found: int = struct.unpack("H", struct.pack("e", number))[0]
        except OverflowError:
            return 0xFC00 if number < 0 else 0x7C00
        return found
    if math.isnan(number):
        return 0x7FC0
    near = rounded_to_float32(number)
    bits: int = struct.unpack("I", struct.pack("f", near))[0]
    if abs(near) != abs(number) and math.isfinite(near) and not bits & 1:
        bits += 1 if abs(near) < abs(number) else -1
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) & 0xFFFF


def index_text(index: IndexLike, names: dict[str, str]) -> str:
    """A polynomial as an expression of long integers.

    >>> from tilewright.tile.index import named
    >>> index_text(named("i") * 4 - named("n") + 3, {"i": "t_i"})
    '-n + 4 * t_i + 3'
    """
    parts = []
    for factors, factor in reversed(terms_of(index)):
        size = [str(abs(factor)) + ("L" if abs(factor) > 1 << 30 else "")] if abs(factor) != 1 or not factors else []
        parts.append((factor < 0, " * ".join([*size, *[names.get(name, name) for name in factors]])))
    if not parts:
        return "0"
    first = ("-" if parts[0][0] else "") + parts[0][1]
    return first + "".join(f" {'-' if is_negative else '+'} {text}" for is_negative, text in parts[1:])
