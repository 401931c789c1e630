"""Quotients that are rounded to whole numbers: those of a division, bit for bit, where quotients are ties and next to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.tile.builder import Builder
from tilewright.tile.functions.quotients import LONG_BITS, rounded_quotient
from tilewright.tile.interpreter import interpret
from tilewright.tile.types import vector

Array = np.ndarray[Any, np.dtype[np.float32]]


def call(x: Array, d: Array) -> Array:
    """The function of long vectors, of all numbers at once."""
    of = vector("float32", max(x.size, LONG_BITS // 32))
    b = Builder()
    result = rounded_quotient(b, b.argument("x", of), b.argument("d", of))
    found = interpret(b.program("quotients", result), *(np.resize(one, of.lanes) for one in (x, d)))
    assert found is not None
    return found[: x.size]


def assert_those_of_a_division(x: Array, d: Array) -> None:
    with np.errstate(all="ignore"):
        expected = np.rint(x / d)
    got = call(x, d)
    is_nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(got), is_nan)
    np.testing.assert_array_equal(got[~is_nan].view(np.uint32), expected[~is_nan].view(np.uint32))


def neighbours(x: Array, reach: int) -> Array:
    """Numbers and those up to so many last places beside them."""
    steps = np.arange(-reach, reach + 1, dtype=np.int32)
    return np.asarray((x.view(np.int32)[:, None] + steps).view(np.float32))


def divisors(random: np.random.Generator) -> Array:
    """Scales as quantisation has them, and significands that are hard to invert: few bits set, and few missing."""
    significands = np.concatenate([1 + 2.0**-23 * np.arange(8), 2 - 2.0**-23 * np.arange(1, 9), random.uniform(1, 2, 48)])
    exponents = random.integers(-60, 60, significands.size)
    scales = 10.0 ** random.uniform(-6, 3, 32)
    return np.concatenate([significands * 2.0**exponents, -significands[:8], scales]).astype(np.float32)


def test_ties_and_their_neighbours() -> None:
    """Every half up to 300, and some as far as the range of 16 bits: products with a divisor, and what lies around them."""
    random = np.random.default_rng(0)
    halves = np.concatenate([np.arange(0, 300), random.integers(300, 70_000, 200), 2 ** np.arange(9, 23)]) + 0.5
    halves = np.concatenate([halves, -halves])
    for d in divisors(random):
        near = neighbours((halves * np.float64(d)).astype(np.float32), 3).reshape(-1)
        assert_those_of_a_division(near, np.full_like(near, d))


@pytest.mark.parametrize("size", [0.0, 1e-45, 1e-38, 1e-20])
def test_zeros_keep_their_signs(size: float) -> None:
    """Nothing beside them is divided for being beyond the bounds of the proof."""
    x = np.array([size, -size] * 8, np.float32)
    for d in divisors(np.random.default_rng(2)):
        assert_those_of_a_division(x, np.full_like(x, d))


def test_numbers_of_all_sizes() -> None:
    """Any bits, infinities, NaN and denormals among them."""
    random = np.random.default_rng(1)
    x, d = (random.integers(0, 2**32, 1 << 18, dtype=np.uint32).view(np.float32) for _ in range(2))
    assert_those_of_a_division(x, d)
    near = d[(np.abs(d) > 2.0**-62) & (np.abs(d) < 2.0**62)]
    for one in (np.float32(0.05), np.float32(2.0**-60), np.float32(2.0**60), np.nextafter(np.float32(2.0**-60), np.float32(0))):
        assert_those_of_a_division(x, np.full_like(x, one))
    assert_those_of_a_division((near * random.uniform(-300, 300, near.size)).astype(np.float32), near)
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, 1, 2.0**23, 2.0**24 + 2], np.float32)
    pairs = np.array(np.meshgrid(special, np.concatenate([special, np.float32([0.1, 7.0])]))).reshape(2, -1)
    assert_those_of_a_division(pairs[0].copy(), pairs[1].copy())
