"""Long sums: the innermost loop runs in blocks, and full accumulators are emptied into a compensated total.

What an addition rounds away goes into the next one. The rest of an addition is exact (two-sum: Knuth, The Art of Computer
Programming 2, section 4.2.2, theorem B), so that a total is wrong by 2u of the sum of absolute values, up to terms of n * u^2
(Higham, Accuracy and Stability of Numerical Algorithms, section 4.3). Of sums that are not finite there is no rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tilewright.leaves.tile_programs.points import Points
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.program import Value, Variable
from tilewright.tile.types import INDEX


class LongSum:
    """The sum of one state of some rows: `totals` are the accumulators of each that take turns."""

    def __init__(self, points: Points, totals: list[list[Variable]]) -> None:
        """Before the loops over the reduction."""
        b = points.builder
        self.points, self.totals, self.zero = points, totals, b.constant(0, points.type)
        self.sums = [(b.variable(self.zero), b.variable(self.zero)) for _ in totals]
        self.taken = b.variable(b.constant(0, INDEX))

    def taken_in(self, axis: str, unit: int, around: Iterable[str], block: Callable[[IndexLike, IndexLike], None]) -> list[Value]:
        """The sums of all rows: loops over further axes `around`, and over blocks of an axis whose steps are `unit` points.

        Short blocks of several trips of further loops come together before accumulators are emptied.
        """
        b, steps = self.points.builder, self.points.loops.block_steps * unit
        longest = steps * len(self.totals[0])
        with self.points.over(around):
            size = self.points.size(axis)
            with b.loop("block", 0, size, longest) as start:
                stop = b.define(IntegerOperation.MINIMUM, start + longest, size)
                block(start, stop)
                self._empty_when(steps, stop - start)
        self._empty()
        return [total for total, _ in self.sums]

    def _empty_when(self, enough: int, more: IndexLike) -> None:
        b = self.points.builder
        b.assign(self.taken, self.taken + b.index_value(more))
        taken = b.define(IntegerOperation.VALUE, self.taken)
        with b.when(b.define(IntegerOperation.LESS, enough - 1, taken)):
            self._empty()
            b.assign(self.taken, b.constant(0, INDEX))

    def _empty(self) -> None:
        """Accumulators go into the total together, and begin again."""
        b = self.points.builder
        for (total, rest), (first, *others) in zip(self.sums, self.totals, strict=True):
            block: Value = first
            for other in others:
                block = block + other
            more = block + rest
            grown = total + more
            taken = grown - total
            lost = (total - (grown - taken)) + (more - taken)
            b.assign(rest, b.select(lost.equals(lost), lost, self.zero) if self.points.type.is_float else lost)
            b.assign(total, grown)
            for one in (first, *others):
                b.assign(one, self.zero)
