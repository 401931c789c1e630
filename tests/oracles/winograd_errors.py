"""Bounds of the rounding errors of Winograd's algorithms in float32, by the entries of their matrices (Barabasz et al. 2020)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tilewright.plan.algorithms.winograd.toom_cook import ToomCook


def amplification(matrices: ToomCook) -> Fraction:
    """How far products may exceed the largest result, for filters and tiles of one dimension.

    The largest sum over k of |A[k, i]| |row k of B^T|_1 max|row k of G|: product k is at most the largest input times the row sum
    of B^T, times the sum of the absolute values of the filter times the largest entry of G. The square of it is that of two
    dimensions. Roundings are relative to products.
    """
    sizes = [sum(map(abs, data)) * max(map(abs, taps)) for data, taps in zip(matrices.input, matrices.filter, strict=True)]
    return max(sum((abs(a) * size for a, size in zip(row, sizes, strict=True)), Fraction(0)) for row in matrices.output)


def roundings(matrices: ToomCook) -> int:
    """That a product of two dimensions goes through: of the multiply-adds of three transforms, twice each, and its own.

    Entries of a matrix that float32 does not hold are rounded, too, twice each.
    """
    every = (matrices.output, matrices.filter, matrices.input)
    most = sum(max(sum(entry != 0 for entry in row) for row in matrix) for matrix in every)
    inexact = sum(any(Fraction(float(np.float32(float(e)))) != e for row in matrix for e in row) for matrix in every)
    return 2 * (most + inexact) + 1


def error_constant(matrices: ToomCook, additions: int) -> Fraction:
    """c of |error| <= c u |d|_max |g|_1 for sums over channels in which a product goes through so many additions.

    |d|_max is the largest input of the tile, |g|_1 the sum of the absolute values of all taps of all channels, u the unit
    roundoff (of first order in u; theorem 3, with entrywise bounds in place of norms).

    >>> from tilewright.plan.algorithms.winograd.toom_cook import toom_cook
    >>> [round(float(error_constant(toom_cook(m), 64))) for m in (2, 4)]
    [1296, 18565]
    """
    return amplification(matrices) ** 2 * (roundings(matrices) + additions)
