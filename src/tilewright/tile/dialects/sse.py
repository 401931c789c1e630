"""SSE4.2, as x86-64-v2 has it: 128 bits, two operands, masks as vectors."""

from __future__ import annotations

from tilewright.tile.dialects import operators, x86
from tilewright.tile.dialects.description import Dialect

TABLE = {
    **operators.table(),
    **dict(
        x86.without_vex(
            (
                *x86.float_arithmetic(),
                *x86.roundings(),
                *x86.integer_arithmetic(),
                *x86.signs(),
                *x86.bitwise(),
                *x86.widenings(),
                *x86.conversions(x86.FLOAT_CONVERSIONS),
                *x86.memory(("float32", "float64", *x86.INTEGERS)),
            )
        )
    ),
}
DIALECT = Dialect("sse", "x86_64", frozenset({"sse4_1", "sse4_2", "ssse3"}), 128, 16, fuses=False, table=TABLE)
