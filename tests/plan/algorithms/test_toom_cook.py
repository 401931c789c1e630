"""Toom-Cook matrices compute sliding sums exactly; the oracle is the sum as it is written, in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

from tests.oracles.winograd_errors import amplification, error_constant
from tilewright.plan.algorithms.winograd import toom_cook as subject
from tilewright.plan.algorithms.winograd.toom_cook import POINTS, Matrix, ToomCook, toom_cook

OUTPUTS = sorted(POINTS)


def times(matrix: Matrix, vector: list[Fraction]) -> list[Fraction]:
    return [sum((a * b for a, b in zip(row, vector, strict=True)), Fraction(0)) for row in matrix]


def transposed(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    return [list(column) for column in zip(*matrix, strict=True)]


def nested(matrix: Matrix, square: list[list[Fraction]]) -> list[list[Fraction]]:
    """matrix @ square @ matrix^T."""
    return transposed([times(matrix, row) for row in transposed([times(matrix, row) for row in square])])


def sliding(matrices: ToomCook, filters: list[Fraction], data: list[Fraction]) -> list[Fraction]:
    products = [a * b for a, b in zip(times(matrices.filter, filters), times(matrices.input, data), strict=True)]
    return times(matrices.output, products)


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_every_product_of_a_tap_and_a_point_is_where_it_belongs(outputs: int) -> None:
    """The results are linear in both: unit vectors are all cases."""
    matrices = toom_cook(outputs)
    units = [[Fraction(i == j) for j in range(matrices.products)] for i in range(matrices.products)]
    for tap, point in product(range(3), range(matrices.products)):
        expected = [Fraction(point == output + tap) for output in range(outputs)]
        assert sliding(matrices, units[tap][:3], units[point]) == expected


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_two_dimensions(outputs: int) -> None:
    random, matrices = Random(outputs), toom_cook(outputs)
    n = matrices.products
    filters, data = ([[Fraction(random.randint(-9, 9), 7) for _ in range(s)] for _ in range(s)] for s in (3, n))
    squares = zip(nested(matrices.filter, filters), nested(matrices.input, data), strict=True)
    products = [[a * b for a, b in zip(left, right, strict=True)] for left, right in squares]
    expected = [
        [sum(filters[r][s] * data[i + r][j + s] for r in range(3) for s in range(3)) for j in range(outputs)]
        for i in range(outputs)
    ]
    assert nested(matrices.output, products) == expected


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_float32_has_the_entries_that_calls_multiply_with(outputs: int) -> None:
    matrices = toom_cook(outputs)
    assert all(Fraction(float(np.float32(e))) == e for matrix in (matrices.output, matrices.input) for row in matrix for e in row)


def test_shapes() -> None:
    matrices = toom_cook(4)
    assert (matrices.outputs, matrices.products) == (4, 6)


def test_no_bound_is_exceeded_and_the_worst_filter_and_data_reach_the_largest_product() -> None:
    """Of one dimension: filters and data of the signs of the entries that they meet."""
    for outputs in OUTPUTS:
        matrices = toom_cook(outputs)
        sizes = [sum(map(abs, row)) for row in matrices.input]
        largest = [max(map(abs, row)) for row in matrices.filter]
        for output, row in enumerate(matrices.output):
            total = sum(abs(a) * size * entry for a, size, entry in zip(row, sizes, largest, strict=True))
            assert total <= amplification(matrices), output


def test_the_points_of_four_outputs_have_a_quarter_of_the_usual_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = error_constant(toom_cook(4), 64)
    monkeypatch.setitem(subject.POINTS, 4, tuple(map(Fraction, (0, 1, -1, 2, -2))))
    usual = error_constant(toom_cook.__wrapped__(4), 64)
    assert 4.2 < usual / chosen < 4.3


def test_float32_stays_within_the_bound() -> None:
    random = np.random.default_rng(0)
    for outputs in OUTPUTS:
        matrices = toom_cook(outputs)
        output, filters, data = (
            np.array([[float(e) for e in row] for row in matrix], np.float32)
            for matrix in (matrices.output, matrices.filter, matrices.input)
        )
        d = random.standard_normal((500, matrices.products, matrices.products)).astype(np.float32)
        g = random.standard_normal((500, 3, 3)).astype(np.float32)
        found = output @ ((filters @ g @ filters.T) * (data @ d @ data.T)) @ output.T
        windows = np.lib.stride_tricks.sliding_window_view(d.astype(np.float64), (outputs, outputs), (1, 2))
        exact = np.einsum("brsij,brs->bij", windows, g.astype(np.float64))
        limit = float(error_constant(matrices, 0)) * 2.0**-24 * np.abs(d).max((1, 2)) * np.abs(g).sum((1, 2))
        error = np.abs(found - exact).max((1, 2))
        assert (error <= limit).all()
        assert error.max() > 0
