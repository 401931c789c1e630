"""Winograd's minimal filtering: windows of 3 x 3 that move by one, by sums of products of transformed tiles.

A tile of (m + 2) x (m + 2) points of the padded image gives m x m outputs by (m + 2)^2 products for each pair of a channel and a
filter, in place of 9 m^2. With the matrices of `toom_cook.py`, and U = G w G^T, all are contractions, channels side by side:

    data     R[ty, u, x, c]     = sum(i) B^T[u, i] image[m ty + i, x, c]
             V[u, v, ty, tx, c] = sum(i) B^T[v, i] R[ty, u, m tx + i, c]
    product  M[u, v, ty, tx, o] = sum(c) V[u, v, ty, tx, c] U[u, v, c, o]
    result   S[ty, a, v, tx, o] = sum(i) A^T[a, i] M[i, v, ty, tx, o]
             y[ty, a, tx, b, o] = sum(i) A^T[b, i] S[ty, a, i, tx, o]

Of three dimensions each plane is transformed by itself, and the products sum over the taps along the first one, too. Where taps
lie d apart, so do the points that an output sees: the padded image is copied as d images along each dimension, every d-th point
from another first one, its *phases*, whose taps are neighbours.

Short rows of tiles fill no micro tile, and the filters pass by again for every row. `tiles_in_rows` takes all tiles of an image
as rows of one product, M[u, v, t, o] with t = ty columns + tx; then no chain can hold a block of the rows of tiles from the image
to the result, and data and products of the whole image lie in memory. On one core of a Xeon (L2 2 MiB), as rows of one
product over row by row: 256 channels of 14 x 14 0.81 over 1.03 ms, 64 of 56 x 56 1.18 over 1.05, 64 of 224 x 224 33.6 over 21.2.

A map puts the results into their places; maps behind the convolution (bias, activation, sum with a shortcut) join it. Filters
that do not change between calls are transformed when a kernel is loaded.

Errors are relative to the largest input of a tile (`tests/oracles/winograd_errors.py` has the bounds), and a NaN or an infinity
spreads over its tile, as entries of 0 are multiplied like others: hence `Licence.RANGE`. Source: A. Lavin, S. Gray, "Fast
Algorithms for Convolutional Neural Networks", CVPR 2016, section 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import isfinite, prod

import numpy as np

from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import Scalar, apply
from tilewright.graph.expressions.scalar_functions import REPORT_NOT_FINITE
from tilewright.graph.licences import Licence
from tilewright.graph.types import Access, Axis, AxisKind, Tensor
from tilewright.plan.algorithms.definition import Algorithm, Problem, expected
from tilewright.plan.algorithms.padded_image import Slide, SlidingProduct, padded, sliding_product
from tilewright.plan.algorithms.product_roles import MOVED, Axes, each, extents, number, parallel, plain, points, shape_of, sums
from tilewright.plan.algorithms.winograd.toom_cook import Matrix, ToomCook, toom_cook
from tilewright.precision import Precision
from tilewright.records import record

TAPS = 3
"""Of filters, along both dimensions."""
MOST_DIMENSIONS = 3
"""Along which windows move: tiles lie along the last two, and the products sum over the taps of others."""
SHORT_ROW = 32
"""Outputs of a row, and of a column, up to which all tiles are offered as rows of one product. Seven layers of 35 to 224 took
0.93 to 1.58 of the time so (Xeon), of 7, 14 and 28 0.78 to 1.11."""

MOST_PRODUCTS = 0.6
"""Of dilated windows, over those of taps, of which many are in the padding."""


def winograd(outputs: int, licence: Licence, precision: Precision, *, tiles_in_rows: bool = False) -> Algorithm:
    """The algorithm with tiles of outputs x outputs results, which reports NaN and infinities if its licence is `CHECKED`."""
    expand = partial(_expand, matrices=toom_cook(outputs, TAPS), licence=licence, tiles_in_rows=tiles_in_rows)
    name = f"Winograd F({outputs}x{outputs}, {TAPS}x{TAPS})" + ", tiles in rows" * tiles_in_rows
    return Algorithm(name, licence, partial(applies, tiles_in_rows=tiles_in_rows), expand, reads_tiles=True, precision=precision)


def applies(problem: Problem, *, tiles_in_rows: bool = False) -> bool:
    """Whether filters of 3 x 3 neighbours move by one over channels of float32, and sum them; what is around them is finite.

    Tiles in rows are for rows that leave much of micro tiles empty; longer ones would only be planned in vain.
    """
    sliding = square_windows(problem, most_dimensions=MOST_DIMENSIONS, any_dilation=True)
    if sliding is None or not _fills_tiles(sliding) or (tiles_in_rows and not has_short_rows(sliding)):
        return False
    tensors = (problem.operand(0), problem.operand(1), problem.result)
    is_float = problem.operator.accumulator == "float32" and all(tensor.dtype == "float32" for tensor in tensors)
    guard = sliding.roles.image.guard
    return is_float and (guard is None or isfinite(guard.otherwise))


def square_windows(problem: Problem, *, most_dimensions: int = 2, any_dilation: bool = False) -> SlidingProduct | None:
    """The windows of an operator that sums channels of filters of 3 x 3 neighbours, which move by one; None of others.

    Before these two there may be other dimensions, of any windows. Of any dilation taps need not be neighbours.
    """
    sliding = sliding_product(problem)
    if (
        sliding is None
        or not 2 <= len(sliding.slides) <= most_dimensions
        or not sliding.roles.filters
        or not sliding.summed_channels
    ):
        return None
    is_square = all(slide.tap is not None and points((slide.tap,)) == TAPS for slide in sliding.slides[-2:])
    steps = {step for slide in sliding.slides[-2:] for step in (slide.stride, 1 if any_dilation else slide.dilation)}
    return sliding if is_square and steps == {1} else None


def has_short_rows(sliding: SlidingProduct) -> bool:
    """Whether rows and columns of outputs are so short that all tiles are offered as rows of one product."""
    return all(_of_phase(slide) <= SHORT_ROW for slide in sliding.slides[-2:])


def _of_phase(slide: Slide) -> int:
    """The outputs of the longest phase."""
    return -(-points((slide.output,)) // slide.dilation)


def _fills_tiles(sliding: SlidingProduct) -> bool:
    """Whether taps are neighbours, or phases so long that tiles of two take at most `MOST_PRODUCTS` of the products of taps.

    Phases of one tile gain nothing: images so padded that as many outputs remain leave as many taps in the padding.
    """
    slides = sliding.slides[-2:]
    if all(slide.dilation == 1 for slide in slides):
        return True
    products = prod(slide.dilation * -(-_of_phase(slide) // 2) * 4 for slide in slides)
    are_long = all(_of_phase(slide) > 2 for slide in slides)
    return are_long and products <= MOST_PRODUCTS * TAPS**2 * prod(points((slide.output,)) for slide in slides)


def _expand(problem: Problem, builder: Builder, matrices: ToomCook, licence: Licence, tiles_in_rows: bool) -> Tensor:
    """The transforms, the products, and every result in its place."""
    sliding = expected(sliding_product(problem))
    body = apply(REPORT_NOT_FINITE, MOVED) if licence is Licence.CHECKED else MOVED
    expansion = Expansion(builder, sliding, matrices, tiles_in_rows, body)
    return expansion.in_place(expansion.results(expansion.products(expansion.data(), expansion.filters())))


@record
class Expansion:
    """The parts of an expansion. Every tensor but the image has a dimension for each axis of the operator that writes it."""

    builder: Builder
    sliding: SlidingProduct
    matrices: ToomCook
    tiles_in_rows: bool
    body: Scalar
    """What becomes of a result, `MOVED`, when it is put into its place."""

    def data(self) -> Tensor:
        """V[u, v, batch, plane, phase, ty, tx, channel]."""
        batch, (u, v) = (*self.sliding.roles.batch, *self._planes(), *self._phases()), self._points()
        step, i, channels, (ty, tx) = self.matrices.outputs, self._entry(), parallel(self.sliding.channels), self._tiles()
        image = self._image((*self.sliding.seen[:-2], *(step * points((tile,)) + TAPS - 1 for tile in (ty, tx))))
        x = self._axis("x", step * points((tx,)) + TAPS - 1)
        matrix = self._matrix(self.matrices.input)
        read = (*plain(batch), _position(ty, step, i), axis_index(x.name), number(channels))
        rows = self._sums((*batch, ty, u, x, *channels), (i,), _entries(matrix, u, i), Access(image.name, read))
        read = (*plain((*batch, ty, u)), _position(tx, step, i), *plain(channels))
        return self._sums((u, v, *batch, ty, tx, *channels), (i,), _entries(matrix, v, i), Access(rows.name, read))

    def _image(self, lengths: Sequence[int]) -> Tensor:
        """The padded image or its phases, with its channels last."""
        if not self._phases():
            return padded(self.builder, self.sliding, self.sliding.channels_last(lengths))
        *planes, y, x = self.sliding.seen_axes(lengths)
        lines = (replace(y, name=self._axis("y", 1).name), replace(x, name=self._axis("x", 1).name))
        dimensions = each((*self.sliding.roles.batch, *planes, *self._phases(), *lines, self.sliding.channel))
        places = {seen.name: number((line, phase)) for seen, line, phase in zip((y, x), lines, self._phases(), strict=True)}
        return padded(self.builder, self.sliding, dimensions, places=places)

    def _weights(self) -> Access:
        """The filters, as the operator reads them."""
        return self.sliding.roles.weights

    def filters(self) -> Tensor:
        """U[u, v, taps of other dimensions, group, channel, filter]."""
        roles, (u, v), matrix = self.sliding.roles, self._points(), self._matrix(self.matrices.filter)
        first, second = (expected(slide.tap) for slide in self.sliding.slides[-2:])
        others = (*parallel(self._other_taps()), *roles.group, *parallel(self.sliding.summed_channels), *roles.filters)
        rows = self._sums((u, *others, *parallel((second,))), (first,), _entries(matrix, u, first), self._weights())
        read = Access(rows.name, plain((u, *others, second)))
        return self._sums((u, v, *others), (second,), _entries(matrix, v, second), read)

    def products(self, data: Tensor, filters: Tensor, dtype: str = "float32") -> Tensor:
        """M[u, v, batch, outputs of other dimensions, phase, ty, tx, group, filter], summed in a type; of tiles in rows
        by sums over all tiles as one axis."""
        roles, summed = self.sliding.roles, (*self._other_taps(), *self.sliding.summed_channels)
        tiles = (*self._phases(), *self._tiles())
        walked = (self._axis("tile", points(tiles)),) if self.tiles_in_rows else tiles
        before, others = (*self._points(), *roles.batch), roles.outputs[:-2]
        lines = self.builder.reshape(data, extents((*before, *self._planes(), *walked, *self.sliding.channels)))
        positions = (slide.position() for slide in self.sliding.slides[:-2])
        image = Access(lines.name, (*plain(before), *positions, *plain((*walked, *self.sliding.channels))))
        inner = (*self._other_taps(), *roles.group, *self.sliding.summed_channels, *roles.filters)
        weights = Access(filters.name, plain((*self._points(), *inner)))
        found = self._sums((*before, *others, *walked, *roles.group, *roles.filters), summed, image, weights, dtype)
        return self.builder.reshape(found, extents((*before, *others, *tiles, *roles.result_channels)))

    def results(self, products: Tensor) -> Tensor:
        """y[batch, outputs of other dimensions, row, column, group, filter], with rows and columns that tiles have beyond."""
        roles, (ty, tx), (_, v), i = self.sliding.roles, self._tiles(), self._points(), self._entry()
        batch, phases, channels = (*roles.batch, *roles.outputs[:-2]), self._phases(), roles.result_channels
        matrix = self._matrix(self.matrices.output)
        a, b = (self._axis(name, self.matrices.outputs) for name in "ab")
        read = Access(products.name, plain((i, v, *batch, *phases, ty, tx, *channels)))
        rows = self._sums((*batch, *phases, ty, a, v, tx, *channels), (i,), _entries(matrix, a, i), read)
        read = Access(rows.name, plain((*batch, *phases, ty, a, i, tx, *channels)))
        axes, entries = (*batch, *phases, ty, a, tx, b, *channels), _entries(matrix, b, i)
        dimensions = (*each(batch), (ty, a, *phases[:1]), (tx, b, *phases[1:]), *each(channels))
        written = tuple(map(number, dimensions))
        return sums(self.builder, (*axes, i), (entries, read), written, shape_of(dimensions), "float32", "float32")

    def in_place(self, results: Tensor) -> Tensor:
        """The result of the operator: without what the last tiles have beyond the image."""
        roles = self.sliding.roles
        read = Access(results.name, plain((*roles.batch, *roles.outputs, *roles.result_channels)))
        return roles.in_place(self.builder, read, "crop", self.body)

    def _sums(self, axes: Axes, summed: Axes, left: Access, right: Access, dtype: str = "float32") -> Tensor:
        """The sums of products of two reads in a type, by axes of the result."""
        return sums(self.builder, (*axes, *summed), (left, right), plain(axes), extents(axes), dtype, dtype)

    def _matrix(self, matrix: Matrix) -> Tensor:
        return self.builder.literal(np.array([[float(entry) for entry in row] for row in matrix], np.float32), "matrix")

    def _phases(self) -> Axes:
        """Those along both dimensions; none where taps are neighbours."""
        steps = [slide.dilation for slide in self.sliding.slides[-2:]]
        return (self._axis("py", steps[0]), self._axis("px", steps[1])) if steps != [1, 1] else ()

    def _tiles(self) -> tuple[Axis, Axis]:
        """The tiles of a phase along both dimensions; the last may see points beyond the padded image, which are 0."""
        outputs = map(_of_phase, self.sliding.slides[-2:])
        ty, tx = (self._axis(name, -(-each // self.matrices.outputs)) for name, each in zip(("ty", "tx"), outputs, strict=True))
        return ty, tx

    def _planes(self) -> Axes:
        """The padded image along dimensions before those of the tiles."""
        return self.sliding.seen_axes()[:-2]

    def _other_taps(self) -> Axes:
        """The taps along these dimensions."""
        return tuple(slide.tap for slide in self.sliding.slides[:-2] if slide.tap is not None)

    def _points(self) -> tuple[Axis, Axis]:
        """The products of a tile, along both dimensions."""
        return self._axis("u", self.matrices.products), self._axis("v", self.matrices.products)

    def _entry(self) -> Axis:
        """The entries of a row of a square matrix."""
        return self._axis("i", self.matrices.products, AxisKind.REDUCTION)

    def _axis(self, name: str, extent: int, kind: AxisKind = AxisKind.PARALLEL) -> Axis:
        return self.sliding.roles.axis(name, extent, kind)


def _entries(matrix: Tensor, row: Axis, column: Axis) -> Access:
    return Access(matrix.name, plain((row, column)))


def _position(tile: Axis, step: int, offset: Axis) -> Index:
    """The position of a point of a tile."""
    return axis_index(tile.name) * step + axis_index(offset.name)


F2 = winograd(2, Licence.CHECKED, Precision.FLOAT32)
"""16 products for four results, 2.25 times fewer than sums over nine taps."""
F2_ROWS = winograd(2, Licence.CHECKED, Precision.FLOAT32, tiles_in_rows=True)
"""For images of few tiles, where a row of tiles fills no micro tile."""
F4 = winograd(4, Licence.RANGE, Precision.FAST)
"""36 products for sixteen results, four times fewer."""
ALGORITHMS = (F2, F2_ROWS, F4)
