"""Quotients that are rounded to integers, in tile operations."""

from __future__ import annotations

from tilewright.tile.builder import Builder
from tilewright.tile.operations import IntegerOperation, Operation
from tilewright.tile.program import Value
from tilewright.tile.types import vector

INT32 = vector("int32")
LONG_BITS = 512
"""Vectors that divide more slowly than they multiply: 16 lanes take 16 cycles (Sapphire Rapids), the steps here 5."""
SMALLEST, LARGEST = 2.0**-60, 2.0**60
"""Of divisors whose remainders do not underflow."""
LARGEST_QUOTIENT = 2.0**120


def rounded_quotient(b: Builder, x: Value, d: Value) -> Value:
    """round(x / d), bit for bit."""
    is_long = x.type.dtype == "float32" and x.type.size_bits >= LONG_BITS
    return _by_inverse(b, x, d) if is_long else b.apply(Operation.ROUND, x / d)


def _by_inverse(b: Builder, x: Value, d: Value) -> Value:
    """With r = RN(1/d), two steps q <- RN(q + RN(x - q d) r) from RN(x r).

    The first gives a neighbour of x/d, of which the second makes RN(x/d) (Markstein 1990, theorem 5; Muller et al., Handbook of
    Floating-Point Arithmetic, section 4.7). Remainders must not underflow: within these bounds they do not where the quotient is
    1/4 or more, and below that it becomes 0, with the sign of RN(x r), whatever its last places are. What is left, NaN included,
    is divided.
    """
    inverse, size = 1.0 / d, b.apply(Operation.ABSOLUTE, d)
    about = x * inverse
    is_near = (size >= SMALLEST) & (size <= LARGEST) & (b.apply(Operation.ABSOLUTE, about) < LARGEST_QUOTIENT)
    near = b.fma(b.fma(-about, d, x), inverse, about)
    whole = b.apply(Operation.ROUND, b.fma(b.fma(-near, d, x), inverse, near))
    sign = b.bitcast(about, x.type.integer) & (-1 << 31)
    found = b.variable(b.bitcast(b.bitcast(whole, x.type.integer) | sign, x.type))
    is_far = b.instruction(Operation.ANY, INT32, (~is_near,))
    with b.when(b.define(IntegerOperation.VALUE, is_far)):
        b.assign(found, b.apply(Operation.ROUND, x / d))
    return found
