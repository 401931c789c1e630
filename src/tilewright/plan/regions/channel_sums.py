"""Channel sums: weighted sums over windows of images whose channels lie last; lanes run along the channels.

Every column of the image that several neighbouring windows see is loaded once for all of them, and the sums of these stay in
registers. So lanes are full however short the rows of an image are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tilewright.graph.types import AxisKind, Operator
from tilewright.plan.regions.sliding_sums import WEIGHTED_SUM, Slide, is_of_image, limits_of, slides_along, with_limits

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
