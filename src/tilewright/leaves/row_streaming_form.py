"""Direct convolution with row streaming: what it takes, and what it costs.

A weighted sum over windows that move along rows and columns, whose lanes run along the columns. Every row of the image may then
be read once, in order: each of its vectors takes part in all sums of rows whose windows reach it, and these stay in registers
until their last row has passed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.arrays import Quantity, either, product
from tilewright.block.leaf_binding import LeafBinding, Window
from tilewright.graph.types import Operator
from tilewright.leaves.declaration import CostProblem, Mismatch, Problem, Refusal
from tilewright.leaves.windows import LANES_WITH_MASKS, WindowSum, binding_of_windows, image_windows, rows_and_columns
from tilewright.records import record

NAME = "row streaming"
MOST_STRIDE = 2
"""Between columns: even and odd ones are told apart in registers."""
MOST_ROWS = 12
"""Rows of sums that wait in registers."""
MOST_TAPS = 64
"""Of a row. Compilers take minutes for the text of many more."""
TEMPORARIES = 5
"""Registers for what is loaded, and for spare."""
FEW_TAPS = 9
"""Weights that wait in registers; more are loaded where they are used."""
MOST_VECTORS = 8
"""Side by side: the text grows with them."""
FEW_VECTORS = 2
"""Side by side behind whole blocks, where widths are known at run time: no vector but the last two is computed in vain."""
LANES_OF_ANY_SHUFFLE = 16
"""Vectors of so many: one instruction takes any lanes of two."""
ROWS_AHEAD = 12
"""From the row that is stored to that whose store is prefetched. One core of Zen 5, columns in blocks, ms without and with 0, 4,
12: 5x5 of 1 channel and 64 filters on 270 x 480 16.7, 7.0, 6.4, 6.4; 9x9 on 256 x 256 11.2, 5.0, 4.9, 5.0. Sapphire Rapids, least
ms with 4, 8, 12, 16, 24: that 5x5 5.8, 5.5, 5.3, 5.3, 5.6; depthwise 3x3, 32 of 480 x 480 5.3, 4.8, 4.4, 4.0, 4.1."""


@record
class RowStreaming(WindowSum):
    """A sum whose windows are parts of one row where there are no windows along rows."""

    @property
    def axes(self) -> frozenset[str]:
        """Outputs and taps of the windows."""
        return frozenset(name for window in self.windows for name in (window.output, window.tap))

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


def form_of(binding: LeafBinding) -> RowStreaming:
    """The weighted sum of a binding."""
    return RowStreaming(*rows_and_columns(binding))


def match(problem: Problem) -> tuple[LeafBinding, ...] | Refusal:
    """The windows of a weighted sum: lanes run along columns, and weights are the same for all of them."""
    operator = problem.operator
    found = image_windows(operator)
    if isinstance(found, Mismatch):
        return Refusal(NAME, found)
    reason = _mismatch(operator, found)
    return binding_of_windows(NAME, operator, found) if reason is None else Refusal(NAME, reason)


def _mismatch(operator: Operator, windows: tuple[Window, ...]) -> Mismatch | None:
    """Why lanes may not run along columns, taps are too many, or rows of sums do not fit registers; None if all is well."""
    few = all(window.waiting < MOST_ROWS for window in windows[:-1])
    if windows[-1].taps > MOST_TAPS:
        return Mismatch.TAPS
    return why_no_columns(operator, windows) or (None if few else Mismatch.REGISTERS)


def why_no_columns(operator: Operator, windows: Sequence[Window]) -> Mismatch | None:
    """Why lanes may not run along the columns.

    Of an input, elements are known to lie side by side only where an axis walks them one by one.
    """
    columns = windows[-1]
    image, weights = operator.reads[0], operator.reads[1]
    once = all(sum(window.output in index.axes() for index in image.indices) == 1 for window in windows)
    if not once or weights.axes() & {window.output for window in windows}:
        return Mismatch.WINDOWS
    if [axis.name for axis in operator.reduction_axes()] != [window.tap for window in windows]:
        return Mismatch.ORDER_OF_TAPS
    last = operator.write.indices[-1]
    is_last = last.is_affine() and last.coefficient(columns.output) == 1 and columns.tap in image.indices[-1].axes()
    if not is_last or columns.stride > MOST_STRIDE or 1 not in (columns.stride, columns.dilation):
        return Mismatch.LANES
    return None


def seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """Multiply-adds in whole vectors, and what finishes the sums.

    Columns are filled up to whole vectors, or to half a vector where two rows share it. Every other column of two
    vectors is told apart for each multiply-add or two. Where masks have no registers of their own (vectors of up to 8 lanes),
    the borders of a row take as long as a vector more.
    """
    operator, form, lanes = problem.operator, form_of(binding), problem.lanes
    assert operator.reduction is not None
    columns = problem.sizes[form.columns.output]
    taps = {axis.name for axis in operator.reduction_axes()}
    around = product(problem.sizes[axis.name] for axis in operator.axes if axis.name not in taps | {form.columns.output})
    width = either(2 * columns <= lanes, lanes // 2, lanes)  # as `pairs`; required regions have a width for every tile
    sums = around * -(-columns // width) * width
    borders, shares = (0, SHARE_WITH_MASKS) if lanes == LANES_WITH_MASKS else (around * lanes, SHARE)
    peak = problem.machine.highest_peak(operator.accumulator) * shares[form.columns.stride]
    finish_s = sums * problem.seconds_per_element([operator.reduction.finish], 0)
    return 2 * (sums + borders) * form.taps / peak + finish_s


SHARE_WITH_MASKS = {1: 0.85, 2: 0.6}
"""Of the peak, what multiply-adds reach with masks, by the stride of columns."""
SHARE = {1: 0.9, 2: 0.7}
"""The same without, where borders are counted apart. One core of Zen 3 (peak 103 GFLOP/s), GFLOP/s of rows of 7, 14, 28 and
56 columns, all included: 3x3 22, 39, 44, 58; 5x5 30, 49, 60; by two, rows of 7, 14 and 28: 26, 25, 44."""
