"""The exponential of softmax: powers of 2 that are at most 1."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.tile.builder import Builder
from tilewright.tile.functions.exponentials import OF_FRACTION, WIDE_BITS
from tilewright.tile.operations import Operation
from tilewright.tile.program import Value

OF_REST = (0.00132764725, 0.00967554096, 0.0555071309, 0.240221202, 0.693146944, 1.0)
"""2**f, |f| <= 1/2: to 2.4e-7."""


def exp2_down(b: Builder, x: Value) -> Value:
    """2**x of float32 not above 0; below 2**-125.5 perhaps 0; NaN of NaN. The polynomials are minimax ones."""
    if x.type.size_bits == WIDE_BITS:
        return b.apply(Operation.SCALE, _polynomial(b, b.apply(Operation.FRACTION, x), OF_FRACTION), x)
    n = b.apply(Operation.ROUND, x)
    e = _polynomial(b, x - n, OF_REST)
    bits = b.bitcast(e, x.type.integer) + (b.cast(n, "int32") << 23)
    return b.bitcast(b.select(n < -125.0, 0, bits), x.type)


def _polynomial(b: Builder, x: Value, coefficients: Sequence[float]) -> Value:
    first, *rest = (b.constant(one, x.type) for one in coefficients)
    total: Value = first
    for one in rest:
        total = b.multiply_add(total, x, one)
    return total
