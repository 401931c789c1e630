"""Products of great depth: the error of a sum of products stays below that of two short sums, whatever the schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.plan.decisions.long_sums import CALL_DEPTH

TARGETS = [
    "x86-64-v2",
    pytest.param("x86-64-v3", marks=pytest.mark.needs("avx2", "fma")),
    pytest.param("x86-64-v4", marks=pytest.mark.needs("avx512f", "avx512dq")),
]
DEPTH = 100_003
FEW = 32
"""Roundings of products, of the lanes that are folded, and of the parts that are added."""
BOUND = (CALL_DEPTH + DEPTH / CALL_DEPTH + FEW) * 2.0**-24


def lost(*shape: int, axis: int) -> np.ndarray:
    """1 and then values that an accumulator that holds 1 or more loses, each of them: the worst case of one accumulator."""
    x = np.full(shape, 2.0**-24, np.float32)
    x[(slice(None),) * axis + (0,)] = 1
    return x


def check(function: Callable[..., Any], x: np.ndarray, y: np.ndarray, target: str) -> None:
    np.testing.assert_allclose(tw.jit(function, target=target)(x, y), function(x.astype("f8"), y.astype("f8")), rtol=BOUND)


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("columns", [1, 3, 17])
def test_operands_in_any_layout(columns: int, target: str) -> None:
    down, along = lost(DEPTH, columns, axis=0), lost(columns, DEPTH, axis=1)
    check(lambda x, y: tw.einsum("ki,kj->ij", x, y), down, ones(DEPTH, 5), target)
    check(lambda x, y: tw.einsum("ik,jk->ij", x, y), along, ones(5, DEPTH), target)
    check(lambda x, y: tw.einsum("ik,k->i", x, y), along, ones(DEPTH), target)
    check(lambda x, y: tw.einsum("k,kj->j", x, y), ones(DEPTH), down, target)


@pytest.mark.parametrize("target", TARGETS)
def test_an_epilogue_is_applied_to_the_whole_sum(target: str) -> None:
    check(lambda x, y: 3.0 - (x @ y) * 2.0 + y[:1], lost(4, DEPTH, axis=1), ones(DEPTH, 7) * 0.5, target)


@pytest.mark.parametrize("target", TARGETS)
def test_few_rows_and_many_columns(target: str) -> None:
    check(lambda x, y: x @ y, lost(2, 20_001, axis=1), ones(20_001, 260), target)


@pytest.mark.parametrize("target", TARGETS)
def test_a_depth_that_only_a_call_knows(target: str) -> None:
    k = tw.Dim("k", 0, 1 << 20, hint=DEPTH)
    kernel = tw.jit(lambda x, y: tw.relu(x @ y), target=target).lower(tw.spec((3, k)), tw.spec((k, 5))).compile()
    for depth in (0, 1, CALL_DEPTH - 1, CALL_DEPTH, CALL_DEPTH + 1, 5_000, DEPTH):
        x = lost(3, max(depth, 1), axis=1)[:, :depth]
        np.testing.assert_allclose(kernel(x, ones(depth, 5)), x.astype("f8") @ ones(depth, 5), rtol=BOUND)
