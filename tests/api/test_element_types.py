"""Truth values and integers as arguments and constants, and positions: exact, converted where they are loaded."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tests.support.graphs import random
from tilewright.frontend.tracing.recorder import INTEGERS

jit = functools.partial(tw.jit, target="x86-64-v3", threads=1)
TYPES = ("bool", *INTEGERS)
TURNED = ("bool", "int16", "int64")
SIZES = st.sampled_from([1, 3, 7, 8, 9, 16, 17, 33])


def kept(x: Any, masks: Any) -> Any:
    """Where all masks of a kind are large enough: rows, columns, both, and transposed ones."""
    for mask in masks:
        x = tw.where(mask, x, -x) if mask.dtype == np.bool_ else tw.where(mask > 40, x + 1.0, x)
    return x


@functools.cache
def _kernel() -> Any:
    shapes = [("m", "n"), ("m", 1), (1, "n")]
    specs = [[tw.spec(shapes[number % 3], dtype) for number, dtype in enumerate(TYPES)], [tw.spec(("n", "m"), t) for t in TURNED]]

    def function(x: Any, masks: Any, turned: Any) -> Any:
        return kept(kept(x, masks), [mask.T for mask in turned])

    return jit(function).lower(tw.spec(("m", "n")), *specs).compile()


@pytest.mark.needs("avx2", "fma")
@given(rows=SIZES, columns=SIZES, step=st.sampled_from([1, 2, -1]))
def test_every_type_in_every_direction(rows: int, columns: int, step: int) -> None:
    generator = np.random.default_rng(rows * columns)

    def values(dtype: str, *shape: int) -> np.ndarray:
        return (generator.random((*shape[:-1], shape[-1] * 2)) * 99).astype(dtype)[..., ::step][..., : shape[-1]]

    shapes = [(rows, columns), (rows, 1), (1, columns)]
    masks = [values(dtype, *shapes[number % 3]) for number, dtype in enumerate(TYPES)]
    turned = [values(dtype, columns, rows) for dtype in TURNED]
    x = random(rows, columns)
    np.testing.assert_array_equal(_kernel()(x, masks, turned), kept(kept(x, masks), [mask.T for mask in turned]))


@pytest.mark.needs("avx2", "fma")
def test_positions_and_constants() -> None:
    mask, lengths = np.arange(33) % 3 > 0, np.array([5, 33], np.int16)

    def function(x: Any, n: Any) -> Any:
        rows, columns = tw.arange(x.shape[1])[:, None], np.arange(33)[None, :]
        inside = (tw.arange(33) < n[:, None, None]) & ~(rows + 2 < columns) | mask
        return tw.where(inside, x, (rows * 3 - columns).astype(np.float32))

    x = random(2, 19, 33)
    np.testing.assert_array_equal(jit(function)(x, lengths), function(x, lengths))


@pytest.mark.needs("avx2", "fma")
def test_positions_alone_are_a_result() -> None:
    function = jit(lambda: tw.arange(1.0, 6.0, 0.5, dtype=np.float32))
    np.testing.assert_array_equal(function(), np.arange(1.0, 6.0, 0.5, dtype=np.float32))
    assert tw.arange(3).tolist() == [0, 1, 2]


@pytest.mark.needs("avx2", "fma")
def test_whole_numbers_are_exact_up_to_24_bits() -> None:
    numbers = np.array([2**24 - 1, 2**24, 2**40, -(2**24)])
    function = jit(lambda n, x: tw.where(tw.arange(4) + (2**24 - 4) < n, x, -x))
    x = np.ones(4, np.float32)
    np.testing.assert_array_equal(function(numbers, x), np.where(np.arange(4) + (2**24 - 4) < numbers, x, -x))


def test_no_integer_is_stored() -> None:
    lowered = jit(lambda x, n: tw.where(tw.arange(9) - n[:, None] > 0, x, 0.0)).lower(random(4, 9), np.arange(4))
    (plan,) = lowered.model_plan.plans
    assert len(plan.chain.operators) == 1
    assert [tensor.dtype for tensor in plan.chain.tensors if tensor.name not in ("x", "out")] == ["int64"]
