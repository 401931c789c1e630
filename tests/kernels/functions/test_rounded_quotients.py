"""Quotients that are rounded to whole numbers: those of a division, bit for bit, where quotients are ties and next to them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tests.support.kernel_build import COMPILERS, EXPORT, build, command
from tilewright.kernels import KernelSource, SourceKind, dialect_for
from tilewright.kernels.functions.scalar_functions import lane_functions
from tilewright.kernels.helpers import texts

Array = np.ndarray[Any, np.dtype[np.float32]]
CALL = f"""
{EXPORT} void call(const float *x, const float *d, float *to, long count) {{
  for (long i = 0; i < count; i += TW_LANES)
    tw_store(to + i, tw_rounded_quotient(tw_load(x + i), tw_load(d + i)));
}}
"""
FEATURES = [
    frozenset[str](),
    frozenset({"avx2", "fma"}),
    frozenset({"avx512f", "avx512dq"}),
]
CASES = [
    pytest.param(
        features,
        compiler,
        marks=[
            pytest.mark.needs(*sorted(features)),
            pytest.mark.skipif(command(compiler) is None, reason=f"{compiler} is missing"),
        ],
        id=f"{'-'.join(sorted(features)) or 'portable'}-{compiler}",
    )
    for features in FEATURES
    for compiler in COMPILERS
]


class Quotients:
    """The function of a dialect."""

    def __init__(self, features: frozenset[str], compiler: str) -> None:
        dialect = dialect_for("x86_64", features)
        text = "\n".join([dialect.prelude, *texts(lane_functions(["round"])), CALL])
        self.function = ctypes.CDLL(str(build([KernelSource(SourceKind.C, text)], features, compiler))).call

    def __call__(self, x: Array, d: Array) -> Array:
        size = x.size
        padded = [np.resize(one.astype(np.float32), -(-size // 16) * 16) for one in (x, d)]
        result = np.empty_like(padded[0])
        addresses = [ctypes.c_void_p(one.ctypes.data) for one in (*padded, result)]
        self.function(*addresses, ctypes.c_long(result.size))
        return result[:size]


def assert_those_of_a_division(call: Quotients, x: Array, d: Array) -> None:
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


@pytest.mark.parametrize(("features", "compiler"), CASES)
def test_ties_and_their_neighbours(features: frozenset[str], compiler: str) -> None:
    """Every half up to 300, and some as far as the range of 16 bits: products with a divisor, and what lies around them."""
    call, random = Quotients(features, compiler), np.random.default_rng(0)
    halves = np.concatenate([np.arange(0, 300), random.integers(300, 70_000, 200), 2 ** np.arange(9, 23)]) + 0.5
    halves = np.concatenate([halves, -halves])
    for d in divisors(random):
        near = neighbours((halves * np.float64(d)).astype(np.float32), 3).reshape(-1)
        assert_those_of_a_division(call, near, np.full_like(near, d))


@pytest.mark.parametrize(("features", "compiler"), CASES)
@pytest.mark.parametrize("size", [0.0, 1e-45, 1e-38, 1e-20])
def test_zeros_keep_their_signs(features: frozenset[str], compiler: str, size: float) -> None:
    """Nothing beside them is divided for being beyond the bounds of the proof."""
    call, x = Quotients(features, compiler), np.array([size, -size] * 8, np.float32)
    for d in divisors(np.random.default_rng(2)):
        assert_those_of_a_division(call, x, np.full_like(x, d))


@pytest.mark.parametrize(("features", "compiler"), CASES)
def test_numbers_of_all_sizes(features: frozenset[str], compiler: str) -> None:
    """Any bits, infinities, NaN and denormals among them."""
    call, random = Quotients(features, compiler), np.random.default_rng(1)
    x, d = (random.integers(0, 2**32, 1 << 18, dtype=np.uint32).view(np.float32) for _ in range(2))
    assert_those_of_a_division(call, x, d)
    near = d[(np.abs(d) > 2.0**-62) & (np.abs(d) < 2.0**62)]
    for one in (np.float32(0.05), np.float32(2.0**-60), np.float32(2.0**60), np.nextafter(np.float32(2.0**-60), np.float32(0))):
        assert_those_of_a_division(call, x, np.full_like(x, one))
    assert_those_of_a_division(call, (near * random.uniform(-300, 300, near.size)).astype(np.float32), near)
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, 1, 2.0**23, 2.0**24 + 2], np.float32)
    pairs = np.array(np.meshgrid(special, np.concatenate([special, np.float32([0.1, 7.0])]))).reshape(2, -1)
    assert_those_of_a_division(call, pairs[0].copy(), pairs[1].copy())
