"""Windows by columns: the image is copied once for every tap of a window's columns, and rows of taps are offsets into the copy.

The copy is [batch, channel, tap column, row of the padded image, output column]. Outputs of all rows lie there one behind the
other, and the next row of taps sees the same, one row further on. So one product runs over all pixels of the output without a sum
that is left out, and the copy grows with the width of a window, not with its area as that of im2col does. Padding, and steps and
dilation along columns, come with the copy. Of more than two dimensions all but the first one count as columns.

V. Ferrari et al., "Advancing Direct Convolution using Convolution Slicing Optimization and ISA Extensions", 2023, pack tiles of
whole windows; offsets in place of the rows of taps save copies.

Row blocks: windows are copied for a few rows of outputs at a time, and the copy stays in a cache until it was read.

The copy is [batch, block, (channel, taps), pixel of the block]: a loop over blocks holds the copy and the product. Where rows of
windows move by one, rows of taps are offsets into the copy, as above, and rows that two blocks see are copied for
both. Elsewhere whole windows are copied, as in im2col.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import Index, floordiv, mod
from tilewright.graph.index import axis as axis_index
from tilewright.graph.licences import Licence
from tilewright.graph.shapes import divisors_of
from tilewright.graph.types import Access, Axis, AxisKind, Tensor, element_bytes
from tilewright.plan.algorithms import im2col, pixels_of_bytes
from tilewright.plan.algorithms.definition import Algorithm, Problem, expected
from tilewright.plan.algorithms.padded_image import SlidingProduct, at_positions, sliding_product
from tilewright.plan.algorithms.product_roles import Axes, each, number, plain, points


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


COPY_SHARE = 0.5
"""Of the second level of caches that the copy of a block takes at most. Large blocks copy fewer rows twice."""
LEAST_PIXELS = 192
"""Of a block: columns of a few tiles of micro kernels. Copies of smaller images lie in a cache as a whole."""


@dataclass(frozen=True, slots=True)
class _Blocks:
    """A sliding product by blocks of rows of outputs."""

    sliding: SlidingProduct
    block: Axis
    row: Axis
    """Of outputs within a block."""
    pixel: Axis
    """Of outputs within a block, by its number."""

    def place(self, row: Axis) -> Index:
        """The row of the image or the output at a row of the block."""
        return axis_index(self.block.name) * points((self.row,)) + axis_index(row.name)


def applies_to_blocks(problem: Problem) -> bool:
    """Whether there are several equal blocks of rows, of several filters: what is read once needs no copy in a cache."""
    return _blocks(problem) is not None


def _blocks(problem: Problem) -> _Blocks | None:
    """The blocks: as large as a copy may be where neighbours share rows, else as small as they fill micro kernels, or smaller if
    a cache would not hold the copy."""
    sliding = sliding_product(problem)
    if sliding is None or len(sliding.slides) < 2 or sliding.slides[0].tap is None or not sliding.roles.filters:
        return None
    roles = sliding.roles
    rows, columns = points(roles.outputs[:1]), points(roles.outputs[1:])
    divisors = [count for count in divisors_of(rows) if count < rows]
    usable = [count for count in divisors if count * columns >= LEAST_PIXELS]
    if not usable:
        return None
    cache_bytes = problem.machine.levels[min(1, len(problem.machine.levels) - 1)].size_bytes
    shares_rows = applies(problem)
    copied = partial(_copied_bytes if shares_rows else _window_bytes, sliding)
    fitting = [count for count in divisors if copied(count) <= COPY_SHARE * cache_bytes]
    if shares_rows:
        block_rows = max((count for count in fitting if count in usable), default=usable[0])
    else:
        block_rows = usable[0] if not fitting or copied(usable[0]) <= cache_bytes else max(fitting)
    return _Blocks(
        sliding, roles.axis("block", rows // block_rows), roles.axis("r", block_rows), roles.axis("p", block_rows * columns)
    )


def _copied_bytes(sliding: SlidingProduct, block_rows: int) -> int:
    """The copy of a block of which rows of taps are offsets."""
    roles = sliding.roles
    seen = block_rows - points(roles.outputs[:1]) + sliding.slides[0].seen
    depth = points((*roles.group, *depth_axes(sliding)))
    return depth * seen * points(roles.outputs[1:]) * element_bytes(roles.problem.result.dtype)


def _window_bytes(sliding: SlidingProduct, block_rows: int) -> int:
    """The copy of a block of whole windows."""
    roles = sliding.roles
    return points((*roles.group, *roles.reduced, *roles.outputs[1:])) * block_rows * element_bytes(roles.problem.result.dtype)


def expand_blocks(problem: Problem, builder: Builder) -> Tensor:
    """The copies, the filters, the product as [batch, channel, block, pixel], and every sum in its place."""
    blocks = expected(_blocks(problem))
    roles, rows, columns = blocks.sliding.roles, points((blocks.row,)), blocks.sliding.roles.outputs[1:]
    by_offsets = applies(problem)
    image, weights, reduced = _by_offsets(builder, blocks) if by_offsets else _by_windows(builder, blocks)
    dimensions = (*each(roles.batch), roles.result_channels, (blocks.block,), (blocks.pixel,))
    axes = (*roles.batch, blocks.block, *roles.result_channels, blocks.pixel)
    sums = roles.product(builder, (image, weights), dimensions, reduced, axes)
    output = axis_index(roles.outputs[0].name)
    pixel = mod(output, rows) * points(columns) + number(columns)
    place = (*plain(roles.batch), roles.channels, floordiv(output, rows), pixel)
    return roles.in_place(builder, Access(sums.name, place), "fold")


def _by_offsets(builder: Builder, blocks: _Blocks) -> tuple[Access, Access, Axes]:
    """The image and the filters as the product reads them, and what it sums over, with rows of taps as offsets."""
    sliding, tap, q = blocks.sliding, row_tap(blocks.sliding), summed_at_once(blocks.sliding)
    weights = filters_by_row(builder, sliding, q)
    seen = replace(blocks.row, extent=points((blocks.row,)) + sliding.slides[0].seen - points(sliding.roles.outputs[:1]))
    by_row = replace(sliding, slides=sliding.slides[:1])
    (position,) = by_row.seen_axes()
    image = _moved_to(at_positions(by_row, sliding.roles.image), position, blocks.place(seen))
    pixel = axis_index(blocks.pixel.name) + sliding.slides[0].tap_position() * points(sliding.roles.outputs[1:])
    return _copied(builder, blocks, image, depth_axes(sliding), seen, q, pixel), weights, (tap, q)


def _by_windows(builder: Builder, blocks: _Blocks) -> tuple[Access, Access, Axes]:
    """The same with whole windows in the copy."""
    roles = blocks.sliding.roles
    q = roles.axis("q", points(roles.reduced), roles.reduced[0].kind)
    weights = im2col.filters_in_rows(builder, roles, q)
    image = _moved_to(roles.image, roles.outputs[0], blocks.place(blocks.row))
    return _copied(builder, blocks, image, roles.reduced, blocks.row, q, axis_index(blocks.pixel.name)), weights, (q,)


def _moved_to(image: Access, axis: Axis, place: Index) -> Access:
    """A read in which an index stands in place of an axis."""
    return image.mapped(lambda index: index.substitute({axis.name: place}))


def _copied(builder: Builder, blocks: _Blocks, image: Access, depth: Axes, row: Axis, q: Axis, pixel: Index) -> Access:
    """The copy [batch, block, (group, depth), (row, column)], read at all that is summed for a pixel."""
    roles = blocks.sliding.roles
    dimensions = (*each((*roles.batch, blocks.block)), (*roles.group, *depth), (row, *roles.outputs[1:]))
    copy = roles.move(builder, dimensions, image, "unfold")
    place = number(roles.group) * points((q,)) + axis_index(q.name)
    return Access(copy.name, (*plain((*roles.batch, blocks.block)), place, pixel))


ROW_BLOCKS = Algorithm("row blocks", Licence.EXACT, applies_to_blocks, expand_blocks)
ALGORITHMS = (ROW_BLOCKS,)
