"""Sliding sums: weighted sums over windows that move along rows and columns, whose lanes run along the columns.

Every row of the image may then be read once, in order: each of its vectors takes part in all sums of rows whose windows reach it,
and these stay in registers until their last row has passed.

Channel sums: weighted sums over windows of images whose channels lie last; lanes run along the channels.

Every column of the image that several neighbouring windows see is loaded once for all of them, and the sums of these stay in
registers. So lanes are full however short the rows of an image are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd

from tilewright.graph.index import Index, of_extent
from tilewright.graph.scalar import Apply, Literal, Load, Point, Scalar, State, apply, subexpressions
from tilewright.graph.types import AxisKind, Operator, Reduction, StateVariable

WEIGHTED_SUM = Reduction((StateVariable("sum", 0.0, apply("multiply", Point(), Load(1)), "add"),), State("sum"))
"""Of what the first read gives at a point, with weights that the second one gives."""
MOST_STRIDE = 2
"""Between columns: even and odd ones are told apart in registers."""
MOST_ROWS = 12
"""Rows of sums that wait in registers."""
TEMPORARIES = 5
"""Registers for what is loaded, and for spare."""
FEW_TAPS = 9
"""Weights that wait in registers; more are loaded where they are used."""
MOST_VECTORS = 8
"""Side by side: the text grows with them."""
FEW_VECTORS = 2
"""Side by side behind whole blocks, where widths are known at run time: no vector but the last two is computed in vain."""
LANES_OF_ANY_SHUFFLE = 16
"""Vectors of so many: AVX-512 takes any lanes of two by one instruction."""
ROWS_AHEAD = 12
"""From the row that is stored to that whose store is prefetched. One core of Zen 5, columns in blocks, ms without and with 0, 4,
12: 5x5 of 1 channel and 64 filters on 270 x 480 16.7, 7.0, 6.4, 6.4; 9x9 on 256 x 256 11.2, 5.0, 4.9, 5.0. A Xeon with AMX, least
ms with 4, 8, 12, 16, 24: that 5x5 5.8, 5.5, 5.3, 5.3, 5.6; depthwise 3x3, 32 of 480 x 480 5.3, 4.8, 4.4, 4.0, 4.1."""


@dataclass(frozen=True, slots=True)
class Slide:
    """Windows along a dimension of the image: output o and tap k look at the position `stride` * o + `dilation` * k."""

    output: str
    tap: str
    taps: int
    stride: int
    dilation: int
    first: int | None = None
    """The lowest position that is inside of the image; None if all are."""
    last: int | Index | None = None
    """The highest position inside of it, an extent known at run time and a number where it follows from one; None if all are."""

    @property
    def waiting(self) -> int:
        """Outputs behind the newest that a position may still take part in."""
        return (self.taps - 1) * self.dilation // self.stride

    def limited(self, constraint: Index) -> Slide | None:
        """The windows, with a constraint of a guard as a limit of positions; None if it is none of them."""
        terms = dict(constraint.terms)
        extents = [(terms.pop(extent), extent) for extent in constraint.extents()]
        factor, rest = divmod(terms.pop(self.output, 0), self.stride)
        if rest or not factor or terms != ({self.tap: factor * self.dilation} if self.tap else {}):
            return None
        if factor > 0 and not extents:
            lowest = -(constraint.constant // factor)
            return replace(self, first=max(lowest, lowest if self.first is None else self.first))
        if not extents:
            highest = constraint.constant // -factor
            known = highest if self.last is None else self.last
            return replace(self, last=min(highest, known)) if isinstance(known, int) else None
        is_last = self.last is None and factor == -1 and len(extents) == 1 and extents[0][0] == 1
        return replace(self, last=of_extent(extents[0][1]) + constraint.constant) if is_last else None


@dataclass(frozen=True, slots=True)
class SlidingSum:
    """A weighted sum over windows along rows and columns. Without rows, a window is a part of one."""

    rows: Slide | None
    columns: Slide
    otherwise: float
    """What is read outside of the image."""

    @property
    def axes(self) -> frozenset[str]:
        """Outputs and taps of the windows."""
        slides = (self.columns,) if self.rows is None else (self.rows, self.columns)
        return frozenset(name for slide in slides for name in (slide.output, slide.tap))

    @property
    def waiting(self) -> int:
        """Rows of sums behind the newest that take in a row of the image."""
        return self.rows.waiting if self.rows is not None else 0

    @property
    def taps(self) -> int:
        """Of a window."""
        return self.columns.taps * (self.rows.taps if self.rows is not None else 1)

    @property
    def keeps_weights(self) -> bool:
        """Whether all weights of a window wait in registers."""
        return self.taps <= FEW_TAPS

    @property
    def rows_ahead(self) -> int:
        """From the row of sums that is stored to that whose place is prefetched."""
        return ROWS_AHEAD

    def pairs(self, width: int | None, lanes: int) -> bool:
        """Whether rows are so short that a vector has those of two channels: half of its lanes each."""
        return width is not None and 2 * width <= lanes

    def in_two_vectors(self, width: int, lanes: int) -> bool:
        """Whether two vectors have all that windows by two see of a row, and one instruction takes any lanes of both."""
        slide = self.columns
        seen = slide.stride * (width - 1) + (slide.taps - 1) * slide.dilation + 1
        return slide.stride == 2 and lanes >= LANES_OF_ANY_SHUFFLE and seen <= 2 * lanes

    def few_vectors(self, vectors: int) -> int:
        """Vectors side by side behind whole blocks of so many, where the width is known at run time."""
        return min(vectors, FEW_VECTORS)

    def vectors(self, width: int | None, lanes: int) -> int:
        """Vectors side by side whose sums are in registers: as many as these hold, or fewer, in equal blocks of the width.

        Registers: 32 of 16 lanes, of which as many as taps may hold weights; 16 of fewer lanes.
        """
        registers = (32 if lanes == 16 else 16) - TEMPORARIES
        has_registers_for_weights = self.keeps_weights and lanes == 16
        held = min(self.waiting + 1, 2) if has_registers_for_weights else self.waiting + 1
        weights = self.taps if has_registers_for_weights else 0
        most = max(1, min(MOST_VECTORS, (registers - weights) // held))
        if width is None:
            return most
        wanted = -(-width // lanes)
        blocks = -(-wanted // most)
        return -(-wanted // blocks)


def is_of_image(body: Scalar) -> bool:
    """Whether the points of a weighted sum are made of elements of its image alone: code makes them where it loads these.

    >>> is_of_image(apply("subtract", Load(0), Literal(128.0))), is_of_image(apply("multiply", Load(0), Load(1)))
    (True, False)
    """
    leaves = [node for node in subexpressions(body) if not isinstance(node, Apply)]
    return leaves.count(Load(0)) == 1 and all(node == Load(0) or isinstance(node, Literal) for node in leaves)


@lru_cache(1024)
def sliding_sum(operator: Operator) -> SlidingSum | None:
    """The windows of a weighted sum; None of all other operators.

    Legal because every output has its own sum, and takes its products in the order of the taps: rows first, columns inside.
    Then lanes run along columns; weights are the same for all of them.
    """
    if operator.reduction is None or operator.reduction.states != WEIGHTED_SUM.states or not is_of_image(operator.body):
        return None
    image, weights = operator.reads[0], operator.reads[1]
    outputs = {axis.name for axis in operator.axes if axis.kind is AxisKind.PARALLEL}
    affine = not image.lookups and all(index.is_affine() for index in (*image.indices, *limits_of(operator)))
    if not affine or not weights.is_affine() or operator.accumulator != "float32":
        return None
    moving = [slides_along(operator, index) for index in image.indices if index.axes() - outputs]
    slides = [slide for found in moving for slide in found]
    if not all(moving) or not 1 <= len(slides) <= 2 or not image.indices[-1].axes() - outputs:
        return None
    *rows, columns = slides
    found = with_limits(operator, rows[0] if rows else None, columns)
    return found if found is not None and _is_plain(operator, found) else None


def limits_of(operator: Operator) -> tuple[Index, ...]:
    """The constraints of the guard of the image."""
    guard = operator.reads[0].guard
    return guard.constraints if guard is not None else ()


def slides_along(operator: Operator, index: Index) -> tuple[Slide, ...]:
    """Windows of one output axis and one tap; rows, then columns, where an index walks both (images whose pixels are one
    dimension). Empty where it is neither.

    Rows are told by their larger steps. Steps of rows have their greatest common divisor as the unit of positions: limits of a
    guard are multiples of the same positions.
    """
    terms = {str(atom): coefficient for atom, coefficient in index.terms}
    taps = sorted((axis for axis in operator.reduction_axes() if axis.name in terms), key=lambda axis: -terms[axis.name])
    outputs = sorted(terms.keys() - {axis.name for axis in taps}, key=lambda name: -terms[name])
    if len(taps) != len(outputs) or not 1 <= len(taps) <= 2 or min(terms.values()) < 1:
        return ()
    found = []
    for number, (tap, output) in enumerate(zip(taps, outputs, strict=True)):
        if not isinstance(tap.extent, int):
            return ()
        unit = gcd(terms[output], terms[tap.name]) if number < len(taps) - 1 else 1
        found.append(Slide(output, tap.name, tap.extent, terms[output] // unit, terms[tap.name] // unit))
    return tuple(found)


def with_limits(operator: Operator, rows: Slide | None, columns: Slide) -> SlidingSum | None:
    """Windows with the limits that the guard of the image sets; None if it sets any that is not one of positions."""
    guard = operator.reads[0].guard
    for constraint in limits_of(operator):
        along_rows = rows.limited(constraint) if rows is not None else None
        along_columns = columns.limited(constraint)
        if along_rows is not None:
            rows = along_rows
        elif along_columns is not None:
            columns = along_columns
        else:
            return None
    return SlidingSum(rows, columns, guard.otherwise if guard is not None else 0.0)


def _is_plain(operator: Operator, found: SlidingSum) -> bool:
    """Whether lanes may run along the columns, which lie side by side, and rows of sums fit the registers.

    Of an input, elements are known to lie side by side only where an axis walks them one by one.
    """
    slides = [found.columns, *([found.rows] if found.rows is not None else [])]
    reduced = [axis.name for axis in operator.reduction_axes()]
    own = operator.reads[1].axes() & {slide.output for slide in slides}
    in_order = reduced == [slide.tap for slide in reversed(slides)]
    others = operator.reads[0].indices
    once = all(sum(slide.output in index.axes() for index in others) == 1 for slide in slides)
    last = operator.write.indices[-1]
    is_last = last.is_affine() and last.coefficient(found.columns.output) == 1
    side_by_side = found.columns.stride <= MOST_STRIDE and 1 in (found.columns.stride, found.columns.dilation)
    return in_order and once and is_last and not own and side_by_side and found.waiting < MOST_ROWS


def window_taps(operator: Operator) -> frozenset[str]:
    """The reduction axes that move within a window over another axis: lanes run along that one, and no lanes are folded.

    >>> from tilewright.graph.index import axis
    >>> from tilewright.graph.scalar import Load
    >>> from tilewright.graph.types import Access, Axis, AxisKind
    >>> taps = Access("x", (axis("o") + axis("k"),))
    >>> axes = (Axis("o", 8), Axis("k", 3, AxisKind.REDUCTION))
    >>> sorted(window_taps(Operator("pool", "pool", axes, (taps,), Access("y", (axis("o"),)), Load(0))))
    ['k']
    """
    reduced = {axis.name for axis in operator.reduction_axes()}
    windows = (index.axes() for access in operator.reads for index in access.indices if len(index.axes()) > 1)
    return frozenset(axis for axes in windows for axis in axes & reduced if axes - reduced)


MOST_COLUMNS = 8
"""Sums side by side: as many multiply-adds as are under way at a time, two a cycle of four cycles each."""
LOADED = 1
"""Registers for columns of the image; the others hold sums, and the weights of a row of taps."""


@dataclass(frozen=True, slots=True)
class ChannelSum:
    """A weighted sum over windows along columns, and along rows if there are any."""

    rows: Slide | None
    columns: Slide
    channel: str
    """The axis of the lanes."""
    otherwise: float
    """What is read outside of the image."""

    @property
    def taps(self) -> int:
        """Of a window."""
        return self.columns.taps * (self.rows.taps if self.rows is not None else 1)

    def block(self, width: int | None, lanes: int) -> int:
        """Sums side by side: blocks of a known width are equal, but for the last. Vectors of 16 lanes have 32 registers."""
        most = self.most_columns(lanes)
        return most if width is None else -(-width // -(-width // most))

    def most_columns(self, lanes: int) -> int:
        """Sums side by side at most."""
        registers = 32 if lanes == 16 else 16
        return max(1, min(MOST_COLUMNS, registers - LOADED - self.columns.taps))


@lru_cache(1024)
def channel_sum(operator: Operator) -> ChannelSum | None:
    """The windows of a weighted sum over channels that lie last, side by side; None of all other operators.

    Legal because every output has its own sum, and takes its products in the order of the taps: rows first, columns inside.
    """
    if operator.reduction is None or operator.reduction.states != WEIGHTED_SUM.states or not is_of_image(operator.body):
        return None
    image, weights = operator.reads[0], operator.reads[1]
    outputs = {axis.name for axis in operator.axes if axis.kind is AxisKind.PARALLEL}
    last = operator.write.indices[-1] if operator.write.indices else None
    affine = not image.lookups and all(index.is_affine() for index in (*image.indices, *limits_of(operator)))
    if last is None or not last.is_axis() or not affine or not weights.is_affine() or operator.accumulator != "float32":
        return None
    (channel,) = last.axes()
    if any(access.indices[-1].axes() != {channel} or access.indices[-1].coefficient(channel) != 1 for access in (image, weights)):
        return None
    moving = [slides_along(operator, index) for index in image.indices if index.axes() - outputs]
    slides = [slide for found in moving for slide in found]
    if not all(moving) or not 1 <= len(slides) <= 2:
        return None
    *rows, columns = slides
    limited = with_limits(operator, rows[0] if rows else None, columns)
    reduced = [axis.name for axis in operator.reduction_axes()]
    if limited is None or reduced != [slide.tap for slide in slides]:
        return None
    return ChannelSum(limited.rows, limited.columns, channel, limited.otherwise)
