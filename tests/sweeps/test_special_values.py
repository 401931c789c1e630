"""Special values on every ISA, with and without fusion, alone, behind products, inside row operators: `pytest -m sweep`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.special_values import (
    ELEMENTWISE,
    OF_ONE,
    ROW_FUNCTIONS,
    VALUES,
    Case,
    disagreements,
    special_rows,
    told,
)

TARGETS = [
    pytest.param("x86-64-v2", id="v2"),
    pytest.param("x86-64-v3", id="v3", marks=pytest.mark.needs("avx2", "fma")),
    pytest.param("x86-64-v4", id="v4", marks=pytest.mark.needs("avx512f", "avx512dq")),
]
LENGTHS = (1, 3, 7, 8, 15, 16, 17, 33)
pytestmark = [pytest.mark.sweep, pytest.mark.parametrize("target", TARGETS), pytest.mark.parametrize("fuse", [None, True, False])]


Traced = Callable[..., Any]


def results(cases: tuple[Case, ...], target: str, fuse: bool | None, traced: Traced, *operands: Any) -> dict[str, Any]:
    """What one kernel gives; `traced` is a case and the operands as the kernel's values."""
    jit = functools.partial(tw.jit, target=target, threads=1, dynamic=False, fuse=fuse)
    function = jit(lambda *arrays: {case.name: traced(case, *arrays) for case in cases})
    return {name: np.asarray(one) for name, one in function(*operands).items()}


def check(cases: tuple[Case, ...], found: dict[str, Any], *operands: Any, tolerance: float = 2e-6) -> None:
    assert not [text for case in cases for text in disagreements(case, operands, found[case.name], tolerance)]


@pytest.mark.parametrize("group", ELEMENTWISE)
def test_alone(target: str, fuse: bool | None, group: str) -> None:
    cases, operands = ELEMENTWISE[group]
    check(cases, results(cases, target, fuse, lambda case, *arrays: case.traced(*arrays), *operands), *operands)


@pytest.mark.parametrize("length", LENGTHS)
def test_in_vectors_and_their_tails(target: str, fuse: bool | None, length: int) -> None:
    operands = (np.repeat(VALUES[:, None], length, axis=1),)
    check(OF_ONE, results(OF_ONE, target, fuse, lambda case, x: case.traced(x), *operands), *operands)


@pytest.mark.parametrize("columns", LENGTHS)
@pytest.mark.parametrize("depth", [1, 5])
def test_behind_products(target: str, fuse: bool | None, columns: int, depth: int) -> None:
    """A product with ones hands values on; a zero has lost its sign, and that of a negated product is not told."""
    cases = tuple(case for case in OF_ONE if case.name != "negative")
    left, right = np.zeros((VALUES.size, depth), np.float32), np.ones((depth, columns), np.float32)
    left[:, 0] = VALUES
    product = np.repeat(VALUES[:, None] + np.float32(0), columns, axis=1)
    check(cases, results(cases, target, fuse, lambda case, a, b: case.traced(a @ b), left, right), product, tolerance=4e-6)


@pytest.mark.parametrize("length", LENGTHS)
def test_rows(target: str, fuse: bool | None, length: int) -> None:
    operands = (special_rows(length),)
    found = results(ROW_FUNCTIONS, target, fuse, lambda case, x: case.traced(x), *operands)
    check(ROW_FUNCTIONS, found, *operands, tolerance=1e-5)


@pytest.mark.parametrize("length", [3, 17])
def test_inside_softmax(target: str, fuse: bool | None, length: int) -> None:
    rows = special_rows(length)

    def softmax_of(case: Case) -> Case:
        def numpy(x: Any) -> Any:
            scores = told(case, [x.astype(np.float32)]).astype(np.float64)
            powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
            return powers / powers.sum(axis=-1, keepdims=True)

        return Case("softmax", lambda x: tw.softmax(case.traced(x)), numpy)

    for case in OF_ONE:
        inside = softmax_of(case)
        found = results((inside,), target, fuse, lambda one, x: one.traced(x), rows)
        assert not disagreements(inside, (rows,), found["softmax"], 1e-4), case.name
