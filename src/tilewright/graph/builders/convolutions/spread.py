"""Where the windows of a transposed convolution lie: how many elements they write, and what is cut off."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import ShapeError, Undecided
from tilewright.graph.builders.convolutions.windows import Taps
from tilewright.graph.expressions.extents import cuts_between, largest_extent, least_extent, maximum, minus, plus, quotient, times
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Extent
from tilewright.records import record


@record
class Spread:
    """Where the windows of a transposed convolution lie along every spatial dimension."""

    extents: tuple[Extent, ...]
    """Of the input."""
    taps: Taps
    begins: tuple[Extent, ...]
    """What is cut off before the first element."""
    outputs: tuple[Extent, ...]

    @classmethod
    def cut(
        cls, extents: Sequence[Extent], taps: Taps, more: Sequence[int], begins: Sequence[int], ends: Sequence[int]
    ) -> Spread:
        """With `more` elements behind what the windows write, less those that are cut off.

        Raises `ShapeError` where nothing is left, and `Undecided` where that depends on the value of an extent.

        >>> Spread.cut((4,), Taps((3,), (2,), (1,)), (0,), (1,), (0,)).outputs
        (8,)
        """
        each = zip(written(extents, taps), more, begins, ends, strict=True)
        outputs = tuple(plus(extent, extra - begin - end) for extent, extra, begin, end in each)
        return cls(tuple(extents), taps, tuple(begins), outputs)._checked()

    @classmethod
    def to(
        cls, extents: Sequence[Extent], taps: Taps, more: Sequence[int], outputs: Sequence[Extent], *, is_upper: bool
    ) -> Spread:
        """With results of these extents: what is too much is cut off on both sides, an odd element behind if `is_upper`."""
        spare = [minus(plus(w, extra), o) for w, extra, o in zip(written(extents, taps), more, outputs, strict=True)]
        begins = tuple(maximum(quotient(s if is_upper else plus(s, 1), 2), 0) for s in spare)
        return cls(tuple(extents), taps, begins, tuple(outputs))._checked()

    def _checked(self) -> Spread:
        text = f"extents of {shape_text(self.outputs)} would be left"
        for extent in self.outputs:
            if largest_extent(extent) < 1:
                raise ShapeError(text)
            if least_extent(extent) < 1:
                raise Undecided(text).with_cuts(cuts_between(extent, 0, "<="))
        return self


def written(extents: Sequence[Extent], taps: Taps) -> list[Extent]:
    """How many elements windows write: (extent - 1) * stride + dilation (kernel - 1) + 1 along each dimension."""
    each = zip(extents, taps.strides, taps.spans(), strict=True)
    return [plus(times(minus(extent, 1), stride), span) for extent, stride, span in each]
