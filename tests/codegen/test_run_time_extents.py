"""Kernels for ranges of extents against NumPy, at every length of short ranges and at the ends of long ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.graphs import random

RANGES = [(0, 4), (2, 4), (5, 16), (17, 64), (65, 256)]


def lengths(low: int, high: int) -> list[int]:
    """All of a short range; of a long one its ends and those of tiles."""
    near = {tile * n + more for tile in (6, 16, 64) for n in (1, 2, 3) for more in (-1, 0, 1)}
    return sorted({low, low + 1, high - 1, high} | {n for n in near if low <= n <= high} | set(range(low, min(high, 16) + 1)))


def product(x: Any, y: Any) -> Any:
    return tw.relu(x @ y)


def check(kernel: Any, m: int, n: int, k: int) -> None:
    x, y = random(m, k), random(k, n, seed=1)
    expected = np.maximum(x.astype(np.float64) @ y, 0)
    np.testing.assert_allclose(kernel(x, y), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("bounds", RANGES)
@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3"])
@pytest.mark.needs("avx2", "fma")
def test_rows_and_columns_of_any_length(target: str, bounds: tuple[int, int]) -> None:
    m, n = tw.Dim("m", *bounds, hint=bounds[1]), tw.Dim("n", *bounds, hint=bounds[1])
    kernel = tw.jit(product, target=target, threads=1).lower(tw.spec((m, 19)), tw.spec((19, n))).compile()
    for position, length in enumerate(lengths(*bounds)):
        for other in (length, lengths(*bounds)[-position]):
            check(kernel, length, other, 19)


@pytest.mark.parametrize("bounds", RANGES[:4])
@pytest.mark.needs("avx512f", "avx512dq")
def test_tall_tiles_of_wide_registers(bounds: tuple[int, int]) -> None:
    m, n = tw.Dim("m", *bounds, hint=bounds[1]), tw.Dim("n", *bounds, hint=bounds[1])
    kernel = tw.jit(product, target="x86-64-v4", threads=1).lower(tw.spec((m, 19)), tw.spec((19, n))).compile()
    for position, length in enumerate(lengths(*bounds)):
        for other in (length, lengths(*bounds)[-position]):
            check(kernel, length, other, 19)


@pytest.mark.needs("avx2", "fma")
def test_the_compiler_is_told_the_range() -> None:
    dim = tw.Dim("n", 5, 16)
    kernel = tw.jit(lambda x: x * 2, target="x86-64-v3", threads=1).lower(tw.spec((dim, 3))).compile()
    assert "if (extent_n < 5 || extent_n > 16) __builtin_unreachable();" in kernel.source


@pytest.mark.needs("avx2", "fma")
def test_threads_do_not_change_results() -> None:
    dim = tw.Dim("l", 1, 700, hint=512)
    specs = tw.spec((2, 3, 16)), tw.spec((2, dim, 16)), tw.spec((2, dim, 16))

    def attention(q: Any, k: Any, v: Any) -> Any:
        return tw.softmax(tw.einsum("hmk,hlk->hml", q, k), axis=-1) @ v

    one, two = (tw.jit(attention, target="x86-64-v3", threads=n).lower(*specs).compile() for n in (1, 2))
    for length in (1, 2, 63, 511, 700):
        arrays = random(2, 3, 16), random(2, length, 16, seed=1), random(2, length, 16, seed=2)
        assert one(*arrays).tobytes() == two(*arrays).tobytes()
