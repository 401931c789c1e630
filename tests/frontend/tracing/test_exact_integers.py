"""Integers in traced functions are compared and computed as integers, also where no float is one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw

U32, U64 = np.array([0, 1, 2**32 - 1], np.uint32), np.array([0, 2**53 + 1, 2**64 - 1], np.uint64)
I64, I8 = np.array([-(2**63), 2**53, 2**53 + 1]), np.array([-128, 0, 127], np.int8)
LARGE = 2**53 + 1


def conditions(m: Any, u32: Any, u64: Any, i64: Any, i8: Any) -> tuple[Any, ...]:
    """What NumPy says of integers, by the functions of `m`."""
    return (
        *(u32 > -1, u64 >= -1, i8 < 300, i8 == 256),
        *(i64 == LARGE, i64 < 2**63, u64 == 2**64 - 1, i64 + LARGE == m.maximum(i64, 0) + LARGE),
        *(i64 < u64, u64 < i64, i64 == u64, u64 != i8, u64 <= i8),
        m.arange(3, 0, -1, dtype=np.uint32) == u32 + 1,
        m.arange(3)[:, None] < (i64 + 1)[None],
        u32 - 1 < 3,
    )


def floats(m: Any, *operands: Any) -> tuple[Any, ...]:
    """The same as numbers that kernels write."""
    return tuple(m.where(condition, np.float32(1), np.float32(0)) for condition in conditions(m, *operands))


def test_comparisons_are_those_of_numpy() -> None:
    largest = np.array([2**63 - 2, 2**53, LARGE])
    function = tw.jit(lambda *operands: floats(tw, *operands))
    for i64 in (I64, largest):
        with np.errstate(all="ignore"):
            expected = floats(np, U32, U64, i64, I8)
        for number, (found, wanted) in enumerate(zip(function(U32, U64, i64, I8), expected, strict=True)):
            np.testing.assert_array_equal(found, wanted, err_msg=f"condition {number}")
