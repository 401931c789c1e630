"""Row-wise reductions as tile programs: the passes over a row that accumulate its states, and the pass that finishes it.

A row-wise reduction takes one pass over its row per state variable, then one to finish; of long rows whose states are moments one
pass for both. Where the finishing value contains the
last state's contribution (softmax: the exponential), the pass that sums it also stores it, and the last pass only finishes; there
is none where readers divide. Lanes run along the row, of several rows together, or lie across rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from itertools import product as pairs

from tilewright.block.memory import Gather, View
from tilewright.block.statements import RunningStates, VectorLoops
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Point, Previous, Scalar, State, rewrite, subexpressions
from tilewright.graph.expressions.scalar_functions import REPORT_NOT_FINITE
from tilewright.graph.moments import MOST_SHIFTED, Moments, moments_of
from tilewright.graph.multiply_adds import summed_product
from tilewright.graph.types import StateVariable
from tilewright.leaves.declaration import WAYS, LoweredTile
from tilewright.leaves.tile_programs.conversions import stored
from tilewright.leaves.tile_programs.maps import MapProgram
from tilewright.leaves.tile_programs.points import Points
from tilewright.leaves.tile_programs.rows.exponentials import exp2_down
from tilewright.leaves.tile_programs.rows.expressions import RowwiseReduction, fall, hoist_division, inverses, row_values
from tilewright.leaves.tile_programs.rows.folds import COMBINE, NAN_IGNORING, Combine, folded
from tilewright.leaves.tile_programs.rows.long_sums import LongSum
from tilewright.leaves.tile_programs.values import Values, clamped, rounded
from tilewright.tile.index import IndexLike
from tilewright.tile.operations import IntegerOperation, Operation
from tilewright.tile.program import Value, Variable
from tilewright.tile.types import vector

ROUNDED = ("add", "multiply")
"""Combinations whose results are rounded, so that their order shows."""
MOST_UNROLLED = 5
"""Points of a row that are no loop: windows of a few."""
Step = Callable[[int], None]
"""Emits what becomes of a vector of points, for the accumulator of a number."""


def lowered(loops: VectorLoops, form: RowwiseReduction) -> LoweredTile:
    """The program of a box."""
    return RowProgram(loops, form).lowered()


class RowProgram(MapProgram):
    """All passes of a row-wise reduction.

    `ways` rows are computed together, which lie side by side along `row_axis`; `known` are the values that each has: its states,
    and what was computed once for it.
    """

    def __init__(self, loops: VectorLoops, form: RowwiseReduction) -> None:
        """Of a leaf with a reduction."""
        MapProgram.__init__(self, loops)
        Points.__init__(self, loops)
        self.form, self.reduction = form, loops.reduction
        self.reduced = tuple(axis.name for axis in loops.operator.reduction_axes())
        self.row_axis, self.ways = "", 1
        self.known: list[dict[Scalar, Value]] = [{}]
        takes_moments = bool(loops.block_steps) and self.type.is_float and self.lanes_are_reduced and not self.has_gathers
        self.moments = moments_of(self.reduction) if takes_moments else None
        """Of long rows, one after the other: the second of two passes would not find them in L1."""

    @property
    def lanes_are_reduced(self) -> bool:
        """Whether lanes run along the rows; else they lie across."""
        return self.vector_axis in self.reduced

    @property
    def has_gathers(self) -> bool:
        """Whether positions of reads are computed."""
        return any(isinstance(read, Gather) for read in self.loops.reads)

    def lowered(self) -> LoweredTile:
        """The whole program."""
        around = [axis for axis in self.ranges if axis != self.vector_axis and axis not in self.reduced]
        if self.lanes_are_reduced and not self.has_gathers:
            self.rows(around, 1 if self.moments is not None else WAYS, self.some_rows)
        else:
            with self.over(around):
                if self.lanes_are_reduced:
                    self.some_rows("", 1)
                else:
                    repeats = self.may_repeat() and not self.writes_points and self.loops.running is None
                    self.vectors(lambda: self.some_rows("", 1), repeats=repeats)
        return self.arguments.lowered()

    def each(self) -> Iterator[int]:
        """The rows that are computed together, one after the other."""
        for way in range(self.ways):
            with self.moved(self.row_axis, self.at[self.row_axis] + way) if self.row_axis else nullcontext():
                yield way

    def some_rows(self, axis: str, ways: int) -> None:
        """All passes over some rows, or over the rows of one vector."""
        self.row_axis, self.ways, self.known = axis, ways, [{} for _ in range(ways)]
        if self.loops.running is not None:
            self.running_passes(self.loops.running)
            return
        if self.moments is not None:
            self.moments_pass(self.moments)
            self.finish(None)
            return
        stored, divided_later = self.stored_contribution(), self.loops.inverse is not None
        for state in self.reduction.states:
            keep = state is self.reduction.states[-1] and (stored is not None or divided_later)
            for way, found in enumerate(self.state_pass(state, keep)):
                self.known[way][State(state.name)] = found
        self.finish(stored)

    def running_passes(self, running: RunningStates) -> None:
        """All passes over one block of rows; the last one stores undivided weights."""
        for state, (name, place, factor) in zip(self.reduction.states, running.states, strict=True):
            gained = self.state_pass(state, state is self.reduction.states[-1])
            for way in self.each():
                known = self.known[way]
                before = known[Previous(name)] = self.load(place)
                if factor is not None:
                    by = self.values(known).value(factor)
                    before = before * by
                known[State(name)] = self.combined(state)(self.builder, before, gained[way])
                self.store_of_row(place, known[State(name)])
                if state is self.reduction.states[-1]:
                    assert factor is not None
                    self.store_of_row(running.factor, by)

    def stored_contribution(self) -> Scalar | None:
        """The contribution of the last state, if every point is written and its value is made from it: it waits in its place.

        Nothing else is then left of the point, nor of what the result is written over.
        """
        contribution, finish = self.reduction.states[-1].contribution, self.reduction.finish
        beside = rewrite(finish, lambda node: Literal(0.0) if node == contribution else None)
        inside = beside != finish and contribution != Point()
        return contribution if self.writes_points and inside and not any(map(self.is_lost, subexpressions(beside))) else None

    @property
    def writes_points(self) -> bool:
        """Whether every point is written; else every row."""
        return set(self.reduced) <= self.loops.operator.write.axes()

    def is_lost(self, leaf: Scalar) -> bool:
        """Whether a value is no longer there once something else lies in the result's place."""
        if isinstance(leaf, Load):
            return self.loops.reads[leaf.read].buffer == self.loops.write.buffer
        return leaf == Point()

    # Passes.

    def moments_pass(self, moments: Moments) -> None:
        """Both states of one row in a pass about its first point; where that lies far from the mean, in another one."""
        b, known = self.builder, self.known[0]
        first, count = self.first_point(), self.values(known).value(moments.count)
        moved, squares = folded(b, COMBINE["add"], self.sums_about(first))
        shift = moved / count
        known[moments.mean] = first + shift
        known[State(moments.total.name)] = known[moments.mean] * count
        spread = b.variable(squares - moved * shift)
        is_near = moved * shift <= spread * MOST_SHIFTED
        is_far = b.instruction(Operation.ANY, vector("int32"), (~is_near,))
        with b.when(b.define(IntegerOperation.VALUE, is_far)):
            (again,) = self.state_pass(moments.squares, keep=False)
            b.assign(spread, again)
        known[State(moments.squares.name)] = spread

    def first_point(self) -> Value:
        """The first point of a row, in all lanes."""
        with ExitStack() as at_start:
            for axis in self.reduced:
                at_start.enter_context(self.moved(axis, 0))
            at_start.enter_context(self.of_part(1))
            point = self.values({}).value(Point())
        return self.builder.shuffle((point,), [0] * self.lanes)

    def sums_about(self, first: Value) -> list[Value]:
        """The sums over a row of its points less the first one, and of their squares."""
        b, zero = self.builder, self.builder.constant(0, self.type)
        totals = [[b.variable(zero) for _ in range(self.most_in_turns())] for _ in range(2)]

        def step(number: int) -> None:
            moved, mask = self.values({}).value(Point()) - first, self.real.mask(b, self.type)
            moved = moved if mask is None else b.select(mask, moved, zero)
            total, squares = (sums[number] for sums in totals)
            b.assign(total, total + moved)
            b.assign(squares, b.multiply_add(moved, moved, squares))

        return self.long_sum(step, totals)

    def state_pass(self, state: StateVariable, keep: bool) -> list[Value]:
        """Accumulate one state over the reduction axes, and fold its lanes; for each way."""
        totals = self.accumulated(state, keep)
        return folded(self.builder, self.combined(state), totals) if self.lanes_are_reduced else totals

    def accumulated(self, state: StateVariable, keep: bool) -> list[Value]:
        """The accumulators of one state, for each way.

        As many take turns in a row that is alone as among others, so that its bits do not depend on its neighbours.
        """
        is_able = self.lanes_are_reduced and state.contribution == Point()
        in_turns = is_able and (self.ways == 1 or self.shows_order(state))
        count = self.most_in_turns() if in_turns else 1
        identity = self.identity(state)
        totals = [[self.builder.variable(identity) for _ in range(count)] for _ in range(self.ways)]
        once = [self.once_a_row(way, state.contribution) for way in self.each()]

        def step(number: int) -> None:
            for way in self.each():
                self.state_step(state, totals[way][number], keep, {**self.known[way], **once[way]})

        if self.loops.block_steps and state.combine == "add":
            return self.long_sum(step, totals)
        self.over_reduction(step, count)
        self.put_together(state, totals)
        return [total for total, *_ in totals]

    def long_sum(self, step: Step, totals: list[list[Variable]]) -> list[Value]:
        """Sums in blocks along the innermost axis of the reduction."""
        count = len(totals[0])
        if self.lanes_are_reduced:
            axis, unit = self.vector_axis, self.lanes
        else:
            axis, unit = next(axis for axis in reversed(self.reduced) if self.ranges[axis].size != 1), 1

        def block(start: IndexLike, stop: IndexLike) -> None:
            if self.lanes_are_reduced:
                self.in_turns(step, count, start, stop)
            else:
                with self.along(axis, start, stop):
                    step(0)

        return LongSum(self, totals).taken_in(axis, unit, [other for other in self.reduced if other != axis], block)

    def most_in_turns(self) -> int:
        """Accumulators that take turns; one where no row has a vector for each."""
        count, most = self.loops.vectors.accumulators, self.ranges[self.vector_axis].capacity
        return 1 if isinstance(most, int) and most < count * self.lanes else count

    def put_together(self, state: StateVariable, totals: list[list[Variable]]) -> None:
        """The first accumulator of each way gets what the others have."""
        for first, *others in totals:
            for other in others:
                self.builder.assign(first, self.combined(state)(self.builder, first, other))

    def identity(self, state: StateVariable) -> Value:
        """What a state begins with; of integers their extremes stand for infinities."""
        number = rounded(state.identity, self.computed) if self.type.is_float else clamped(state.identity, self.computed)
        return self.builder.constant(number, self.type)

    def shows_order(self, state: StateVariable) -> bool:
        """Whether results tell in which order points are combined: maxima of zeros do by the sign, unless they are subtracted."""
        return state.combine in ROUNDED or len(self.reduction.states) == 1

    def combined(self, state: StateVariable) -> Combine:
        """What a state is combined by; NaN may get lost where results are NaN in any case."""
        loses = state.name in self.form.loses_nan
        return COMBINE[NAN_IGNORING.get(state.combine, state.combine) if loses else state.combine]

    def over_reduction(self, step: Step, count: int = 1) -> None:
        """Loops over the reduction axes; the vector axis innermost if it is one of them, `count` vectors in turns."""
        if not self.lanes_are_reduced:
            self.over_points(step, self.reduced)
            return
        with self.over(axis for axis in self.reduced if axis != self.vector_axis):
            self.in_turns(step, count, 0, self.size(self.vector_axis))

    def over_points(self, step: Step, axes: Sequence[str]) -> None:
        """Loops over axes point by point; a few points are no loop."""
        sizes = [self.size(axis) for axis in axes]
        if math.prod(size if isinstance(size, int) else MOST_UNROLLED + 1 for size in sizes) > MOST_UNROLLED:
            with self.over(axes):
                step(0)
            return
        for places in pairs(*(range(size) for size in sizes if isinstance(size, int))):
            with ExitStack() as moved:
                for axis, place in zip(axes, places, strict=True):
                    moved.enter_context(self.moved(axis, place))
                step(0)

    def in_turns(self, step: Step, count: int, start: IndexLike, stop: IndexLike) -> None:
        """Vectors along the axis of the lanes from one place to another: as many together as accumulators take turns, then one
        after the other, then lanes that are left."""
        axis, first, size = self.vector_axis, start, stop - start
        for together in sorted({count, 1}, reverse=True):
            width = together * self.lanes
            whole = self.whole(size, width)
            if whole != first - start:
                with self.along(axis, first, start + whole, width) as at:
                    for number in range(together):
                        with self.moved(axis, at + number * self.lanes):
                            step(number)
            first = start + whole
        if self._has_rest(axis):
            self.last_part(step, first, stop)

    def last_part(self, step: Step, first: IndexLike, stop: IndexLike) -> None:
        """The lanes behind the last whole vector."""
        count = stop - first
        if count == 0:
            return
        with (
            nullcontext() if isinstance(count, int) else self.builder.when(count),
            self.moved(self.vector_axis, first),
            self.of_part(count),
        ):
            step(0)

    def state_step(self, state: StateVariable, total: Variable, keep: bool, known: dict[Scalar, Value]) -> None:
        """Take one vector of points into an accumulator; `keep` stores the contribution too."""
        self.prefetch_rows_to_come(state)
        b, values = self.builder, self.values(known)
        mask = self.real.mask(b, self.type) if self.lanes_are_reduced else None
        product = summed_product(state, self.loops.operator.body, known)
        if product is not None and not keep:
            left, right = map(values.value, product)
            grown = b.multiply_add(left, right, total)
            b.assign(total, grown if mask is None else b.select(mask, grown, total))
            return
        contribution = values.value(state.contribution)
        if keep:
            self.store(contribution)
        taken = contribution if mask is None else b.select(mask, contribution, self.identity(state))
        b.assign(total, self.combined(state)(b, total, taken))

    def prefetch_rows_to_come(self, state: StateVariable) -> None:
        """In the last of several passes: the first one over the next rows does too little to hide where they lie."""
        states = self.reduction.states
        if self.ways == 1 or len(states) == 1 or state is not states[-1]:
            return
        for read in self.loops.reads:
            if isinstance(read, View) and read.dtype == "float32" and read.stride(self.vector_axis) == 1:
                step = self.stride(read.stride(self.row_axis))
                if step != 0:
                    self.builder.prefetch(self.arguments.buffer(read)[0], self.place(read) + self.ways * step)

    def finish(self, stored: Scalar | None) -> None:
        """Write one value per point, or one per row."""
        if not self.writes_points:
            for way in self.each():
                self.store_of_row(self.loops.write, self.values(self.known[way]).value(self.reduction.finish))
            return
        value, inverted = self.reduction.finish, []
        if self.type.is_float:
            value, inverted = hoist_division(value), inverses(value)
        for known in self.known:
            known |= {State(name): self.values(known).value(scalar) for name, scalar in inverted}
        if self.loops.inverse is not None:
            ((name, _),) = inverted
            for way in self.each():
                self.store_of_row(self.loops.inverse, self.known[way][State(name)])
            return
        once = [self.once_a_row(way, value) for way in self.each()]

        def step(_: int) -> None:
            for way in self.each():
                known = {**self.known[way], **once[way]}
                if stored is not None:
                    known[stored] = self.load(self.loops.write)
                self.store(self.values(known).value(value))

        self.over_reduction(step)

    def once_a_row(self, way: int, scalar: Scalar) -> dict[Scalar, Value]:
        """The parts of an expression that a row has once."""
        return {part: self.values(self.known[way]).value(part) for part in row_values(scalar)}

    # Values.

    def values(self, known: dict[Scalar, Value]) -> RowValues:
        """Expressions of a row of which something is known."""
        return RowValues(self, known)

    def leaf(self, scalar: Scalar) -> Value:
        """What is read, or follows from where the point is."""
        if self.has_gathers:
            self.gathers.enter_row()
        return MapProgram.leaf(self, scalar)

    def store_of_row(self, view: View, value: Value) -> None:
        """Write one value per row: of one row, or of a vector of rows."""
        if not self.lanes_are_reduced:
            self.store(value, view)
            return
        b, (buffer, _) = self.builder, self.arguments.buffer(view)
        first = b.shuffle((value,), (0,)) if value.type.lanes > 1 else value
        b.store(buffer, self.place(view), stored(b, first, view.dtype))


class RowValues(Values):
    """Expressions of a row."""

    def __init__(self, rows: RowProgram, known: dict[Scalar, Value]) -> None:
        """Where the program is; `known` has states, and what was computed before."""
        Values.__init__(self, rows.builder, rows.type, self.leaf, known, {REPORT_NOT_FINITE: rows.reported})
        self.rows = rows

    def leaf(self, scalar: Scalar) -> Value:
        """A point is computed where it is needed: the builder makes each but once."""
        return self.value(self.rows.loops.operator.body) if scalar == Point() else self.rows.leaf(scalar)

    def applied(self, scalar: Apply) -> Value:
        """An exponential of what falls is a power of 2, whose factor is rounded once."""
        falls = fall(scalar, self.rows.form.largest) if self.type.dtype == "float32" else None
        if falls is None:
            return Values.applied(self, scalar)
        factor, difference = falls
        return exp2_down(self.builder, self.value(difference) * rounded(factor * math.log2(math.e), "float32"))
