"""Long sums: how many values an accumulator takes in one after the other. See docs/planning-reference.md, accuracy of sums.

An accumulator that takes in n values rounds n times, so that a sum of values of one sign is wrong by up to n * u (u = 2^-24 in
float32, 2^-53 in float64). A long sum is made of sums of short blocks, which go into a total whose additions keep what
they round away (two-sum). It is then wrong by at most

    (2 * block_steps + folding + 2) * u        of the sum of the absolute values, up to terms of blocks * u^2,

however long it is; `folding` adds up accumulators and lanes: log2(accumulators * lanes). Which sums are long follows from the
extents and the vector length alone, so that results do not depend on threads.
"""

from __future__ import annotations

LONG_DEPTH = 4096
"""Steps of its depth up to which a product is left to the schedule alone. Of run-time extents their hints decide."""
CALL_DEPTH = 1024
"""Steps that an accumulator of a micro kernel takes in before they go into the result. Each time every element of the result is
read and written, which 1024 steps hide."""

FEW_OUTPUTS = 16
"""Rows, or columns, up to which a product takes less time to compute than to read its other operand."""
CALL_DEPTH_OF_FEW = 128
"""The same of these products, which wait for memory: libraries that sum in several accumulators are no more exact."""


def call_depth(depth: int, outputs: int) -> int:
    """Steps of a call of the micro kernel, of a product of so many rows or columns, the lesser of these; 0 for all of the depth.

    >>> call_depth(768, 128), call_depth(768, 1), call_depth(5000, 128)
    (0, 128, 1024)
    """
    if outputs <= FEW_OUTPUTS:
        return CALL_DEPTH_OF_FEW if depth > 2 * CALL_DEPTH_OF_FEW else 0
    return CALL_DEPTH if depth > LONG_DEPTH else 0


def additions(terms: int) -> int:
    """The most additions that a term of a sum goes through: those of its piece, then those of the pieces.

    >>> additions(4096), additions(100_000)
    (4096, 1121)
    """
    return terms if terms <= LONG_DEPTH else CALL_DEPTH + terms // CALL_DEPTH
