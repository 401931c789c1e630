"""Direct convolution with blocks of filters: weighted sums over windows and channels of an image, by constant filters.

Weights lie in blocks of filters, [block][rows of taps][channel][tap of a row][filter], as vectors take them one behind the other.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from itertools import product as product_of
from math import prod

from tilewright.arrays import Quantity, product
from tilewright.block.leaf_binding import LeafBinding, Window
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.types import WEIGHTED_SUM, Operator, element_bytes
from tilewright.leaves.declaration import Constraints, CostProblem, Mismatch, Problem, Refusal
from tilewright.leaves.windows import windows_along, with_limits
from tilewright.machine.machine import Machine
from tilewright.records import record

NAME = "filter blocks"
MOST_PIXELS = {32: 14, 16: 6}
"""Of a row, whose sums are in registers together, by how many registers there are."""
IMAGE, WEIGHTS = 0, 1
"""The reads."""
LONG_STEPS, PIECE_STEPS = 4096, 1024
"""Longer sums are made of pieces of about so many steps, as those of micro kernels are (docs/planning-reference.md, accuracy of
sums)."""
TILE_CYCLES = 40
"""Of a tile: its sums begin at 0, and loops over taps begin. Its steps reach the peak (Zen 4: 97 to 100% of it, of 3x3, 5x5, 1x7
and patches of 8x8 on 7 to 96 columns)."""
TILE_OF_ROW_CYCLES = 20
"""The same of an image of one row, where channels are the only loop (32 channels of 49 pixels: 32 us, 30.5 at the peak)."""


@record
class FilterBlocks:
    """A weighted sum whose lanes run along `filter`. Windows are outermost first, the last along columns."""

    windows: tuple[Window, ...]
    filter: str
    channel: str
    """The axis of channels that are summed."""
    block: int
    """Filters of a block of weights."""

    @property
    def columns(self) -> Window:
        """The windows along the last dimension."""
        return self.windows[-1]

    @property
    def around(self) -> tuple[Window, ...]:
        """Those along all others."""
        return self.windows[:-1]

    @property
    def of_row(self) -> frozenset[str]:
        """The axes of a row of outputs: its columns, filters, and all that is summed."""
        return frozenset((self.columns.output, self.filter, self.channel, *(window.tap for window in self.windows)))

    @property
    def moving(self) -> frozenset[str]:
        """Outputs and taps of the windows, filters and channels: axes that loops of their own walk."""
        return frozenset((*(name for one in self.windows for name in (one.output, one.tap)), self.filter, self.channel))


def most_pixels(lanes: int) -> int:
    """Pixels of a tile at most. Vectors of 16 lanes have 32 registers."""
    return MOST_PIXELS[32 if lanes == 16 else 16]


def pieces(width: int, lanes: int) -> list[tuple[int, int]]:
    """(start, pixels) of the tiles of a row: equal ones, but for the last.

    >>> pieces(35, 16)
    [(0, 12), (12, 12), (24, 11)]
    """
    wide = -(-width // -(-width // most_pixels(lanes)))
    return [(start, min(wide, width - start)) for start in range(0, width, wide)]


def are_paired(width: int, lanes: int) -> bool:
    """Whether rows are so short that registers hold the sums of two.

    >>> are_paired(7, 16), are_paired(8, 16)
    (True, False)
    """
    return 2 * width <= most_pixels(lanes)


def seen(window: Window, tap: int, output: int) -> bool:
    """Whether a tap of an output of known windows is inside of the image."""
    position = output * window.stride + tap * window.dilation
    last = window.last if isinstance(window.last, int) else position
    return (window.first or 0 if window.first is not None else position) <= position <= last


def channels_of_piece(channels: int, taps: int) -> int:
    """Channels that a register sums up at a time, of windows of so many taps.

    >>> channels_of_piece(256, 9), channels_of_piece(512, 9)
    (256, 103)
    """
    count = -(-channels * taps // PIECE_STEPS) if channels * taps > LONG_STEPS else 1
    return -(-channels // min(count, channels))


def form_of(binding: LeafBinding) -> FilterBlocks:
    """The weighted sum of a binding."""
    axes = dict(binding.axes)
    return FilterBlocks(binding.windows, axes["filter"], axes["channel"], int(dict(binding.numbers)["block"]))


def match(problem: Problem) -> tuple[LeafBinding, ...] | Refusal:
    """The windows of a weighted sum over channels whose weights lie in blocks of filters."""
    operator = problem.operator
    if operator.reduction != WEIGHTED_SUM or operator.body != Load(0) or len(operator.reads) != 2:
        return Refusal(NAME, Mismatch.OPERATION)
    if operator.accumulator != "float32" or {*problem.reads, problem.write} != {"float32"}:
        return Refusal(NAME, Mismatch.ELEMENT_TYPE)
    image = operator.reads[0]
    limits = image.guard.constraints if image.guard is not None else ()
    if image.lookups or not all(index.is_affine() for index in (*image.indices, *limits)):
        return Refusal(NAME, Mismatch.POSITIONS)
    filter_axis = _filter(operator)
    if filter_axis is None or (image.guard is not None and image.guard.otherwise != 0):
        return Refusal(NAME, Mismatch.LANES)
    windows, channels = _windows(operator)
    if not windows or len(channels) != 1:
        return Refusal(NAME, Mismatch.WINDOWS)
    limited = with_limits(operator, windows)
    if not limited:
        return Refusal(NAME, Mismatch.PADDING)
    extents = [operator.axis(name).extent for window in limited for name in (window.output, window.tap)]
    if not all(isinstance(extent, int) for extent in (*extents, operator.axis(channels[0]).extent)):
        return Refusal(NAME, Mismatch.WINDOWS)
    order = [*(window.tap for window in limited[:-1]), *channels, limited[-1].tap]
    if [axis.name for axis in operator.reduction_axes()] != order:
        return Refusal(NAME, Mismatch.ORDER_OF_TAPS)
    axes, block = (("filter", filter_axis), ("channel", channels[0])), _block(operator, filter_axis)
    steps = prod(axis.extent for axis in operator.reduction_axes() if isinstance(axis.extent, int))
    return (LeafBinding(NAME, axes, limited, (("block", block), ("steps", steps))),)


def _filter(operator: Operator) -> str | None:
    """The axis along which results and weights lie side by side, and the image does not move."""
    image, weights = operator.reads[0], operator.reads[1]
    names = weights.indices[-1].axes() & operator.write.indices[-1].axes() - image.axes()
    if len(names) != 1 or weights.guard is not None or weights.lookups:
        return None
    (name,) = names
    last = operator.write.indices[-1]
    is_last = last.is_affine() and last.coefficient(name) == 1 and len(weights.indices[-1].terms) == 1
    return name if is_last and isinstance(operator.axis(name).extent, int) else None


def _block(operator: Operator, name: str) -> int:
    """The filters of a block of weights: their remainders, or all."""
    ((atom, _),) = operator.reads[1].indices[-1].terms
    extent = operator.axis(name).extent
    assert isinstance(extent, int)
    return extent if isinstance(atom, str) else getattr(atom, "divisor", extent)


def _windows(operator: Operator) -> tuple[tuple[Window, ...], tuple[str, ...]]:
    """The windows of the image, and the axes of channels that are summed; no windows where something else moves."""
    image, weights = operator.reads[0], operator.reads[1]
    reduced = {axis.name for axis in operator.reduction_axes()}
    moving = [index for index in image.indices if index.axes() & reduced]
    channels = [index for index in moving if index.axes() <= weights.axes()]
    found = [windows_along(operator, _with_taps(index, reduced)) for index in moving if index not in channels]
    if not all(found):
        return (), ()
    return tuple(window for one in found for window in one), tuple(name for index in channels for name in index.axes() & reduced)


def _with_taps(index: Index, taps: Collection[str]) -> Index:
    """An index of rows and columns by as many outputs as it has taps, those of the smallest steps: loops walk the others.

    >>> from tilewright.graph.expressions.index import axis
    >>> str(_with_taps(axis("row") * 32 + axis("column") + axis("tap"), {"tap"}))
    'column + tap'
    """
    outputs = sorted((coefficient, str(atom)) for atom, coefficient in index.terms if str(atom) not in taps)
    walked = outputs[max(1, len(index.terms) - len(outputs)) :]
    return index.substitute({name: Index() for _, name in walked})


def constraints(binding: LeafBinding) -> Constraints:
    """Rows, taps and channels stay whole, and so do blocks of filters. All rows meet one piece of long sums after the other; an
    image of one row passes by once for each block of filters."""
    form, steps = form_of(binding), int(dict(binding.numbers)["steps"])
    streamed = WEIGHTS if steps > LONG_STEPS else None if form.around else IMAGE
    return Constraints(whole_axes=form.of_row - {form.filter}, panels=((form.filter, form.block),), streamed=streamed)


def seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """Multiply-adds of the taps inside of the image, or loads where these take longer, and what begins and ends tiles."""
    form, operator = form_of(binding), problem.operator
    around = product(problem.sizes[axis.name] for axis in operator.axes if axis.name not in form.of_row)
    outputs = tuple(_extent(operator, window.output) for window in form.windows)
    counts = _extent(operator, form.filter), _extent(operator, form.channel)
    return around * _row_seconds(form.windows, outputs, counts, form.block, problem.machine)


@lru_cache(1024)
def _row_seconds(
    windows: tuple[Window, ...], outputs: tuple[int, ...], counts: tuple[int, int], block: int, machine: Machine
) -> float:
    """A row of outputs, of all filters; `counts` are of filters and channels."""
    lanes = machine.lanes(element_bytes("float32"))
    whole, rest = divmod(counts[0], block)
    shares = [_share_inside(window, extent) for window, extent in zip(windows[:-1], outputs[:-1], strict=True)]
    rows = prod(window.taps for window in windows[:-1])
    pieces_of_sum = -(-counts[1] // channels_of_piece(counts[1], rows * windows[-1].taps))
    pairs = outputs[-2] // 2 if len(outputs) > 1 and are_paired(outputs[-1], lanes) else 0
    of_rows = ((1 - 2 * pairs / outputs[-2], 1), (pairs / outputs[-2], 2)) if pairs else ((1.0, 1),)
    tile_cycles = TILE_CYCLES if len(windows) > 1 else TILE_OF_ROW_CYCLES
    cycles = 0.0
    for (number, filters), (share, together) in product_of(((whole, block), (1, rest)), of_rows):
        vectors = -(-filters // lanes)
        for start, pixels in pieces(outputs[-1], lanes) if number * filters else ():
            seen_pixels = _seen_pixels(windows[-1], start, pixels)
            steps = sum(_step_cycles(machine, count * together, vectors) for count in seen_pixels)
            ends = pieces_of_sum * (tile_cycles + pixels * together * vectors)
            cycles += number * share * (counts[1] * rows * prod(shares) * steps + ends)
    return cycles / machine.frequency_hz


def _seen_pixels(columns: Window, start: int, pixels: int) -> list[int]:
    """For each tap how many pixels of a tile see the image by it, but for none."""
    found = [sum(seen(columns, tap, start + one) for one in range(pixels)) for tap in range(columns.taps)]
    return [count for count in found if count]


def _step_cycles(machine: Machine, pixels: int, vectors: int) -> float:
    """Of a tap that so many pixels see."""
    lanes = machine.lanes(element_bytes("float32"))
    rate = machine.highest_peak("float32") / (2 * lanes * machine.frequency_hz)
    return max(pixels * vectors / rate, (pixels + vectors) / machine.loads_per_cycle, machine.fma_latency_cycles)


def _share_inside(window: Window, outputs: int) -> float:
    """The share of the taps of all outputs that are inside of the image."""
    inside = sum(seen(window, tap, output) for output in range(outputs) for tap in range(window.taps))
    return inside / (outputs * window.taps)


def _extent(operator: Operator, name: str) -> int:
    """Of an axis: those of windows, channels and filters are known."""
    extent = operator.axis(name).extent
    assert isinstance(extent, int)
    return extent
