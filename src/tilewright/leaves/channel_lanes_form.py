"""Direct convolution with channel lanes: what it takes, and what it costs.

A weighted sum over windows of images whose channels lie last; lanes run along these.
"""

from __future__ import annotations

from tilewright.arrays import Count, Quantity, either, maximum, minimum, product
from tilewright.block.leaf_binding import LeafBinding
from tilewright.leaves.declaration import CostProblem, Mismatch, Problem, Refusal
from tilewright.leaves.windows import LANES_WITH_MASKS, WindowSum, binding_of_windows, image_windows, rows_and_columns
from tilewright.records import record

NAME = "channel lanes"
MOST_COLUMNS = 8
"""Sums side by side: as many multiply-adds as are under way at a time, two a cycle of four cycles each."""
LOADED = 1
"""Registers for columns of the image; the others hold sums, and the weights of a row of taps."""
SLOW_SHARE = 0.6
"""Of the peak, what multiply-adds reach with vectors of 16 lanes of which a cycle multiplies two, or whose columns are strided.
One core of Zen 4, which multiplies one, cycles of nine steps and ReLU6: 64 channels on 14 x 14 11.2, by two on 28 x 28 14.7, 144
channels 18.4."""
SHARE = 0.85
"""The same of all others. One core of Zen 3 (peak 103 GFLOP/s), GFLOP/s, all included: 3x3 of 960 channels on 7 x 7
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
    peak = problem.machine.highest_peak(operator.accumulator)
    is_slow = lanes == LANES_WITH_MASKS and (form.columns.stride > 1 or peak > 3 * lanes * problem.machine.frequency_hz)
    finish_s = vectors * lanes * width * problem.seconds_per_element([operator.reduction.finish], 1)
    return 2 * vectors * lanes * rows * steps / (peak * (SLOW_SHARE if is_slow else SHARE)) + finish_s


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
