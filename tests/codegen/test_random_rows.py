"""Random formulas of rows through the whole pipeline, against the same formulas on float64 arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.random.rows import SHAPES, random_formula

TOGETHER = 12
"""Formulas in one kernel, each of an argument of its own."""
FORCED = (None, True, False)


def check(seed: int) -> None:
    """Relative to the largest value, and to what rounding to float32 does to the formula: some are nothing but rounding."""
    numbers = range(TOGETHER * seed, TOGETHER * (seed + 1))
    inputs = [np.random.default_rng(number).standard_normal(SHAPES[number % len(SHAPES)], np.float32) for number in numbers]

    def function(*arrays: Any) -> tuple[Any, ...]:
        return tuple(random_formula(number)(x) for number, x in zip(numbers, arrays, strict=True))

    results = tw.jit(function, fuse=FORCED[seed % 3], target="x86-64-v3")(*inputs)
    with np.errstate(all="ignore"):
        rounded, expected = function(*inputs), function(*(x.astype("f8") for x in inputs))
    for number, result, own, exact in zip(numbers, results, rounded, expected, strict=True):
        assert result.shape == exact.shape, f"formula {number}"
        finite = np.isfinite(own)
        largest = np.abs(exact[finite]).max(initial=1e-6)
        rounding = np.abs(own - exact)[finite].max(initial=0)
        allowed = 1e-4 * np.abs(exact) + 2e-5 * largest + 20 * rounding
        assert (np.abs(result - exact) <= allowed)[finite].all(), f"formula {number}"


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("seed", range(8))
def test_a_few_formulas(seed: int) -> None:
    check(seed)


@pytest.mark.sweep
@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("seed", range(100, 184))
def test_a_thousand_formulas(seed: int) -> None:
    check(seed)
