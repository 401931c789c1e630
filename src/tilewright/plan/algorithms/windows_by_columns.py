"""Windows by columns: the image is copied once for every tap of a window's columns, and rows of taps are offsets into the copy.

The copy is [batch, channel, tap column, row of the padded image, output column]. Outputs of all rows lie there one behind the
other, and the next row of taps sees the same, one row further on. So one product runs over all pixels of the output without a sum
that is left out, and the copy grows with the width of a window, not with its area as that of im2col does. Padding, and steps and
dilation along columns, come with the copy. Of more than two dimensions all but the first one count as columns.

V. Ferrari et al., "Advancing Direct Convolution using Convolution Slicing Optimization and ISA Extensions", 2023, pack tiles of
whole windows; offsets in place of the rows of taps save copies.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import axis as axis_index
from tilewright.graph.licences import Licence
from tilewright.graph.types import Access, Axis, AxisKind, Tensor
from tilewright.plan.algorithms import pixels_of_bytes
from tilewright.plan.algorithms.definition import Algorithm, Problem, expected
from tilewright.plan.algorithms.padded_image import SlidingProduct, at_positions, sliding_product
from tilewright.plan.algorithms.product_roles import each, number, plain, points


def applies(problem: Problem) -> bool:
    """Whether windows have rows, of several columns of outputs, that move by one: rows of outputs and of taps are then alike."""
    sliding = sliding_product(problem)
    if sliding is None or len(sliding.slides) < 2:
        return False
    rows = sliding.slides[0]
    return rows.tap is not None and rows.stride == 1 and not pixels_of_bytes.copies_least(problem)


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The copy, the filters of every row of taps as a matrix, and the product."""
    sliding = expected(sliding_product(problem))
    roles, tap, p, q = sliding.roles, row_tap(sliding), sliding.roles.column(), summed_at_once(sliding)
    weights = filters_by_row(builder, sliding, q)
    image = windows_of_pixels(builder, sliding, p, q)
    return roles.product_in_place(builder, (image, weights), (p,), (tap, q), number(roles.outputs), "fold")


def windows_of_pixels(builder: Builder, sliding: SlidingProduct, p: Axis, q: Axis) -> Access:
    """The copy [batch, (group, channel, tap column), (row, output column)], read at an output pixel by its number, a row of taps,
    and what is summed of it."""
    roles, by_row = sliding.roles, replace(sliding, slides=sliding.slides[:1])
    channels, pixels = (*roles.group, *depth_axes(sliding)), (*by_row.seen_axes(), *_columns(sliding))
    windows = roles.move(builder, (*each(roles.batch), channels, pixels), at_positions(by_row, roles.image), "unfold")
    depth = number(roles.group) * points((q,)) + axis_index(q.name)
    seen = axis_index(p.name) + sliding.slides[0].tap_position() * points(_columns(sliding))
    return Access(windows.name, (*plain(roles.batch), depth, seen))


def filters_by_row(builder: Builder, sliding: SlidingProduct, q: Axis) -> Access:
    """The filters as [tap row, (group, filter), (channel, tap column)], read at a row of taps, a channel, and what is summed."""
    roles, tap = sliding.roles, row_tap(sliding)
    filters = roles.move(builder, ((tap,), roles.result_channels, depth_axes(sliding)), roles.weights, "filters")
    return Access(filters.name, (axis_index(tap.name), roles.channels, axis_index(q.name)))


def row_tap(sliding: SlidingProduct) -> Axis:
    """The axis of rows of taps."""
    return expected(sliding.slides[0].tap)


def depth_axes(sliding: SlidingProduct) -> tuple[Axis, ...]:
    """What is summed for every row of taps: channels, and taps along columns."""
    return tuple(axis for axis in sliding.roles.reduced if axis != sliding.slides[0].tap)


def summed_at_once(sliding: SlidingProduct) -> Axis:
    """These axes as one."""
    return sliding.roles.axis("q", points(depth_axes(sliding)), AxisKind.REDUCTION)


def _columns(sliding: SlidingProduct) -> tuple[Axis, ...]:
    """Outputs of one row."""
    return sliding.roles.outputs[1:]


ALGORITHM = Algorithm("windows by columns", Licence.EXACT, applies, expand)
