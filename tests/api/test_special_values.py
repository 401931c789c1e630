"""Special values of every function, against NumPy and docs/special-values.md; `tests/sweeps` has every ISA and position."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import torch

import tilewright as tw
from tests.support.special_values import (
    ELEMENTWISE,
    ROW_FUNCTIONS,
    VALUES,
    Case,
    Exemption,
    differs,
    disagreements,
    exemptions,
    of_function,
    rows_of,
    special_rows,
)
from tilewright.frontend.tracing.functions import FUNCTION_NAMES

jit = functools.partial(tw.jit, target="x86-64-v3", threads=1, dynamic=False)
CASES = {case.name: (case, operands) for cases, operands in ELEMENTWISE.values() for case in cases}
CASES |= {case.name: (case, (special_rows(17),)) for case in ROW_FUNCTIONS}
MOVES = frozenset(("reshape", "transpose", "permute_dims", "matrix_transpose", "swapaxes", "expand_dims", "squeeze", "index"))
MOVES |= {"broadcast_to", "asarray", "arange", "astype"}
PRODUCTS = frozenset(("einsum", "matmul"))


def results(cases: tuple[Case, ...], operands: tuple[Any, ...], **options: Any) -> dict[str, Any]:
    """What one kernel for all of these functions gives."""
    function = jit(lambda *arrays: {case.name: case.traced(*arrays) for case in cases}, **options)
    return {name: np.asarray(one) for name, one in function(*operands).items()}


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("group", ELEMENTWISE)
def test_elementwise_functions_give_what_numpy_gives(group: str) -> None:
    cases, operands = ELEMENTWISE[group]
    found = results(cases, operands)
    assert not [text for case in cases for text in disagreements(case, operands, found[case.name])]


@pytest.mark.parametrize("group", ELEMENTWISE)
def test_the_interpreter_gives_what_numpy_gives(group: str) -> None:
    cases, operands = ELEMENTWISE[group]
    function = jit(lambda *arrays: {case.name: case.traced(*arrays) for case in cases})
    found = function(*operands, interpret=True)
    for case in cases:
        expected = case.expected(*operands)
        exempt = [row.holds(operands, expected) for row in of_function(case.name)]
        wrong = differs(np.asarray(found[case.name]), expected)
        assert not (wrong & ~np.logical_or.reduce([np.zeros_like(wrong), *exempt])).any(), case.name


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("length", [1, 3, 17, 33])
def test_row_functions_give_what_numpy_gives(length: int) -> None:
    operands = (special_rows(length),)
    found = results(ROW_FUNCTIONS, operands)
    assert not [text for case in ROW_FUNCTIONS for text in disagreements(case, operands, found[case.name], 1e-5)]


def test_every_traced_function_is_tried() -> None:
    names = " ".join([*CASES, *(case.name for case in ROW_FUNCTIONS)])
    tried = {"pow"} | {name for name in FUNCTION_NAMES if name in names}
    assert set(FUNCTION_NAMES) - tried == MOVES | PRODUCTS


def _row(row: Exemption) -> object:
    """A peer's code for AVX-512 may compute other special values than its code for AVX2."""
    marks = [pytest.mark.needs("avx512f")] if "with AVX-512" in row.reason else []
    return pytest.param(row, marks=marks, id=f"{row.functions[0]} where {row.where}")


@pytest.mark.parametrize("row", map(_row, exemptions()))
def test_rows_of_the_table_are_true_and_needed(row: Exemption) -> None:
    for case, operands in (CASES[name] for name in row.functions if name in CASES):
        given = {"NumPy": case.expected(*operands)}
        held = row.holds(operands, given["NumPy"])
        if case.torch is not None:
            given["torch"] = case.torch(*map(torch.tensor, operands)).numpy()
        values = {peer: row.value(text, operands, given["NumPy"]) for peer, text in row.others.items()}
        assert not any((held & differs(given[peer], value)).any() for peer, value in values.items())
        here = [row.value(text, operands, given["NumPy"]) for text in row.here]
        assert any((held & differs(one, value)).any() for one in given.values() for value in here)


@pytest.mark.needs("avx2", "fma")
def test_one_spoilt_row_of_a_product_spoils_one_row() -> None:
    left = np.zeros((VALUES.size, 5), np.float32)
    left[:, 0] = VALUES
    right = np.ones((5, 19), np.float32)
    operands = rows_of(VALUES)
    found = np.asarray(jit(lambda a, b: a @ b)(left, right))[:, : operands[0].shape[1]]
    assert not differs(found, operands[0] + np.float32(0)).any()


@pytest.mark.needs("avx2", "fma")
def test_quotients_are_rounded_down_before_they_are_rounded() -> None:
    generator = np.random.default_rng(5)
    x = np.round(generator.uniform(-100, 100, 4000)).astype(np.float32)
    y = generator.choice(np.array([0.1, 0.2, 0.3, -0.1, 0.7, 3, -7], np.float32), 4000)
    expected = np.floor_divide(x, y)
    assert (np.floor(x / y) != expected).any()
    np.testing.assert_array_equal(jit(lambda x, y: x // y)(x, y), expected)
