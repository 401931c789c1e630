"""C text of channel sums: some sums side by side in registers, one vector of channels each, past which a row of the image goes.

For every row of taps the columns of the image are loaded in order, each once, and multiplied into every sum whose window sees it.
Blocks of sums that may look at columns before the image or behind it ask for every column; outside, and in rows that the image
does not have, a column is what the guard says. So every sum takes its products in the order of the taps, at borders, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.block.integers import IntegerExpression
from tilewright.codegen import names
from tilewright.codegen.emit_c.c_text import Lines, indent
from tilewright.codegen.emit_c.integer_expressions import local, to_c
from tilewright.codegen.emit_c.scalar_expressions import literal_text
from tilewright.codegen.emit_c.vectors.sliding_weights import IMAGES, first_window, limit_value, strides_of
from tilewright.codegen.emit_c.vectors.statements import VectorStatements
from tilewright.codegen.loop_nest import VectorLoops, View
from tilewright.kernels.element_access import C_TYPES, NARROW_STORES, suffix
from tilewright.plan.regions.sliding_sums import ChannelSum, Slide, channel_sum

COLUMN, TAP = map(local, ("column", "tap"))
STORED = frozenset(("float32", *NARROW_STORES))
"""Types that lanes are stored as, side by side."""
MOST_RESTS = 2
"""Blocks of other sizes behind the last whole one that have text of their own: that of a tile, and that of the last tile."""


def sums_channels(loops: VectorLoops) -> bool:
    """Whether all is known of windows, and channels lie side by side in the image, the weights and the result."""
    found = channel_sum(loops.operator) if loops.sliding_lanes and not loops.block_steps else None
    if found is None or loops.vector_axis != found.channel or loops.scalar_element_type:
        return False
    weights, box = loops.reads[1], dict(loops.box)
    is_plain = isinstance(weights, View) and all(isinstance(read, View) for read in loops.reads[1:])
    is_known = all(isinstance(box[slide.tap].size, int) for slide in _slides(found))
    has_types = loops.reads[0].dtype in IMAGES and weights.dtype == "float32" and loops.write.dtype in STORED
    in_a_row = strides_of(loops)[found.channel] == 1 and loops.write.stride(found.channel) == 1
    return is_plain and is_known and has_types and in_a_row and isinstance(weights, View) and weights.stride(found.channel) == 1


def emit_channel_sum(loops: VectorLoops) -> Lines:
    """The lines of a channel sum."""
    found = channel_sum(loops.operator)
    assert found is not None
    return _Emitter(loops, form=found).text()


def _slides(found: ChannelSum) -> tuple[Slide, ...]:
    return (found.columns,) if found.rows is None else (found.rows, found.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Emitter(VectorStatements):
    form: ChannelSum

    def text(self) -> Lines:
        """Blocks of windows in their order, all channels of each, inside loops over all else.

        Memory is read as it lies: pixels one behind the other, and all channels of a pixel.
        """
        slid = {name for slide in _slides(self.form) for name in (slide.output, slide.tap)}
        around = [axis for axis, _ in self.loops.box if axis not in slid and axis != self.form.channel]
        rows = [self.form.rows.output] if self.form.rows is not None else []
        return self.nest([*around, *rows], ["{", *indent(self.blocks()), "}"])

    def blocks(self) -> Lines:
        """The sums of a row: in blocks, then what is left: side by side where that is one of few numbers, or one by one."""
        span = self.ranges[self.form.columns.output]
        sizes, size = span.sizes or frozenset(), to_c(span.size)
        wide = self.form.block(max(sizes, default=0) or None, self.loops.sliding_lanes)
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
        sizes, lanes = self.ranges[self.form.channel].sizes, self.loops.sliding_lanes
        has_rest = sizes is None or any(size % lanes for size in sizes)
        return self.over(self.form.channel, lambda part: self.block(wide, part, checked=checked), has_rest=has_rest)

    def image(self) -> str:
        """Where the first window of the row begins, were all of it inside of the image."""
        moving = {slide.tap for slide in _slides(self.form)} | {self.form.columns.output}
        start = first_window(self.loops) + self.shift(strides_of(self.loops).items(), moving)
        return f"{self.loops.reads[0].buffer} + {to_c(start)}"

    def weights(self) -> str:
        """Where the weights of the window's first tap lie."""
        view = self.loops.view(1)
        taps = {slide.tap for slide in _slides(self.form)}
        return f"{view.buffer} + {to_c(view.offset + self.shift(view.strides, taps))}"

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


def _limits(slide: Slide, first: IntegerExpression, last: IntegerExpression) -> list[str]:
    """The C conditions for positions between two to be inside of the image; none that is known to hold."""
    lower = [f"{to_c(first)} >= {slide.first}"] if slide.first is not None else []
    upper = [f"{to_c(last)} <= {to_c(limit_value(slide.last))}"] if slide.last is not None else []
    return [*lower, *upper]
