"""Direct convolution with channel lanes: weighted sums over windows of images whose channels lie last; lanes run along these.

Some sums stand side by side in registers, one vector of channels each, past which a row of the image goes: so lanes are full
however short the rows of an image are. For every row of taps the columns of the image are loaded in order, each once, and
multiplied into every sum whose window sees it. Blocks of sums that may look at columns before the image or behind it ask for
every column; outside, and in rows that the image does not have, a column is what the guard says. So every sum takes its products
in the order of the taps, at borders, too.
"""

from __future__ import annotations

from tilewright.arrays import Count, Quantity, either, maximum, minimum, product
from tilewright.block.integers import IntegerExpression
from tilewright.block.leaf_binding import LeafBinding, Window
from tilewright.block.memory import View
from tilewright.block.statements import VectorLoops
from tilewright.c_text import names
from tilewright.c_text.integer_expressions import local, to_c
from tilewright.c_text.scalar_expressions import literal_text
from tilewright.c_text.statements import Lines, indent
from tilewright.c_text.vector_statements import VectorStatements
from tilewright.kernels.element_access import C_TYPES, NARROW_STORES, suffix
from tilewright.leaves import rowwise_reductions
from tilewright.leaves.declaration import CostProblem, Leaf, Lowered, Mismatch, Problem, Refusal
from tilewright.leaves.windows import LANES_WITH_MASKS, WindowSum, binding_of_windows, image_windows, rows_and_columns
from tilewright.leaves.windows_text import IMAGES, first_window, limit_value, strides_of
from tilewright.records import record

NAME = "channel lanes"
MOST_COLUMNS = 8
"""Sums side by side: as many multiply-adds as are under way at a time, two a cycle of four cycles each."""
LOADED = 1
"""Registers for columns of the image; the others hold sums, and the weights of a row of taps."""
COLUMN, TAP = map(local, ("column", "tap"))
STORED = frozenset(("float32", *NARROW_STORES))
"""Types that lanes are stored as, side by side."""
MOST_RESTS = 2
"""Blocks of other sizes behind the last whole one that have text of their own: that of a tile, and that of the last tile."""
SHARE_WITH_MASKS = 0.6
"""Of the peak, what multiply-adds reach where masks have registers of their own."""
SHARE = 0.85
"""The same on all other machines. One core of Zen 3 (peak 103 GFLOP/s), GFLOP/s, all included: 3x3 of 960 channels on 7 x 7
61, of 576 on 14 x 14 57, of 192 on 28 x 28 46; 5x5 of 672 on 14 x 14 61, of 240 on 28 x 28 61. Large images wait for memory: 144
of 56 x 56 35."""


@record
class ChannelLanes(WindowSum):
    """A weighted sum whose lanes run along `channel`."""

    channel: str

    def block(self, width: int | None, lanes: int) -> int:
        """Sums side by side: blocks of a known width are equal, but for the last. Vectors of 16 lanes have 32 registers."""
        most = self.most_columns(lanes)
        return most if width is None else -(-width // -(-width // most))

    def most_columns(self, lanes: int) -> int:
        """Sums side by side at most."""
        registers = 32 if lanes == 16 else 16
        return max(1, min(MOST_COLUMNS, registers - LOADED - self.columns.taps))


def form_of(binding: LeafBinding) -> ChannelLanes:
    """The weighted sum of a binding."""
    return ChannelLanes(*rows_and_columns(binding), channel=dict(binding.axes)["channel"])


def match(problem: Problem) -> tuple[LeafBinding, ...] | Refusal:
    """The windows of a weighted sum over channels that lie last, side by side."""
    operator = problem.operator
    windows = image_windows(operator)
    if isinstance(windows, Mismatch):
        return Refusal(NAME, windows)
    last = operator.write.indices[-1]
    channel, ends = str(last), (access.indices[-1] for access in operator.reads[:2])
    if not last.is_axis() or any(end.axes() != {channel} or end.coefficient(channel) != 1 for end in ends):
        return Refusal(NAME, Mismatch.LANES)
    if [axis.name for axis in operator.reduction_axes()] != [window.tap for window in windows]:
        return Refusal(NAME, Mismatch.ORDER_OF_TAPS)
    return binding_of_windows(NAME, operator, windows, channel=channel)


def seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """Multiply-adds in whole vectors, and what finishes the sums.

    Blocks of sums load the weights of a row of taps and the columns that they see, two vectors a cycle, as many as multiply-adds;
    a tile of columns is cut into equal blocks and a shorter one.
    """
    operator, form, lanes, sizes = problem.operator, form_of(binding), problem.lanes, problem.sizes
    assert operator.reduction is not None
    taps, columns = {axis.name for axis in operator.reduction_axes()}, form.columns.output
    width, tile = sizes[columns], problem.tiles[columns]
    around = product(sizes[axis.name] for axis in operator.axes if axis.name not in taps | {form.channel, columns})
    vectors = around * -(-sizes[form.channel] // lanes)
    steps = width // tile * _steps_of_columns(form, tile, lanes) + _steps_of_columns(form, width % tile, lanes)
    rows = form.rows.taps if form.rows is not None else 1
    share = SHARE_WITH_MASKS if lanes == LANES_WITH_MASKS else SHARE
    peak = problem.machine.highest_peak(operator.accumulator) * share
    finish_s = vectors * lanes * width * problem.seconds_per_element([operator.reduction.finish], 1)
    return 2 * vectors * lanes * rows * steps / peak + finish_s


def _steps_of_columns(form: ChannelLanes, columns: Count, lanes: int) -> Count:
    """Multiply-adds of a row of taps, or loads where these are more, for so many sums of a row."""
    blocks = maximum(-(-columns // form.most_columns(lanes)), 1)
    wide = maximum(-(-columns // blocks), 1)
    return columns // wide * _steps(form, wide) + _steps(form, columns % wide)


def _steps(form: ChannelLanes, wide: Count) -> Count:
    """Those of a block of sums; 0 of none."""
    slide = form.columns
    sums = wide * slide.taps
    seen = (wide - 1) * slide.stride + (slide.taps - 1) * slide.dilation + 1
    return either(wide > 0, maximum(sums, slide.taps + minimum(seen, sums)), 0)


def lower(loops: VectorLoops, binding: LeafBinding) -> Lowered:
    """The C of a box: of any reduction unless all is known of windows, and channels lie side by side in all operands."""
    form = form_of(binding)
    return _Emitter(loops, form=form) if _has_lanes(loops, form) else rowwise_reductions.lower(loops, binding)


def _has_lanes(loops: VectorLoops, form: ChannelLanes) -> bool:
    weights, box = loops.reads[1], dict(loops.box)
    if loops.block_steps or loops.vector_axis != form.channel or not isinstance(weights, View):
        return False
    is_plain = all(isinstance(read, View) for read in loops.reads[1:])
    is_known = all(isinstance(box[slide.tap].size, int) for slide in form.windows)
    has_types = loops.reads[0].dtype in IMAGES and weights.dtype == "float32" and loops.write.dtype in STORED
    strides = strides_of(loops)[form.channel], loops.write.stride(form.channel), weights.stride(form.channel)
    return is_plain and is_known and has_types and strides == (1, 1, 1)


@record(kw_only=True)
class _Emitter(VectorStatements):
    form: ChannelLanes

    def text(self) -> Lines:
        """Blocks of windows in their order, all channels of each, inside loops over all else.

        Memory is read as it lies: pixels one behind the other, and all channels of a pixel.
        """
        slid = {name for slide in self.form.windows for name in (slide.output, slide.tap)}
        around = [axis for axis, _ in self.loops.box if axis not in slid and axis != self.form.channel]
        rows = [self.form.rows.output] if self.form.rows is not None else []
        return self.nest([*around, *rows], ["{", *indent(self.blocks()), "}"])

    def blocks(self) -> Lines:
        """The sums of a row: in blocks, then what is left: side by side where that is one of few numbers, or one by one."""
        span = self.ranges[self.form.columns.output]
        sizes, size = span.sizes or frozenset(), to_c(span.size)
        wide = self.form.block(max(sizes, default=0) or None, self.loops.lanes)
        lines = ["long column = 0;"]
        lines += [f"for (; column + {wide} <= {size}; column += {wide}) {{", *indent(self.sums(wide)), "}"]
        rests = sorted({each % wide for each in sizes} - {0})
        if not sizes or len(rests) > MOST_RESTS:
            return [*lines, f"for (; column < {size}; column++) {{", *indent(self.sums(1)), "}"]
        for rest in rests:
            lines += [f"if (column + {rest} == {size}) {{", *indent(self.sums(rest)), "}"]
        return lines

    def sums(self, wide: int) -> Lines:
        """All channels of so many sums from a column on; only where windows may stand out is every column of them asked for."""
        inside = self.inside(wide)
        unchecked = self.of_all_channels(wide, checked=False)
        if not inside:
            return unchecked
        return [f"if ({inside}) {{", *indent(unchecked), "} else {", *indent(self.of_all_channels(wide, checked=True)), "}"]

    def of_all_channels(self, wide: int, *, checked: bool) -> Lines:
        """Blocks of so many sums, for one vector of channels after the other."""
        sizes, lanes = self.ranges[self.form.channel].sizes, self.loops.lanes
        has_rest = sizes is None or any(size % lanes for size in sizes)
        return self.over(self.form.channel, lambda part: self.block(wide, part, checked=checked), has_rest=has_rest)

    def image(self) -> str:
        """Where the first window of the row begins, were all of it inside of the image."""
        moving = {slide.tap for slide in self.form.windows} | {self.form.columns.output}
        start = first_window(self.loops) + self.shift(strides_of(self.loops).items(), moving)
        return f"{names.buffer_name(self.loops.reads[0].buffer)} + {to_c(start)}"

    def weights(self) -> str:
        """Where the weights of the window's first tap lie."""
        view = self.loops.view(1)
        taps = {slide.tap for slide in self.form.windows}
        return f"{names.buffer_name(view.buffer)} + {to_c(view.offset + self.shift(view.strides, taps))}"

    def inside(self, wide: int) -> str:
        """The C text that says whether so many windows from a column on look at columns of the image alone; "" if all do."""
        slide = self.form.columns
        first = (self.ranges[slide.output].start + COLUMN) * slide.stride
        last = first + (wide - 1) * slide.stride + (slide.taps - 1) * slide.dilation
        return " && ".join(_limits(slide, first, last))

    def block(self, wide: int, part: bool, *, checked: bool) -> Lines:
        """A vector of channels of so many sums from a column on."""
        lines = [f"const {self.pixel} *const image = {self.image()};", f"const float *const weights = {self.weights()};"]
        lines += [f"tw_vec sum_{number} = tw_splat(0.0f);" for number in range(wide)]
        lines += self.over_rows(wide, part, checked=checked)
        for number in range(wide):
            lines += ["{", *indent(self.stored(number, part)), "}"]
        return lines

    def over_rows(self, wide: int, part: bool, *, checked: bool) -> Lines:
        """The products of all rows of taps; a row that the image lacks is all that the guard says."""
        rows, strides = self.form.rows, strides_of(self.loops)
        at = local("image") + COLUMN * strides[self.form.columns.output]
        if rows is None:
            pointers = [f"const {self.pixel} *const seen = {to_c(at)};", "const float *const taps = weights;"]
            return ["{", *indent([*pointers, *self.row(wide, part, checked=checked)]), "}"]
        view = self.loops.view(1)
        position = (self.ranges[rows.output].start + self.offset(rows.output)) * rows.stride + TAP * rows.dilation
        limits = " && ".join(_limits(rows, position, position))
        pointers = [
            f"const {self.pixel} *const seen = {to_c(at + TAP * strides[rows.tap])};",
            f"const float *const taps = weights + {to_c(TAP * view.stride(rows.tap))};",
        ]
        body = self.row(wide, part, checked=checked)
        if limits:
            outside = self.row(wide, part, checked=False, is_outside=True)
            body = [f"if ({limits}) {{", *indent(body), "} else {", *indent(outside), "}"]
        return [f"for (long tap = 0; tap < {rows.taps}; tap++) {{", *indent([*pointers, *body]), "}"]

    def row(self, wide: int, part: bool, *, checked: bool, is_outside: bool = False) -> Lines:
        """The products of a row of taps: every column of the image that is seen, with every sum that sees it."""
        slide, view = self.form.columns, self.loops.view(1)
        lines = ["(void)seen;"] if is_outside else []
        lines += [
            f"const tw_vec weight_{tap} = {self.vector(local('taps') + tap * view.stride(slide.tap), part)};"
            for tap in range(slide.taps)
        ]
        for column, users in self.users(wide).items():
            seen = self.column(column, users[0], part, checked=checked, is_outside=is_outside)
            lines.append(f"const tw_vec column_{column} = {self.points_of(seen)};")
            lines += [f"sum_{number} = tw_multiply_add(column_{column}, weight_{tap}, sum_{number});" for number, tap in users]
        return lines

    def users(self, wide: int) -> dict[int, list[tuple[int, int]]]:
        """By the columns of the image that are seen, in order: the sums that see one, each with its tap."""
        slide = self.form.columns
        found: dict[int, list[tuple[int, int]]] = {}
        for number in range(wide):
            for tap in range(slide.taps):
                found.setdefault(number * slide.stride + tap * slide.dilation, []).append((number, tap))
        return dict(sorted(found.items()))

    def column(self, column: int, user: tuple[int, int], part: bool, *, checked: bool, is_outside: bool) -> str:
        """The vector of a column of the image."""
        slide, strides, otherwise = self.form.columns, strides_of(self.loops), f"tw_splat({literal_text(self.form.otherwise)})"
        if is_outside:
            return otherwise
        number, tap = user
        place = local("seen") + number * strides[slide.output] + tap * strides[slide.tap]
        position = (self.ranges[slide.output].start + COLUMN) * slide.stride + column
        limits = " && ".join(_limits(slide, position, position)) if checked else ""
        pixel = self.vector(place, part, suffix(self.loops.reads[0].dtype))
        return f"{limits} ? {pixel} : {otherwise}" if limits else pixel

    def vector(self, place: IntegerExpression, part: bool, of: str = "") -> str:
        """A vector of channels."""
        return f"tw_load_part{of}({to_c(place)}, lanes)" if part else f"tw_load{of}({to_c(place)})"

    @property
    def pixel(self) -> str:
        """The C type of the elements of the image."""
        return C_TYPES[self.loops.reads[0].dtype]

    def stored(self, number: int, part: bool) -> Lines:
        """Finish and store a sum."""
        lines = [f"const long {names.axis_offset(self.form.columns.output)} = {to_c(COLUMN + number)};"]
        return [*lines, *self.finished_sum(f"sum_{number}", part)]


def _limits(slide: Window, first: IntegerExpression, last: IntegerExpression) -> list[str]:
    """The C conditions for positions between two to be inside of the image; none that is known to hold."""
    lower = [f"{to_c(first)} >= {slide.first}"] if slide.first is not None else []
    upper = [f"{to_c(last)} <= {to_c(limit_value(slide.last))}"] if slide.last is not None else []
    return [*lower, *upper]


LEAF = Leaf(NAME, order=2, match=match, seconds=seconds, lower=lower)
