"""Required regions of operators inside the shared loops, as values of generated code (see `plan.regions.required_regions`).

Everything follows from the blocks of the shared loops: what an operator computes, what is held of its result, and what of that
the block before has left. Starts and ends are computed apart, because the end of a block is where the next one has to go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

from tilewright.block.integers import IntegerExpression, Variable, VariableKind, choose, equal, maximum, minimum, nodes, unequal
from tilewright.block.memory import Range, View
from tilewright.block.statements import If, Let, Statement, Transfer
from tilewright.graph.types import Chain, Operator
from tilewright.lower.storage import Stored
from tilewright.plan.regions.required_regions import (
    Reading,
    Region,
    RegionAxes,
    SharedLoop,
    line_buffer_axis,
    required_regions,
    schedule_region_axes,
    shared_loops,
)
from tilewright.plan.schedule import Schedule, Storage, planned_sizes, trip_counts

LONGEST_BOUND = 12
"""Operations in a bound that is written where it is used; longer ones get names. A bound holds those of its consumers more than
once, so that without names the text of a chain of windows doubles with each of them."""


@dataclass(frozen=True)
class RequiredRegions:
    """All required regions inside the shared loops of a schedule. `ranges` are those of the axes there."""

    chain: Chain
    schedule: Schedule
    ranges: Mapping[str, Range]
    outer_start: IntegerExpression = 0
    """Where the blocks of the innermost shared loop begin."""
    blocks_before: int = 0
    """How many blocks of the innermost shared loop these lie before the current one."""
    bounds: dict[Variable, IntegerExpression] = field(default_factory=dict, compare=False, repr=False)
    """Long bounds, each behind those that it holds; those of blocks before are among them."""
    found: dict[Variable, IntegerExpression] = field(default_factory=dict, compare=False, repr=False)
    """Bounds as they are used."""

    @cached_property
    def region_axes(self) -> RegionAxes:
        """The axes along which operators compute required regions of their consumers."""
        return schedule_region_axes(self.chain, self.schedule)

    def defined(self) -> tuple[Statement, ...]:
        """Variables for the starts and sizes of all required regions, consumers first."""
        nodes: list[Statement] = []
        for operator, axis in self.region_axes:
            region, named = self._region(operator, axis), self.block(operator, axis)
            for value, variable in ((region.start, named.start), (region.size, named.size)):
                if isinstance(variable, Variable) and variable != value:
                    nodes.append(Let(variable, value))
        return tuple(nodes)

    def defined_bounds(self) -> tuple[Statement, ...]:
        """Variables for the long bounds asked for so far, to stand ahead of all that was lowered with them."""
        return tuple(Let(variable, value) for variable, value in self.bounds.items())

    def inside(self, operators: Sequence[str]) -> dict[str, Range]:
        """The ranges of all axes for some operators that stand together (more than one only if none reads another's result)."""
        return {**self.ranges, **{axis: self.block(name, axis) for name, axis in self.region_axes if name in operators}}

    def block(self, operator: str, axis: str) -> Range:
        """What an operator computes along an axis, in variables."""
        if (operator, axis) not in self.region_axes:
            return self.ranges[axis]
        region = self._region(operator, axis)
        start, size = (Variable(kind, axis, operator=operator) for kind in (VariableKind.BLOCK_START, VariableKind.BLOCK_SIZE))
        first = region.start if isinstance(region.start, int | Variable) else start
        return replace(region, start=first, size=region.size if isinstance(region.size, int) else size)

    def held(self, operators: Sequence[str], axis: str) -> tuple[IntegerExpression, IntegerExpression] | None:
        """(start, capacity) of what the shared buffer of these operators' results holds; None without required regions."""
        if any((operator, axis) not in self.region_axes for operator in operators):
            return None
        return self.start(operators[-1], axis), int(self._regions[operators[-1], axis].largest)

    def carry(self, operators: Sequence[str], stored: Stored) -> tuple[Statement, ...]:
        """Move what the block before has left of a line buffer, and this one needs, to where this one expects it."""
        last = self.chain.operator(operators[-1])
        loop = shared_loops(self.schedule)[-1].axis
        line_buffered = line_buffer_axis(self.chain, self.region_axes, last.write.tensor, loop)
        region = self._regions[last.name, line_buffered]
        if int(region.overlap) <= 0 or self._is_first == 1:
            return ()
        block = self.ranges[loop]
        return (If(unequal(block.start, self.outer_start), (self._move(last, line_buffered, stored),)),)

    def start(self, operator: str, axis: str) -> IntegerExpression:
        """Where what consumers read of an operator's result begins, in the current block."""
        return self._bound(Variable(VariableKind.REQUIRED_START, axis, self.blocks_before, operator), self._start)

    def end(self, operator: str, axis: str) -> IntegerExpression:
        """The position after the last that an operator computes in the current block."""
        return self._bound(Variable(VariableKind.REQUIRED_STOP, axis, self.blocks_before, operator), self._end)

    def _bound(self, bound: Variable, compute: Callable[[str, str], IntegerExpression]) -> IntegerExpression:
        """A bound, as this variable if it is long."""
        if bound not in self.found:
            value = compute(bound.operator, bound.of)
            if sum(1 for _ in nodes(value)) > LONGEST_BOUND:
                self.bounds[bound], value = value, bound
            self.found[bound] = value
        return self.found[bound]

    def _start(self, operator: str, axis: str) -> IntegerExpression:
        starts = [self._reached(reading, first=True) for reading in self.region_axes[operator, axis].readings]
        start = reduce(minimum, starts)
        return maximum(start, 0) if self._is_guarded(operator, axis) else start

    def _end(self, operator: str, axis: str) -> IntegerExpression:
        if (operator, axis) not in self.region_axes:
            return self.ranges[axis].stop
        end = reduce(maximum, [self._reached(reading, first=False) for reading in self.region_axes[operator, axis].readings]) + 1
        extent = self.chain.extents[axis]
        assert isinstance(extent, int), f"{axis} is symbolic"
        return maximum(minimum(end, extent), 0) if self._is_guarded(operator, axis) else end

    @cached_property
    def _regions(self) -> Mapping[tuple[str, str], Region]:
        sizes, loops = planned_sizes(self.chain), shared_loops(self.schedule)
        trips = trip_counts(loops, sizes)
        shared = tuple(SharedLoop(loop.axis, loop.tile, count) for loop, count in zip(loops, trips, strict=True))
        storage = {tensor: self.schedule.storage_of(tensor) for tensor in self.chain.intermediates}
        return required_regions(self.chain, self.region_axes, storage, shared, sizes)

    @cached_property
    def _is_first(self) -> IntegerExpression:
        """Whether this is the first block of the innermost shared loop."""
        return equal(self.ranges[shared_loops(self.schedule)[-1].axis].start, self.outer_start)

    @cached_property
    def _before(self) -> RequiredRegions:
        """The required regions of the block before, along the innermost shared loop."""
        loop = shared_loops(self.schedule)[-1]
        block = self.ranges[loop.axis]
        moved = Range(block.start + -loop.tile, loop.tile, loop.tile, frozenset((loop.tile,)))
        return replace(self, ranges={**self.ranges, loop.axis: moved}, blocks_before=self.blocks_before + 1)

    def _region(self, operator: str, axis: str) -> Range:
        capacity = int(self._regions[operator, axis].largest)
        if self._is_line_buffered(operator, axis):
            start = self._block_start(operator, axis)
            size = self.end(operator, axis) - start
            return Range(start, maximum(size, 0) if self._may_be_empty(operator, axis) else size, capacity, None)
        start, sizes = self.start(operator, axis), self._sizes(operator, axis)
        if sizes is None:
            return Range(start, maximum(self.end(operator, axis) - start, 0), capacity, None)
        size = next(iter(sizes)) if len(sizes) == 1 else self.end(operator, axis) - start
        return Range(start, size, capacity, sizes)

    def _sizes(self, operator: str, axis: str) -> frozenset[int] | None:
        """All sizes of a required region, None where they are not known: unions, clamped required regions, and required regions
        of such."""
        readings = self.region_axes[operator, axis].readings
        if self._is_line_buffered(operator, axis) or self._is_guarded(operator, axis) or len(readings) > 1:
            return None
        spans = {1}
        for atom, factor in readings[0].index.terms:
            sizes = self._sizes_of(readings[0].consumer, str(atom))
            if sizes is None:
                return None
            spans = {span + abs(factor) * (size - 1) for span in spans for size in sizes}
        return frozenset(spans)

    def _sizes_of(self, operator: str, axis: str) -> frozenset[int] | None:
        return self._sizes(operator, axis) if (operator, axis) in self.region_axes else self.ranges[axis].sizes

    def _block_start(self, operator: str, axis: str) -> IntegerExpression:
        """Where what an operator computes begins: behind the end of the block before, if its result has a circular line
        buffer."""
        if (operator, axis) not in self.region_axes:
            return self.ranges[axis].start
        return self._bound(Variable(VariableKind.COMPUTED_START, axis, self.blocks_before, operator), self._computed_from)

    def _computed_from(self, operator: str, axis: str) -> IntegerExpression:
        start = self.start(operator, axis)
        if not self._is_line_buffered(operator, axis):
            return start
        return choose(self._is_first, start, maximum(start, self._before.end(operator, axis)))

    def _reached(self, reading: Reading, *, first: bool) -> IntegerExpression:
        """The first or last position that a reading reaches in the current block."""
        parts: list[IntegerExpression] = [reading.index.constant]
        for atom, factor in reading.index.terms:
            place = reading.consumer, str(atom)
            at = self._block_start(*place) if first == (factor > 0) else self.end(*place) + -1
            parts.append(at * factor)
        return sum(parts)

    def _is_line_buffered(self, operator: str, axis: str) -> bool:
        tensor = self.chain.operator(operator).write.tensor
        loop = shared_loops(self.schedule)[-1].axis
        return self.schedule.storage_of(tensor) is Storage.LINE_BUFFER and loop in self.region_axes[operator, axis].slopes

    def _is_guarded(self, operator: str, axis: str) -> bool:
        """Whether the image may reach beyond the tensor."""
        return any(reading.is_guarded for reading in self.region_axes[operator, axis].readings)

    def _may_be_empty(self, operator: str, axis: str) -> bool:
        """Whether some block may lie in the padding of this operator's readers, or of theirs."""
        readings = self.region_axes[operator, axis].readings
        before = ((reading.consumer, str(atom)) for reading in readings for atom, _ in reading.index.terms)
        return self._is_guarded(operator, axis) or any(self._may_be_empty(*p) for p in before if p in self.region_axes)

    def _move(self, operator: Operator, line_buffered: str, stored: Stored) -> Transfer:
        """Rows in increasing order: their places are overwritten when they have been read.

        Several axes may walk one dimension, as rows and columns of pixels do; those of long steps are outside. Columns
        are contiguous: where the innermost axis has a longer step, its positions are rows of one column.
        """
        dimensions = zip(operator.write.indices, stored.strides, strict=True)
        steps = {
            str(atom): stride * factor
            for index, stride in dimensions
            for atom, factor in sorted(index.terms, key=lambda term: -abs(term[1]))
        }
        shift = self.start(operator.name, line_buffered) - self._before.start(operator.name, line_buffered)
        sizes = {axis: self._held_size(operator, axis, line_buffered) for axis in steps}
        axes = tuple(steps) if list(steps.values())[-1] == 1 else (*steps, "")
        *outer, depth, column = ("", *axes) if len(axes) < 2 else axes
        source = View(stored.buffer, shift * steps[line_buffered], tuple(steps.items()))
        loops = tuple((axis, sizes[axis], steps[axis]) for axis in outer)
        rows, row, columns = sizes.get(depth, 1), steps.get(depth, 0), sizes.get(column, 1)
        return Transfer(source, View(stored.buffer, 0, ()), loops, depth or None, rows, column or None, columns, 0, 0, row)

    def _held_size(self, operator: Operator, axis: str, line_buffered: str) -> IntegerExpression:
        if axis == line_buffered:
            return self._before.end(operator.name, axis) - self.start(operator.name, axis)
        if (operator.name, axis) in self.region_axes:
            return self.block(operator.name, axis).size
        return self.ranges[axis].size
