"""Convolution as a GEMM: what is copied of the image, how pixels become axes, and which operand the vector lanes run along.

    sums[batch, pixel, channel] = sum over depth of image[batch, pixel, depth] * filters[depth, channel]

| Algorithm | Copy of the image | Axes of pixels | Lanes | Fits |
|---|---|---|---|---|
| pointwise | none | one | pixels | windows of one pixel |
| im2col | windows | one | pixels | all windows |
| windows by columns (partial im2col) | tap columns | one | pixels | rows of windows that move by one |
| row blocks (tiled im2col) | tap columns, else windows, of a block of rows | block, pixel | pixels | large images |
| shifted rows (shifted GEMM) | padded image, a line | one along the line | pixels | windows that move by one |
| padded rows | padded image | each dimension | pixels | long rows |
| filter lanes (filters as columns) | none, tap columns or windows | one | filters | constant filters |
| pixel rows (NHWC implicit GEMM) | none, or image with channels last | each dimension | filters | channels that lie last |
| pixels of bytes (the same of int8) | image with channels last | each dimension | filters | int8 |
| few channels | image with channels last, rows of taps as runs | each dimension | filters | int8 of few channels |

- Windows: K. Chellapilla, S. Puri, P. Simard, "High Performance Convolutional Neural Networks for Document Processing", 2006.
- Tap columns: the copy [(channel, tap column), (row of the padded image, output column)] has all rows of outputs one behind the
  other, and the next row of taps sees the same, one row further on: it is an offset, so that the copy grows with the width of a
  window, not with its area. Of more than two dimensions all but the first one count as columns. V. Ferrari et al., "Advancing
  Direct Convolution using Convolution Slicing Optimization and ISA Extensions", 2023, pack tiles of whole windows.
- Blocks of rows: a loop over blocks holds the copy and the product, and the copy stays in a cache until it was read. Rows that
  two blocks see are copied for both.
- Line: the rows of the padded image one behind the other. Tap k of pixel p sees the point p + k Q, with Q points from row to row;
  sums at the ends of rows are left out afterwards. A. Anderson, A. Vasudevan, C. Keane, D. Gregg, "Low-memory GEMM-based
  convolution algorithms for deep neural networks", arXiv:1709.03395, 2017.
- Each dimension: what follows (bias, activation, filters of one tap) walks the same rows and columns, so that one chain pads rows
  of the image, multiplies, and goes on. With steps along columns the copy has an image for every tap along them.
- Lanes along filters: constant filters are packed into panels when a kernel is loaded, and pixels are broadcast from where they
  lie. Lanes are full where images are small and filters many. A map puts the sums [pixel, filter] into their places.
- Channels last: neighbouring channels are neighbouring steps, as micro kernels of bytes take them. Of few channels a row of taps
  is one run: 7 taps of 3 channels are 21 steps. Weights of 0, for which rows are a pixel longer, fill the last group of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from math import prod

from tilewright.graph.builders.builder import Builder
from tilewright.graph.exactness import BYTES
from tilewright.graph.expressions.index import Index, floordiv, mod
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.licences import Licence
from tilewright.graph.shapes import divisors_of
from tilewright.graph.types import Access, Axis, AxisKind, Guard, Tensor, element_bytes
from tilewright.plan.algorithms import filters_in_place
from tilewright.plan.algorithms.definition import Algorithm, Problem, by_none, expected
from tilewright.plan.algorithms.depthwise import is_by_tiles
from tilewright.plan.algorithms.padded_image import SlidingProduct, WindowCopy, filters_by, padded, sliding_windows
from tilewright.plan.algorithms.product_roles import Axes, Change, ProductRoles, each, number, plain, points, roles_of, unchanged
from tilewright.records import record

COPY_SHARE = 0.5
"""Of the second level of caches that the copy of a block takes at most. Large blocks copy fewer rows twice."""
LEAST_BLOCK_PIXELS = 112
"""Columns of two tiles of micro kernels, or nearly. Copies of smaller images lie in a cache as a whole."""
LEAST_ROW_PIXELS = 64
"""Of padded rows: columns of a tile of micro kernels."""
LEAST_LANES_USED = 0.9
"""Of padded rows: share of the lanes of a row's vectors that have outputs."""
LEAST_PIXELS_IN_PLACE = 6
"""Of a row, for filters in place: tiles of fewer pixels wait for their weights."""
LEAST_FILTERS_USED = 0.7
"""Of filters in place: share of the lanes of a vector that have filters, so that no other algorithm is asked for."""
LEAST_STRIDED_CHANNELS = 16
"""Of windows that move by steps: copies of so many take 1.05 to 1.6 times as long as filters in place (Zen 4, 512-bit vectors;
1.0 to 2.1 with 256 bits; elsewhere not measured), though their price may be less."""
LEAST_COPIED_PIXELS = 4
"""Of a row of bytes: rows of fewer pixels are copied element by element."""
MANY_CHANNELS = 16
"""Of so many a few steps of zeros, that fill groups, are a small share."""
GROUP = 4
"""Steps that the largest group of a micro kernel has."""

Fits = Callable[[ProductRoles, SlidingProduct | None], int | None]
"""Whether a convolution of these roles and windows, if any move, may be computed so, true or false; or the rows of a block."""


class Copy(Enum):
    """What is copied of the image."""

    NONE = "none"
    WINDOWS = "windows"
    TAP_COLUMNS = "tap columns"
    ROW_BLOCKS = "tap columns, else windows, of a block of rows"
    PADDED_IMAGE = "padded image"
    PADDED_LINE = "padded image, a line"
    CHANNELS_LAST = "image with channels last"
    TAP_RUNS = "image with channels last, a row of taps one run of steps"


class Lanes(Enum):
    """What the vector lanes run along."""

    PIXELS = "pixels"
    FILTERS = "filters"


@record
class ConvolutionGemm:
    """The parameters of an algorithm."""

    name: str
    copies: tuple[Copy, ...]
    """The first is taken where it can be."""
    lanes: Lanes
    fits: Fits
    beaten_by: Callable[[Problem], frozenset[str]] = by_none

    def algorithm(self) -> Algorithm:
        """As the registry has it."""
        return Algorithm(self.name, Licence.EXACT, self.applies, self.expand, beaten_by=self.beaten_by)

    def applies(self, problem: Problem) -> bool:
        """Whether an operator is a convolution that fits."""
        roles = self._roles(problem)
        return roles is not None and bool(self.fits(roles, sliding_windows(roles))) and not is_by_tiles(problem)

    def expand(self, problem: Problem, builder: Builder, of_image: Change = unchanged, of_filters: Change = unchanged) -> Tensor:
        """The copies, which change elements but for weights of 0, the product, and every sum in its place."""
        roles = expected(self._roles(problem))
        return _Expansion(self, builder, roles, sliding_windows(roles), of_image, of_filters).result()

    def _roles(self, problem: Problem) -> ProductRoles | None:
        return roles_of(problem, least_outputs=1 if self.copies == (Copy.CHANNELS_LAST,) else 2)


@record
class _Operands:
    """What the product reads, and its axes."""

    image: Access
    filters: Access
    pixels: Axes
    place: tuple[Index, ...]
    """Of an output among the pixels."""
    summed: Axes


@record
class _Expansion:
    """The operators that compute a convolution."""

    how: ConvolutionGemm
    builder: Builder
    roles: ProductRoles
    sliding: SlidingProduct | None
    of_image: Change
    of_filters: Change

    def result(self) -> Tensor:
        """The operands, their product, and every sum in its place."""
        roles, found, copies = self.roles, self._operands(), self.how.copies
        batch, channels, pixels, reads = roles.batch, roles.result_channels, found.pixels, (found.image, found.filters)
        if Copy.PADDED_IMAGE in copies:
            axes = (*batch, *channels, *pixels, *found.summed)
            self.builder.operators.append(replace(roles.problem.operator, axes=axes, reads=reads))
            return roles.problem.result
        if self.how.lanes is Lanes.FILTERS:
            dimensions, axes = (*each((*batch, *pixels)), channels), (*batch, *roles.group, *pixels, *roles.filters)
            place = (*plain(batch), *found.place, roles.channels)
        else:
            dimensions, axes = (*each(batch), channels, *each(pixels)), (*batch, *pixels[:-1], *channels, *pixels[-1:])
            place = (*plain(batch), roles.channels, *found.place)
        product = roles.product(self.builder, reads, dimensions, found.summed, axes)
        kind = "reshape" if copies == (Copy.NONE,) else "crop" if Copy.PADDED_LINE in copies else "fold"
        merges = self.how.lanes is Lanes.PIXELS and Copy.ROW_BLOCKS not in copies
        return roles.in_place(self.builder, Access(product.name, place), kind, merges=merges)

    def _operands(self) -> _Operands:
        if not self.roles.is_moving:
            return self._pixels()
        of_windows = {
            Copy.PADDED_IMAGE: self._padded,
            Copy.PADDED_LINE: self._line,
            Copy.CHANNELS_LAST: self._channels_last,
            Copy.TAP_RUNS: self._runs,
        }.get(self.how.copies[-1])
        return of_windows(expected(self.sliding)) if of_windows else self._windows()

    def _pixels(self) -> _Operands:
        """Pixels where they lie, or copied with their channels last."""
        roles, is_row = self.roles, len(self.roles.outputs) == 1
        p = roles.outputs[0] if is_row else roles.axis("p", points(roles.outputs))
        image = roles.image if is_row else roles.pixels_in_a_row(self.builder, p)
        if Copy.NONE not in self.how.copies:
            axes = (*roles.batch, p, *roles.reduced)
            image = Access(roles.move(self.builder, each(axes), image, "turn", self.of_image).name, plain(axes))
        filters = roles.weights if self.how.lanes is Lanes.PIXELS else self._panels(roles.reduced, each(roles.reduced))
        return _Operands(image, filters, (p,), (number(roles.outputs),), roles.reduced)

    def _windows(self) -> _Operands:
        """Windows that are copied, for all rows of outputs or for a block of rows at a time."""
        roles, rows, columns = self.roles, points(self.roles.outputs[:1]), self.roles.outputs[1:]
        found = _copied(roles, self.sliding if self.how.copies != (Copy.WINDOWS,) else None)
        blocks: Axes = ()
        place: tuple[Index, ...] = (number(roles.outputs),)
        if Copy.ROW_BLOCKS in self.how.copies:
            block_rows, output = expected(_block_rows(roles, self.sliding)), axis_index(roles.outputs[0].name)
            blocks, rows = (roles.axis("block", rows // block_rows),), block_rows
            place = floordiv(output, rows), mod(output, rows) * points(columns) + number(columns)
            found = found.of_block(roles, blocks[0], rows)
        p, q = roles.axis("p", rows * points(columns)), roles.axis("q", points(found.depth), AxisKind.REDUCTION)
        filters = self._filter_rows(found, q) if self.how.lanes is Lanes.PIXELS else None
        outer, summed = (*roles.batch, *blocks), (*found.tap, q)
        dimensions = (*each(outer), (*roles.group, *found.depth), (*found.rows, *columns))
        copy = roles.move(self.builder, dimensions, found.image, "unfold")
        depth = number(roles.group) * points((q,)) + axis_index(q.name)
        image = Access(copy.name, (*plain(outer), depth, axis_index(p.name) + found.offset))
        filters = filters or self._panels(summed, (*each(found.tap), found.depth))
        return _Operands(image, filters, (*blocks, p), place, summed)

    def _line(self, sliding: SlidingProduct) -> _Operands:
        """The padded image as a line: windows are offsets into it."""
        roles, seen, image = self.roles, sliding.seen, padded(self.builder, sliding)
        line = self.builder.reshape(image, (*image.shape[: -len(seen)], prod(seen)))
        steps = [(slide, prod(seen[d + 1 :])) for d, slide in enumerate(sliding.slides)]
        p = roles.axis("p", 1 + sum((points((slide.output,)) - 1) * step for slide, step in steps))
        shifted = sum((slide.tap_position() * step for slide, step in steps), axis_index(p.name))
        places = (axis_index(slide.output.name) * step for slide, step in steps if points((slide.output,)) > 1)
        read = Access(line.name, (*sliding.image_dimensions(), shifted))
        return _Operands(read, self._filters_by_tap(sliding), (p,), (sum(places, Index()),), roles.reduced)

    def _padded(self, sliding: SlidingProduct) -> _Operands:
        """The padded image, read at windows; with steps along columns a copy of it for every tap along them."""
        if sliding.slides[-1].stride > 1:
            by_row, last = replace(sliding, slides=sliding.slides[:-1]), sliding.slides[-1]
            outer = (*self.roles.batch, *sliding.channels, *((last.tap,) if last.tap is not None else ()))
            axes = (*outer, *by_row.seen_axes(), last.output)
            copy = self.roles.move(self.builder, each(axes), by_row.at_positions(self.roles.image), "unfold")
            image = Access(copy.name, (*plain(outer), *by_row.positions, *plain((last.output,))))
        else:
            image = Access(padded(self.builder, sliding).name, (*sliding.image_dimensions(), *sliding.positions))
        return _Operands(image, self._filters_by_tap(sliding), self.roles.outputs, plain(self.roles.outputs), self.roles.reduced)

    def _channels_last(self, sliding: SlidingProduct) -> _Operands:
        """Windows whose channels lie side by side: of the image, or of a copy of what they see of it."""
        roles, image, summed = self.roles, self.roles.image, (*sliding.taps, *sliding.summed_channels)
        filters = self._panels(summed, each(summed)) if Copy.NONE in self.how.copies else None
        if image.guard is not None or filters is None:
            copy = padded(self.builder, sliding, sliding.channels_last(), self.of_image)
            image = Access(copy.name, (*plain(roles.batch), *sliding.positions, number(sliding.channels)))
        filters = filters or self._panels(summed, each(summed))
        return _Operands(image, filters, roles.outputs, plain(roles.outputs), summed)

    def _runs(self, sliding: SlidingProduct) -> _Operands:
        """Windows of which a row of taps and its channels are one run of steps."""
        roles, last, joined = self.roles, sliding.slides[-1], (sliding.taps[-1], *sliding.channels)
        channels, steps = points(sliding.channels), points(joined)
        run = roles.axis("run", -(-steps // GROUP) * GROUP, AxisKind.REDUCTION)
        longer = -(-points((run,)) // channels) - points(joined[:1])
        *rows, pixel = sliding.seen_axes((*sliding.seen[:-1], sliding.seen[-1] + longer))
        copy = padded(self.builder, sliding, (*each((*roles.batch, *rows)), (pixel, sliding.channel)), self.of_image)
        step, summed = axis_index(run.name), (*sliding.taps[:-1], run)
        place = axis_index(last.output.name) * (last.stride * channels) + step
        weights = roles.weights_by({run: joined})
        if steps < points((run,)):
            weights = replace(weights, guard=Guard((step * -1 + (steps - 1),), 0.0))
        image = Access(copy.name, (*plain(roles.batch), *sliding.positions[:-1], place))
        return _Operands(image, self._panels(summed, each(summed), weights), roles.outputs, plain(roles.outputs), summed)

    def _panels(self, summed: Axes, depths: Sequence[Axes], weights: Access | None = None) -> Access:
        """The filters [group, depths, filter]."""
        roles = self.roles
        groups = (roles.group,) if Copy.WINDOWS in self.how.copies else each(roles.group)
        dimensions = (*groups, *depths, roles.filters)
        filters = roles.move(self.builder, dimensions, weights or roles.weights, "filters", self.of_filters)
        return Access(filters.name, (*map(number, groups), *plain((*summed, *roles.filters))))

    def _filters_by_tap(self, sliding: SlidingProduct) -> Access:
        """The filters with their taps first: those of one tap are a matrix."""
        return filters_by(self.builder, sliding, (*sliding.taps, *self.roles.result_channels, *sliding.summed_channels))

    def _filter_rows(self, found: WindowCopy, q: Axis) -> Access:
        """The filters [row of taps, channel, depth]; of whole windows an index change."""
        roles, channels = self.roles, self.roles.result_channels
        m, depth = Axis("m", points(channels)), Axis("q", points(found.depth))
        read = roles.weights if found.tap else roles.weights_by({m: channels, depth: found.depth})
        dimensions = (found.tap, channels, found.depth) if found.tap else each((m, depth))
        rows = roles.move(self.builder, dimensions, read, "filters")
        return Access(rows.name, (*plain(found.tap), roles.channels, axis_index(q.name)))


def _copied(roles: ProductRoles, sliding: SlidingProduct | None) -> WindowCopy:
    """What is copied of windows: what a row of taps sees, where rows of outputs share it, or all of each."""
    if sliding is not None and _shares_rows(roles, sliding):
        return sliding.tap_columns()
    return WindowCopy(roles.image, roles.outputs[:1], roles.reduced, (), Index())


def _block_rows(roles: ProductRoles, sliding: SlidingProduct | None) -> int | None:
    """Rows of equal blocks: as many as a copy may have where neighbours share rows, else as few as fill micro kernels, or fewer
    if a cache would not hold the copy. None where what is read once needs no copy in a cache: of one filter, or few pixels."""
    rows, columns = points(roles.outputs[:1]), points(roles.outputs[1:])
    divisors = [count for count in divisors_of(rows) if count < rows]
    usable = [count for count in divisors if count * columns >= LEAST_BLOCK_PIXELS]
    if sliding is None or len(sliding.slides) < 2 or sliding.slides[0].tap is None or not roles.filters or not usable:
        return None
    found, machine = _copied(roles, sliding), roles.problem.machine
    row_bytes = points((*roles.group, *found.depth)) * columns * element_bytes(roles.problem.result.dtype)
    cache_bytes, more = machine.levels[machine.fusion_position].size_bytes, points(found.rows) - rows
    fitting = [count for count in divisors if (count + more) * row_bytes <= COPY_SHARE * cache_bytes]
    if found.tap:
        return max((count for count in fitting if count in usable), default=usable[0])
    return usable[0] if not fitting or usable[0] * row_bytes <= cache_bytes else max(fitting)


def _has_pixels(roles: ProductRoles, sliding: SlidingProduct | None) -> bool:
    """Whether every output reads its pixel, along dimensions that lie side by side as a whole."""
    return not roles.is_moving and roles.dimension_of_pixels is not None


def _moves(roles: ProductRoles, sliding: SlidingProduct | None) -> bool:
    """Whether windows move over an operand: whatever the guard and the index maps are, they are those of the copy."""
    return roles.is_moving and not _has_many_bytes(roles, sliding)


def _shares_rows(roles: ProductRoles, sliding: SlidingProduct | None) -> bool:
    """Whether windows have rows, of several columns of outputs, that move by one: rows of outputs and of taps are then alike."""
    rows = sliding.slides[0] if sliding is not None and len(sliding.slides) > 1 else None
    return rows is not None and rows.tap is not None and rows.stride == 1 and not _has_many_bytes(roles, sliding)


def _moves_by_one(roles: ProductRoles, sliding: SlidingProduct | None) -> bool:
    """Whether windows move by one: with steps most sums of a line would be left out."""
    return sliding is not None and not _is_read_in_place(roles) and all(slide.stride == 1 for slide in sliding.slides)


def _has_long_rows(roles: ProductRoles, sliding: SlidingProduct | None) -> bool:
    """Whether rows of outputs are long, fill vectors, and lie side by side in the result."""
    problem, length = roles.problem, points(roles.outputs[-1:])
    lanes = problem.machine.lanes(element_bytes(problem.result.dtype))
    fills = length >= LEAST_LANES_USED * lanes * -(-length // lanes) and length >= LEAST_ROW_PIXELS
    has_rows = sliding is not None and len(sliding.slides) > 1 and bool(roles.filters)
    return has_rows and fills and problem.operator.write.innermost() == roles.outputs[-1].name


def _has_filter_panels(roles: ProductRoles, sliding: SlidingProduct | None) -> bool:
    """Whether filters are packed when a kernel is loaded, and pixels can be walked as one axis: of windows, where rows are too
    short for tiles that read these in their place."""
    is_one = bool(roles.outputs) and (roles.is_moving or roles.dimension_of_pixels is not None)
    if _is_read_in_place(roles):
        return False
    return is_one and bool(roles.filters) and roles.has_constant_filters and not _is_of_bytes(roles)


def _is_read_in_place(roles: ProductRoles) -> bool:
    """Whether blocks of constant filters meet windows in their place: on rows of some pixels they take less time than copies of
    windows with their products."""
    is_long = roles.is_moving and points(roles.outputs[-1:]) >= LEAST_PIXELS_IN_PLACE
    fills = points(roles.filters) >= LEAST_FILTERS_USED * roles.problem.machine.lanes(element_bytes("float32"))
    return is_long and fills and filters_in_place.applies(roles.problem)


def _in_place_by_steps(problem: Problem) -> frozenset[str]:
    """What beats copies of windows of many channels that move by steps: filters in place, where they fill vectors."""
    roles = roles_of(problem)
    sliding = None if roles is None else sliding_windows(roles)
    if roles is None or sliding is None or any(slide.stride == 1 for slide in sliding.slides):
        return frozenset()
    is_beaten = points(sliding.channels) >= LEAST_STRIDED_CHANNELS and _is_read_in_place(roles)
    return frozenset({filters_in_place.ALGORITHM.name} if is_beaten else ())


def _has_channels_last(roles: ProductRoles, sliding: SlidingProduct | None) -> bool:
    """Whether windows see several channels that lie side by side, in all or in each of some groups, and meet several filters."""
    if sliding is None or len(sliding.summed_channels) != 1 or len(roles.filters) != 1:
        return False
    return roles.image.indices[-1].axes() == {axis.name for axis in sliding.channels} and roles.has_constant_filters


def _is_of_bytes(roles: ProductRoles) -> bool:
    """Whether both operands are bytes: kernels take groups of neighbouring steps of a row."""
    return all(roles.problem.operand(read).dtype in BYTES for read in (0, 1))


def _has_byte_panels(roles: ProductRoles, sliding: SlidingProduct | None) -> bool:
    """Whether constant filters of bytes meet several channels of an image of bytes, all of them."""
    meets_all = not roles.group and len(roles.filters) == 1 and roles.has_constant_filters and _is_of_bytes(roles)
    if not meets_all or points(roles.outputs[-1:]) < LEAST_COPIED_PIXELS:
        return False
    if sliding is not None:
        return len(sliding.channels) == 1
    is_one = len(roles.outputs) == 1 or roles.dimension_of_pixels is not None
    return not roles.is_moving and is_one and len(roles.reduced) == 1


def _has_many_bytes(roles: ProductRoles, sliding: SlidingProduct | None) -> bool:
    """Whether steps come in whole groups of channels of bytes: other copies are in pieces of a row, or not side by side.

    64 filters of 3 x 3 x 64 at 56 x 56, one core of a Xeon: 0.08 ms with channels last, 0.6 by tap columns.
    """
    return sliding is not None and _has_byte_panels(roles, sliding) and points(sliding.channels) >= MANY_CHANNELS


def _has_tap_runs(roles: ProductRoles, sliding: SlidingProduct | None) -> bool:
    """Whether constant filters of several neighbouring taps in a row meet a few channels of an image of bytes, all of them."""
    if sliding is None or (last := sliding.slides[-1]).tap is None or last.dilation > 1 or points(sliding.taps[-1:]) == 1:
        return False
    meets_all = not roles.group and len(roles.filters) == len(sliding.channels) == 1 and roles.has_constant_filters
    return meets_all and points(sliding.channels) < MANY_CHANNELS and _is_of_bytes(roles)


FILTER_LANES = ConvolutionGemm("filter lanes", (Copy.NONE, Copy.TAP_COLUMNS, Copy.WINDOWS), Lanes.FILTERS, _has_filter_panels)
PADDED_ROWS = ConvolutionGemm("padded rows", (Copy.PADDED_IMAGE,), Lanes.PIXELS, _has_long_rows)
ROW_BLOCKS = ConvolutionGemm("row blocks", (Copy.ROW_BLOCKS,), Lanes.PIXELS, _block_rows, _in_place_by_steps)
FEW_CHANNELS = ConvolutionGemm("few channels", (Copy.TAP_RUNS,), Lanes.FILTERS, _has_tap_runs)
PIXELS_OF_BYTES = ConvolutionGemm("pixels of bytes", (Copy.CHANNELS_LAST,), Lanes.FILTERS, _has_byte_panels)
OF_INTEGERS = (
    PIXELS_OF_BYTES,
    ConvolutionGemm("im2col", (Copy.WINDOWS,), Lanes.PIXELS, _moves, _in_place_by_steps),
    ConvolutionGemm("pixel rows", (Copy.NONE, Copy.CHANNELS_LAST), Lanes.FILTERS, _has_channels_last),
    ConvolutionGemm("pointwise", (Copy.NONE,), Lanes.PIXELS, _has_pixels),
    ConvolutionGemm("shifted rows", (Copy.PADDED_LINE,), Lanes.PIXELS, _moves_by_one),
    ConvolutionGemm("windows by columns", (Copy.TAP_COLUMNS,), Lanes.PIXELS, _shares_rows),
)
"""Those for products that zero points are taken out of."""
VARIANTS = (FILTER_LANES, PADDED_ROWS, ROW_BLOCKS, FEW_CHANNELS, *OF_INTEGERS)
ALGORITHMS = tuple(variant.algorithm() for variant in VARIANTS)
