from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tw
from tilewright.graph.expressions.scalar import Apply, Load, Scalar, apply
from tilewright.graph.multiply_adds import multiply_add

A, B, C, D = (Load(number) for number in range(4))
PRODUCT, OTHER = apply("multiply", A, B), apply("multiply", C, D)
FUSES = [
    pytest.param("x86-64-v2", False, id="sse"),
    pytest.param("x86-64-v3", True, id="avx2", marks=pytest.mark.needs("avx2", "fma")),
    pytest.param("x86-64-v4", True, id="avx512", marks=pytest.mark.needs("avx512f", "avx512dq")),
]
NEAR_1 = np.float32(1 + 2**-12)
"""Its square is 1 + 2^-11 + 2^-24, which float32 rounds to 1 + 2^-11."""


NEGATIVE_A, NEGATIVE_C = (apply("negative", one) for one in (A, C))


@pytest.mark.parametrize(
    ("scalar", "expected"),
    [
        (apply("add", PRODUCT, C), (A, B, C)),
        (apply("add", C, PRODUCT), (A, B, C)),
        (apply("subtract", PRODUCT, C), (A, B, NEGATIVE_C)),
        (apply("subtract", C, PRODUCT), (NEGATIVE_A, B, C)),
        (apply("add", PRODUCT, OTHER), (A, B, OTHER)),
        (apply("subtract", PRODUCT, OTHER), None),
        (apply("add", apply("square", A), B), (A, A, B)),
        (apply("multiply", PRODUCT, C), None),
    ],
)
def test_a_sum_takes_a_product_in(scalar: Apply, expected: tuple[Scalar, ...] | None) -> None:
    assert multiply_add(scalar) == expected


def test_a_product_with_a_name_is_rounded_alone() -> None:
    assert multiply_add(apply("add", PRODUCT, C), {PRODUCT}) is None


@pytest.mark.parametrize(("target", "fuses"), FUSES)
def test_the_dialect_decides_how_often_is_rounded(target: str, fuses: bool) -> None:
    near = np.full(21, NEAR_1)
    rest = tw.jit(lambda x, y: x * x - y, target=target)(near, np.float32(1 + 2**-11) + np.zeros_like(near))
    np.testing.assert_array_equal(rest, np.full(21, np.float32(2**-24 if fuses else 0)))


@pytest.mark.parametrize(("target", "fuses"), FUSES)
def test_a_difference_of_equal_products_is_zero(target: str, fuses: bool) -> None:
    x = np.random.default_rng(0).standard_normal(100, np.float32)
    np.testing.assert_array_equal(tw.jit(lambda x, y: x * x - y * y, target=target)(x, x), np.zeros(100))


@pytest.mark.parametrize(("target", "fuses"), FUSES)
@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: x * 0.3 + x / 7.0, id="sum"),
        pytest.param(lambda x: x * (x * (x * 0.1 + 0.7) - 0.3) + 0.9, id="polynomial"),
        pytest.param(lambda x: tw.sigmoid(x) * 1.7 - x, id="sigmoid"),
    ],
)
def test_results_do_not_depend_on_where_vectors_end(function: Callable[..., object], target: str, fuses: bool) -> None:
    x = np.random.default_rng(1).standard_normal(40, np.float32)
    whole = tw.jit(function, target=target)(x)
    for length in (1, 3, 8, 15, 17, 39):
        np.testing.assert_array_equal(tw.jit(function, target=target)(x[:length]), whole[:length])
