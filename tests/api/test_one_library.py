"""Functions whose extents vary: one kernel for all values, with the same bits in whatever order calls come."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw

Array = Any
WEIGHTS = np.random.default_rng(9).standard_normal((8, 5)).astype(np.float32)
TABLE = np.random.default_rng(8).standard_normal((512, 4)).astype(np.float32)


def _positions(x: Array, table: Array) -> Array:
    return x + table[: x.shape[0]]


def _heads(x: Array) -> Array:
    length, batch, width = x.shape
    heads = x.reshape(length, batch * 2, width // 2)
    scores = tw.softmax(tw.einsum("ihd,jhd->hij", heads, heads) * (width // 2) ** -0.5, axis=-1)
    return tw.einsum("hij,jhd->ihd", scores, heads).reshape(length * batch, width) @ WEIGHTS


FUNCTIONS: dict[str, tuple[Callable[..., Array], Callable[[int, int], tuple[tuple[int, ...], ...]]]] = {
    "merged rows": (lambda x: x.reshape(-1, 8) @ WEIGHTS, lambda n, m: ((n, m, 8),)),
    "last row": (lambda x: x[-1], lambda n, m: ((n, m),)),
    "differences": (lambda x: x[1:] - x[:-1], lambda n, m: ((n, m),)),
    "positions": (_positions, lambda n, m: ((n, 4), (512, 4))),
    "positions of the module": (lambda x: x + TABLE[: x.shape[0]], lambda n, m: ((n, 4),)),
    "scale": (lambda x: x / x.shape[0] ** 0.5, lambda n, m: ((n, m),)),
    "average": (lambda x: (x * (1 / x.shape[0])).sum(axis=0), lambda n, m: ((n, m),)),
    "every second": (lambda x: x[::-2] * (x.shape[0] // 2 + 1), lambda n, m: ((n, m),)),
    "numbered": (lambda x: x * tw.arange(1, x.shape[0] + 1).astype(np.float32)[:, None], lambda n, m: ((n, m),)),
    "flat": (lambda x: tw.exp(x).reshape(-1) * x.size, lambda n, m: ((n, m),)),
    "heads": (_heads, lambda n, m: ((n, m, 8),)),
}


def _arrays(name: str, n: int, m: int) -> list[Array]:
    generator = np.random.default_rng(n * 1000 + m)
    return [generator.standard_normal(shape).astype(np.float32) for shape in FUNCTIONS[name][1](n, m)]


def _learned(name: str, threads: int, *pairs: tuple[int, int]) -> tw.Jitted:
    """The function after calls from which it learned which extents vary."""
    jitted = tw.jit(FUNCTIONS[name][0], threads=threads)
    for n, m in pairs:
        jitted(*_arrays(name, n, m))
    return jitted


@pytest.mark.needs("ssse3", "sse4_1")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_random_shapes_in_random_order_have_one_kernel_and_the_bits_of_a_fresh_function(name: str) -> None:
    jitted, fresh = _learned(name, 1, (3, 4), (5, 6)), _learned(name, 2, (69, 70), (80, 60))
    generator = np.random.default_rng(7)
    pairs = [*((int(n), int(m)) for n, m in generator.integers(1, 60, (12, 2))), (2, 3), (1, 1), (200, 2), (2, 200)]
    found = {}
    for n, m in pairs:
        found[n, m] = jitted(*_arrays(name, n, m))
        expected = jitted(*_arrays(name, n, m), interpret=True)
        np.testing.assert_allclose(found[n, m], expected, rtol=2e-5, atol=2e-5)
    for n, m in reversed(pairs):
        assert np.array_equal(fresh(*_arrays(name, n, m)), found[n, m])
    assert len(jitted.kernels) == len(fresh.kernels) == 2


def test_values_outside_of_what_a_slice_leaves_have_the_error_or_the_range_of_their_own() -> None:
    jitted = tw.jit(_positions)
    table = np.ones((5, 4), np.float32)
    for rows in (2, 5, 3):
        jitted(np.ones((rows, 4), np.float32), table)
    with pytest.raises(tw.ShapeError, match="do not broadcast"):
        jitted(np.ones((9, 4), np.float32), table)


def test_rows_of_eight_elements_have_one_kernel_for_all_multiples_of_eight(caplog: pytest.LogCaptureFixture) -> None:
    jitted = tw.jit(lambda x: x.reshape(-1, 8) @ WEIGHTS)
    with caplog.at_level(logging.INFO, logger="tilewright.plan"):
        for rows in (3, 5, 1, 40, 7, 2, 200, 16):
            x = np.random.default_rng(rows).standard_normal(rows * 8).astype(np.float32)
            np.testing.assert_allclose(jitted(x), x.reshape(-1, 8) @ WEIGHTS, rtol=2e-5, atol=2e-5)
    assert len(jitted.kernels) == 2
    told = [record.message for record in caplog.records if "extents are" in record.message]
    assert len(told) == 1
    assert "dynamic in multiples of 8, others are compiled on their own: cannot reshape (s0,) into (-1, 8)" in told[0]
    with pytest.raises(tw.ShapeError, match="cannot reshape"):
        jitted(np.ones(20, np.float32))
    assert len(jitted.kernels) == 2


def test_rows_of_multiples_are_looked_up_where_they_part() -> None:
    jitted = tw.jit(lambda x: x.reshape(-1, 8) * 2)
    for extent in (24, 32, 8, 160, 16):
        x = np.arange(3 * extent, dtype=np.float32).reshape(3, extent)
        np.testing.assert_array_equal(jitted(x), x.reshape(-1, 8) * 2)
    assert len(jitted.kernels) == 2


def test_other_extents_than_multiples_are_specialised_where_the_function_takes_them() -> None:
    jitted = tw.jit(lambda x: x.reshape(-1, 8) if x.shape[0] % 8 == 0 else x * 2)
    for extent in (24, 40, 17, 8, 19, 64):
        x = np.arange(extent, dtype=np.float32)
        np.testing.assert_array_equal(jitted(x), x.reshape(-1, 8) if extent % 8 == 0 else x * 2)
    assert len(jitted.kernels) == 4


def test_a_table_that_is_closed_over_is_sliced_in_the_graph_and_too_long_calls_are_errors() -> None:
    table = np.arange(12, dtype=np.float32).reshape(6, 2)
    jitted = tw.jit(lambda x: x * table[1 : x.shape[0] + 1] + table.sum())
    for rows in (2, 5, 3, 1, 4):
        x = np.full((rows, 2), 2, np.float32)
        np.testing.assert_allclose(jitted(x), x * table[1 : rows + 1] + table.sum())
    assert len(jitted.kernels) == 2
    with pytest.raises(tw.ShapeError, match="do not broadcast"):
        jitted(np.ones((9, 2), np.float32))


def test_an_array_that_only_numpy_understands_is_specialised() -> None:
    table = np.arange(12, dtype=np.float32)
    jitted = tw.jit(lambda x: x + np.cumsum(np.flip(table))[: x.shape[0]])
    for rows in (2, 5, 3):
        np.testing.assert_allclose(jitted(np.zeros(rows, np.float32)), np.cumsum(np.flip(table))[:rows])


def test_comparisons_split_the_range_and_tell_once_why(caplog: pytest.LogCaptureFixture) -> None:
    jitted = tw.jit(lambda x: x * 2 if x.shape[0] > 16 else x * 3, dynamic=True)
    with caplog.at_level(logging.INFO, logger="tilewright.plan"):
        for n in (4, 5, 16, 17, 300, 2):
            x = np.ones(n, np.float32)
            assert jitted(x)[0] == (2 if n > 16 else 3)
    assert len(jitted.kernels) == 2
    told = [record.message for record in caplog.records if "extents are" in record.message]
    assert len(told) == 1
    assert "dynamic in ranges: whether s0 > 16 is not known" in told[0].replace("<=", ">")


def test_what_needs_a_value_is_specialised_and_tells_once_why(caplog: pytest.LogCaptureFixture) -> None:
    jitted = tw.jit(lambda x: sum(x[i] for i in range(x.shape[0])))
    with caplog.at_level(logging.INFO, logger="tilewright.plan"):
        for n in (4, 5, 6, 7):
            assert jitted(np.ones((n, 3), np.float32))[0] == n
    told = [record.message for record in caplog.records if "extents are" in record.message]
    assert len(told) == 1
    assert "specialised: each of their values is compiled on its own: a Python integer of s0" in told[0]


@pytest.mark.parametrize("rows", [1, 5, 40])
def test_lanes_may_lie_apart_by_rows_that_are_padded(rows: int) -> None:
    """Positions between two chains have rows of a run-time extent and padding: vectors run across the rows."""
    x = np.random.default_rng(11).standard_normal((1, rows, 1, 12)).astype(np.float32)

    def function(x: Array) -> Array:
        return tw.permute_dims(tw.max(x, axis=(0, 2, 3), keepdims=True), (1, 2, 3, 0))

    np.testing.assert_array_equal(tw.jit(function, dynamic=True)(x)[:, 0, 0, 0], x.max(axis=(0, 2, 3)))
