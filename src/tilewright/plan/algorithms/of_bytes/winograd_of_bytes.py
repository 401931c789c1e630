"""Winograd F(2x2, 3x3) of bytes, exactly: 16 products of 16-bit numbers for four results, in place of 36.

With G taken twice, all matrices are of whole numbers, and results come out four times as large:

    data     V = B^T d B, of bytes less their zero point: within 4 * 255
    filters  U = (2G) w (2G)^T, of weights less theirs: within 9 * 255
    product  M = sum(c) U V, pairs by pairs, modulo 2^32
    result   y = (A^T M A) / 4

16 bits hold data and filters, and float32 all sums that they are made of. Sums of products may wrap on the way, as additions of
32 bits do not mind: all that counts is that four times a result, which is at most 9 * 255 * 255 for every channel, is within
2^31. Division by 4 is a shift then, and results are those of the operator, bit for bit. Zero points are one number each.
Source: A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, section 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import axis as axis_index
from tilewright.graph.licences import Licence
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import Access, Operator, Tensor
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.of_bytes.integer_product import Factor
from tilewright.plan.algorithms.of_bytes.short_product import (
    SHORT,
    copied,
    image_and_filters,
    short_factors,
    widening,
    without_zeros,
)
from tilewright.plan.algorithms.padded_image import SlidingProduct, padded_for_tiles
from tilewright.plan.algorithms.product_roles import MOVED, Axes, extents, plain, points
from tilewright.plan.algorithms.winograd.tiles import TAPS, Expansion, has_short_rows, square_windows, summed_channels
from tilewright.plan.algorithms.winograd.toom_cook import ToomCook, toom_cook

OUTPUTS = 2
SUMS = "int32"
SHARE = 2
"""The binary logarithm of how much larger results come out."""
LARGEST_BYTE = 255
"""Of a byte less its zero point."""
MOST_CHANNELS = (2**31 - 1) // (4 * TAPS**2 * LARGEST_BYTE**2)
TYPES = {"uint8": (0, 255), "int8": (-128, 127)}


def applies(problem: Problem) -> bool:
    """Whether constant filters of 3 x 3 bytes move by one over channels of bytes, few enough for 32 bits, all of one group."""
    sliding = _windows(problem)
    if sliding is None or sliding.roles.group or len(sliding.roles.filters) != 1:
        return False
    guard, (least, most) = sliding.roles.image.guard, TYPES[problem.tensors[sliding.roles.image.tensor].dtype]
    is_constant = sliding.roles.weights.tensor in problem.constants
    is_small = points(summed_channels(sliding)) <= MOST_CHANNELS
    return is_constant and is_small and (guard is None or least <= guard.otherwise <= most)


def _applies_to_short_rows(problem: Problem) -> bool:
    sliding = _windows(problem)
    return sliding is not None and applies(problem) and has_short_rows(sliding)


def _windows(problem: Problem) -> SlidingProduct | None:
    """The windows of a product of bytes, without its zero points."""
    found = short_factors(problem)
    return square_windows(without_zeros(problem, found)) if found else None


def expand(problem: Problem, builder: Builder, *, tiles_in_rows: bool) -> Tensor:
    """The transforms, the products, and every result in its place."""
    found = short_factors(problem)
    plain_problem = without_zeros(problem, found)
    sliding = square_windows(plain_problem)
    assert sliding is not None
    image, filters = image_and_filters(plain_problem, found)
    expansion = _OfBytes(builder, sliding, _whole_matrices(), MOVED, image, filters)
    data, weights = (_short(builder, tensor) for tensor in (expansion.data(), expansion.filters()))
    product = expansion.product_of_rows if tiles_in_rows else expansion.products
    return expansion.in_place(expansion.results(product(data, weights, SUMS)))


def _whole_matrices() -> ToomCook:
    """Those of F(2, 3), with twice G."""
    found = toom_cook(OUTPUTS, TAPS)
    return replace(found, filter=tuple(tuple(2 * entry for entry in row) for row in found.filter))


def _short(builder: Builder, tensor: Tensor) -> Tensor:
    """Whole numbers in float32 as numbers of 16 bits."""
    return builder.body(Load(0), tensor, dtype=SHORT, accumulator="float32", kind="narrow")


@dataclass(frozen=True, slots=True)
class _OfBytes(Expansion):
    """The parts of an expansion whose transforms are in float32."""

    image: Factor
    weights: Factor

    def _image(self, lengths: Sequence[int]) -> Tensor:
        change = widening(self.image, "float32")
        return padded_for_tiles(self.builder, self.sliding, lengths, change)

    def _weights(self) -> Access:
        problem = self.sliding.roles.problem
        wide = self.builder.record(widening(self.weights, "float32")(copied), problem, self.weights, kind="widen")
        return replace(self.sliding.roles.weights, tensor=wide.name)

    def results(self, products: Tensor) -> Tensor:
        """y[batch, ty, a, tx, b, filter], of three products along each dimension: rows of A^T are (1, s, 1) from entry a on."""
        roles, (ty, tx) = self.sliding.roles, self._tiles()
        a, b = (self._axis(name, OUTPUTS) for name in "ab")
        channels = (*roles.group, *roles.filters)
        around = (*roles.batch, ty, a, tx, b, *channels)
        reads = [
            Access(products.name, (axis_index(a.name) + i, axis_index(b.name) + j, *plain((*roles.batch, ty, tx, *channels))))
            for i in range(TAPS)
            for j in range(TAPS)
        ]
        signs = self.builder.constant(np.array(_signs(self.matrices), np.int32), "signs")
        reads += [Access(signs.name, plain((axis,))) for axis in (a, b)]
        return self.builder.record(partial(_map, around, reads), kind="untransform")


def _signs(matrices: ToomCook) -> list[int]:
    """s of every row of A^T; all other entries are 1 or 0."""
    for row, entries in enumerate(matrices.output):
        others = [entry for place, entry in enumerate(entries) if place != row + 1]
        assert others == [Fraction(row <= place < row + TAPS) for place in range(len(entries)) if place != row + 1]
    return [int(entries[row + 1]) for row, entries in enumerate(matrices.output)]


def _map(axes: Axes, reads: Sequence[Access], *, name: str, result: str) -> tuple[Operator, Tensor]:
    """A^T M A of the nine products that come first among the reads, by the signs of both dimensions that come last, over 4."""
    down, across = Load(TAPS**2), Load(TAPS**2 + 1)
    columns = [_row([Load(TAPS * i + j) for i in range(TAPS)], down) for j in range(TAPS)]
    body = apply("right_shift", _row(columns, across), Literal(float(SHARE)))
    operator = Operator(name, "untransform", axes, tuple(reads), Access(result, plain(axes)), body, accumulator=SUMS)
    return operator, Tensor(result, extents(axes), SUMS)


def _row(entries: Sequence[Scalar], sign: Scalar) -> Scalar:
    """A row of A^T, (1, sign, 1), times three entries."""
    first, middle, last = entries
    return apply("add", apply("add", first, apply("multiply", sign, middle)), last)


def _algorithm(*, tiles_in_rows: bool) -> Algorithm:
    name = "Winograd F(2x2, 3x3) of short integers" + ", tiles in rows" * tiles_in_rows
    offered = _applies_to_short_rows if tiles_in_rows else applies
    return Algorithm(name, Licence.EXACT, offered, partial(expand, tiles_in_rows=tiles_in_rows), reads_tiles=True)


ALGORITHMS = _algorithm(tiles_in_rows=False), _algorithm(tiles_in_rows=True)
