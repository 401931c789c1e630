"""What C computes in vectors by its own operators, on every machine: the table that all dialects begin with."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.tile.dialects.description import Entry, Key
from tilewright.tile.operations import COMPARISONS, Operation
from tilewright.tile.types import BITS

WIDE_FLOATS = ("float32", "float64")
INTEGERS = tuple(name for name in BITS if "int" in name)
MASKS = tuple(name for name in BITS if name.startswith("mask"))
SIGNS = {
    Operation.EQUAL: "==",
    Operation.UNEQUAL: "!=",
    Operation.LESS: "<",
    Operation.LESS_EQUAL: "<=",
    Operation.GREATER: ">",
    Operation.GREATER_EQUAL: ">=",
}
FLOAT_OPERATORS = {
    Operation.ADD: "{0} + {1}",
    Operation.SUBTRACT: "{0} - {1}",
    Operation.MULTIPLY: "{0} * {1}",
    Operation.DIVIDE: "{0} / {1}",
    Operation.NEGATE: "-{0}",
}
INTEGER_OPERATORS = {
    Operation.ADD: "({t})(({u}){0} + ({u}){1})",
    Operation.SUBTRACT: "({t})(({u}){0} - ({u}){1})",
    Operation.MULTIPLY: "({t})(({u}){0} * ({u}){1})",
    Operation.NEGATE: "({t})-({u}){0}",
    Operation.SHIFT_LEFT: "({t})(({u}){0} << {1})",
    Operation.SHIFT_RIGHT: "{0} >> {1}",
}
BITWISE = {
    Operation.AND: "{0} & {1}",
    Operation.OR: "{0} | {1}",
    Operation.XOR: "{0} ^ {1}",
    Operation.NOT: "~{0}",
}
CONVERTED = (("int32", "float32"), ("float32", "float64"), ("float64", "float32"))
"""Casts that compilers do in vectors. Floats to integers are not among them: what has no integer depends on the machine."""
SELECT_BITS = "({t})((({i}){0} & ({i}){1}) | (~({i}){0} & ({i}){2}))"
"""Of a mask that is a vector of integers."""


def table() -> dict[Key, Entry]:
    """Operators of vectors; integers are added up without a sign, as those with one must not overflow in C."""
    return dict(_entries())


def _entries() -> Iterator[tuple[Key, Entry]]:
    for dtypes, operators in ((WIDE_FLOATS, FLOAT_OPERATORS), (INTEGERS, INTEGER_OPERATORS), (INTEGERS + MASKS, BITWISE)):
        for dtype in dtypes:
            for operation, text in operators.items():
                yield (operation, dtype), Entry(text, "")
    for dtype in WIDE_FLOATS + INTEGERS:
        for operation in COMPARISONS:
            yield (operation, dtype), Entry(f"{{0}} {SIGNS[operation]} {{1}}", "")
    for dtype in BITS:
        yield (Operation.SELECT, dtype), Entry(SELECT_BITS, "")
    for source, dtype in CONVERTED:
        yield (Operation.CAST, source, dtype), Entry("__builtin_convertvector({0}, {t})", "")
