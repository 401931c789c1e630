"""What a step of a product is, by the types of its operands: how lanes are read, and what adds products to sums."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from tilewright.records import record
from tilewright.tile.builder import Builder
from tilewright.tile.operations import Operation
from tilewright.tile.program import Value
from tilewright.tile.types import BITS, Type, vector

WORD_BITS = 32
Parts: TypeAlias = Callable[[Builder, Value], tuple[Value, ...]]
"""Of a vector of words, that hold groups of steps: what is multiplied."""
Add: TypeAlias = Callable[[Builder, Value, Value, Value], Value]
"""A sum plus the products of a part of A (operand 0) and one of B: (builder, left, right, sum)."""


@record(eq=False)
class Arithmetic:
    """Elements of A, B and C, and what multiplies them.

    Where elements are shorter than lanes of sums (`group` > 1), a lane is a word of neighbouring steps; words have `parts` that
    are multiplied one after the other.
    """

    left: str
    right: str
    total: str
    add: Add
    left_parts: Parts = lambda _, words: (words,)
    right_parts: Parts = lambda _, words: (words,)
    is_grouped: bool = True
    """Whether steps of short elements lie side by side."""

    @property
    def group(self) -> int:
        """Steps in a lane."""
        return max(1, WORD_BITS // BITS[self.left]) if self.left != self.total and self.is_grouped else 1

    def lane(self, lanes: int) -> Type:
        """The type in which operands are read: their own, or words."""
        return vector(self.left if self.group == 1 else "int32", lanes)


@cache
def of_elements(dtype: str) -> Arithmetic:
    """Products and sums of one type: floats are fused where the dialect does so, integers wrap."""
    return Arithmetic(dtype, dtype, dtype, Builder.multiply_add)


def _cast_to(dtype: str) -> Parts:
    return lambda builder, elements: (builder.cast(elements, dtype),)


@cache
def of_converted(dtype: str, total: str) -> Arithmetic:
    """Elements that become the type of sums where they are loaded."""
    return Arithmetic(dtype, dtype, total, Builder.multiply_add, _cast_to(total), _cast_to(total), is_grouped=False)


def _as(dtype: str) -> Parts:
    """Words as shorter lanes."""

    def parts(builder: Builder, words: Value) -> tuple[Value, ...]:
        return (builder.bitcast(words, vector(dtype, words.type.size_bits // BITS[dtype])),)

    return parts


@cache
def of_dots(left: str, right: str, total: str = "int32") -> Arithmetic:
    """One instruction multiplies all steps of a lane, and adds the products to the sum."""
    return Arithmetic(left, right, total, Builder.dot, _as(left), _as(right))


def _pairs(builder: Builder, left: Value, right: Value, total: Value) -> Value:
    """Unsigned times signed bytes, neighbours added in 16 bits, and those in 32."""
    unsigned, signed = (right, left) if left.type.is_signed else (left, right)
    sums = builder.pairs(unsigned, signed)
    return builder.dot(sums, builder.constant(1, sums.type), total)


@cache
def of_pairs(left: str, right: str) -> Arithmetic:
    """Bytes of which neighbouring products fit in 16 bits together."""
    return Arithmetic(left, right, "int32", _pairs, _as(left), _as(right))


def _apart(dtype: str) -> Parts:
    """Even bytes of words, then odd ones, as lanes of 16 bits."""

    def parts(builder: Builder, words: Value) -> tuple[Value, ...]:
        lanes = words.type.size_bits // 16
        if dtype == "uint8":
            bits = builder.bitcast(words, vector("uint16", lanes))
            even, odd = bits & 0xFF, bits >> 8
        else:
            bits = builder.bitcast(words, vector("int16", lanes))
            even, odd = (bits << 8) >> 8, bits >> 8
        return builder.bitcast(even, vector("int16", lanes)), builder.bitcast(odd, vector("int16", lanes))

    return parts


@cache
def of_bytes_apart(left: str, right: str) -> Arithmetic:
    """Bytes of any values, as lanes of 16 bits: exact for all."""
    return Arithmetic(left, right, "int32", Builder.dot, _apart(left), _apart(right))


def _widened(builder: Builder, words: Value) -> tuple[Value, ...]:
    """Lower halves of words, then upper ones, as float32 whose upper halves they are."""
    bits = builder.bitcast(words, words.type.unsigned)
    floats = words.type.of("float32")
    return builder.bitcast(bits << 16, floats), builder.bitcast(bits & 0xFFFF0000, floats)


@cache
def of_widened(left: str, right: str) -> Arithmetic:
    """bfloat16 as the float32 that it is the upper half of."""
    return Arithmetic(left, right, "float32", Builder.multiply_add, _widened, _widened)


def _signed_pairs(builder: Builder, left: Value, right: Value, total: Value) -> Value:
    """|left| times right with the sign of left: neighbours added in 16 bits, and those in 32."""
    size = builder.bitcast(builder.apply(Operation.ABSOLUTE, left), left.type.unsigned)
    sums = builder.pairs(size, builder.apply(Operation.WITH_SIGN, right, left))
    return builder.dot(sums, builder.constant(1, sums.type), total)


@cache
def of_signs() -> Arithmetic:
    """Signed bytes: those of B are above the smallest, which has no opposite."""
    return Arithmetic("int8", "int8", "int32", _signed_pairs, _as("int8"), _as("int8"))


F32 = of_elements("float32")
