"""Lowering context of one chain: current ranges, scratch buffers, and where every tensor lies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tilewright.block.integers import IntegerExpression, Variable, VariableKind, minimum, round_up
from tilewright.block.memory import Buffer, BufferName, Gather, Lookup, Panels, Range, View
from tilewright.block.program import Region
from tilewright.block.statements import Combine, VectorLoops
from tilewright.graph.exactness import INTEGERS
from tilewright.graph.expressions.index import Index, with_natural_dividends
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.positions import named_lookup
from tilewright.graph.types import Access, Axis, Chain, Extent, Operator, element_bytes, largest_extent
from tilewright.kernels.contract import MicroKernel
from tilewright.leaves.declaration import Problem
from tilewright.leaves.registry import binding_of
from tilewright.lower.required_regions import RequiredRegions
from tilewright.lower.storage import Stored, elements, extent_value, spread_strides, stored_part, strided, view
from tilewright.plan import schedule as tree
from tilewright.plan.element_types import held_type
from tilewright.plan.regions.epilogues import in_output_place
from tilewright.plan.regions.gathered_reads import lookups_of
from tilewright.plan.regions.live_blocks import buffer_blocks, in_place_groups
from tilewright.plan.regions.live_ranges import is_lasting, shared_buffers
from tilewright.plan.regions.loop_views import view_schedule
from tilewright.plan.regions.masks import Limit
from tilewright.plan.types import Plan
from tilewright.records import record


def whole_range(size: IntegerExpression, most: int | None = None) -> Range:
    """The range of an axis without loops."""
    return Range(0, size, size, frozenset((size,)) if isinstance(size, int) else None, most)


@record
class IterationDomain:
    """The points along an axis that masks let through, of the current block of rows."""

    axis: str
    range: Range
    data: Mapping[Limit, IntegerExpression]
    """What the data adds to limits, as far as it is the same for the whole block."""


@record
class Scope:
    """Where the walk stands: the current range of every axis, and the range that every enclosing loop gives to its axis."""

    ranges: Mapping[str, Range]
    loops: tuple[tuple[tree.Loop, Range], ...] = ()
    split: str = ""
    """The axis whose outermost blocks are parts of their own."""
    domain: IterationDomain | None = None

    def enter(self, loop: tree.Loop, inner: Range) -> Scope:
        """The scope inside a loop."""
        return replace(self, ranges={**self.ranges, loop.axis: inner}, loops=(*self.loops, (loop, inner)))

    def at(self, axis: str, part: Range) -> Scope:
        """The scope of a part of the current block of an axis."""
        return replace(self, ranges={**self.ranges, axis: part})

    def origin(self, axis: str) -> IntegerExpression:
        """Where the reduction along an axis begins."""
        if self.domain is not None and axis == self.domain.axis:
            return self.domain.range.start
        return self.part_start() if axis == self.split else 0

    def end(self, axis: str, extent: Extent) -> IntegerExpression:
        """Where the reduction along an axis ends, but for that of a part."""
        if self.domain is not None and axis == self.domain.axis:
            return self.domain.range.stop
        return extent_value(extent)

    def part_start(self) -> IntegerExpression:
        """Where the current part of a split begins."""
        return self.loops[0][1].start

    def outer_start(self) -> IntegerExpression:
        """Where the blocks of the innermost loop begin."""
        axis = self.loops[-1][0].axis if self.loops else ""
        return next((block.start for loop, block in reversed(self.loops[:-1]) if loop.axis == axis), 0)

    def box(self, axes: Iterable[Axis]) -> tuple[tuple[str, Range], ...]:
        """The current ranges of some axes."""
        return tuple((axis.name, self.ranges[axis.name]) for axis in axes)

    def variables(self, axis: str) -> tuple[Variable, Variable]:
        """The start and the size of the blocks of one more loop over an axis."""
        nesting = sum(loop.axis == axis for loop, _ in self.loops) or None
        return Variable(VariableKind.BLOCK_START, axis, nesting), Variable(VariableKind.BLOCK_SIZE, axis, nesting)

    def block(self, axis: str, tile: int) -> Range:
        """What a loop over an axis gives to it: the range that it has, if that is one block."""
        whole = self.ranges[axis]
        if isinstance(whole.capacity, int) and whole.capacity <= tile:
            return whole
        return whole.blocks(tile, *self.variables(axis))


@record
class Packed:
    """A packed operand of a contraction: rows one after the other, or panels of `width` columns.

    Panels hold all rows, or, where a loop cuts the rows, those of one block: then all panels of the first block come first. They
    hold rows in groups of `interleave`, filled up to whole ones; blocks of rows begin where groups do.
    """

    buffer: BufferName
    starts: Mapping[str, IntegerExpression]
    """Where the copied box begins along every axis."""
    steps: Mapping[str, IntegerExpression]
    """Elements between neighbours along every axis; along rows that are cut, on average; for the columns of panels see `view`."""
    row: IntegerExpression
    """Elements between neighbouring rows, or groups of them."""
    rows: IntegerExpression
    """Rows of the copied box, at most."""
    width: int
    """0 for rows one after the other."""
    major: str | None
    """The axis of the rows."""
    column: str | None
    cut: tree.Loop | None
    """The loop that cuts the rows."""
    end: IntegerExpression | None = None
    """Where the copied rows end, if they are there whatever masks let through."""
    dtype: str = "float32"
    interleave: int = 1

    def panel(self, scope: Scope) -> IntegerExpression:
        """Elements between panels, inside the loop that cuts them; 0 if there are none."""
        return self._panel_rows(scope) * self.width

    def view(self, scope: Scope) -> View:
        """The current box of a scope; blocks of columns start at multiples of `width`, on average `_panel_rows` per column."""
        steps = {**self.steps, self.column: self._panel_rows(scope)} if self.width and self.column else self.steps
        moved = [(self._start(scope, name) - start) * steps[name] for name, start in self.starts.items()]
        if self.cut is not None:
            moved.append((scope.ranges[self.cut.axis].start - self._block(scope).start) * self.row)
        rows, row = (self.major, self.row) if self.major in self.starts else (None, 0)
        panels = Panels(rows, self.column, self.width, self.panel(scope), row, self.interleave) if self.width else None
        return View(self.buffer, sum(moved), tuple(steps.items()), self.dtype, panels)

    def _panel_rows(self, scope: Scope) -> IntegerExpression:
        """Rows of a panel, filled up to whole groups."""
        if self.cut is None:
            return round_up(self.rows, self.interleave)
        block, domain = self._block(scope), scope.domain
        if self.end is None or domain is None or domain.axis != self.cut.axis:
            return round_up(block.size, self.interleave)
        return round_up(minimum(self.cut.tile, self.end - block.start), self.interleave)

    def _start(self, scope: Scope, axis: str) -> IntegerExpression:
        return self._block(scope).start if self.cut is not None and axis == self.cut.axis else scope.ranges[axis].start

    def _block(self, scope: Scope) -> Range:
        """The current block of the loop that cuts the rows; slices of long sums lie within it."""
        assert self.cut is not None
        return next((block for loop, block in scope.loops if loop is self.cut), scope.ranges[self.cut.axis])


@dataclass(slots=True)
class Lowering:
    """The state of one walk: buffers, packed operands and packed constants found so far."""

    plan: Plan
    kernels: Mapping[str, MicroKernel]
    lanes: int
    arguments: Mapping[str, Stored]
    buffers: dict[BufferName, Buffer] = field(default_factory=dict)
    packed: dict[tuple[str, int], Packed] = field(default_factory=dict)
    constants: dict[BufferName, Region] = field(default_factory=dict)
    shared: dict[BufferName, Buffer] = field(default_factory=dict)
    """Operands that all threads pack together."""
    reuse_groups: dict[tuple[str, ...], int | None] = field(default_factory=dict)
    """Of the buffers of intermediates, by those that share one."""
    blocks: dict[str, Mapping[str, tree.Loop | None]] = field(default_factory=dict)
    """By intermediate: see `_blocks`."""
    regions: RequiredRegions | None = None
    """Inside the shared loops, if operators compute required regions of their consumers there."""

    tiles: dict[tuple[str, int], tuple[View, Mapping[str, IntegerExpression]]] = field(default_factory=dict)
    """By (operator, read): the tile of an operand that stays, and where its box begins, on machines with an accelerator."""

    @property
    def chain(self) -> Chain:
        """The chain that is lowered."""
        return self.plan.chain

    @property
    def takes_tiles(self) -> bool:
        """Whether leaves take whole tiles (`tiles.py`)."""
        return self.plan.machine.accelerator is not None

    def whole_ranges(self) -> dict[str, Range]:
        """The ranges of all axes without loops."""
        return {axis: whole_range(extent_value(extent), largest_extent(extent)) for axis, extent in self.chain.extents.items()}

    def added_loops(
        self,
        operator: Operator,
        box: tuple[tuple[str, Range], ...],
        reads: tuple[View, ...],
        write: View,
        lanes: str | None,
        part: str = "",
    ) -> VectorLoops:
        """The loops of an operator that no chain has: the leaf that takes it computes them. `part` is an axis of parts."""
        problem = Problem(operator, tuple(read.dtype for read in reads), write.dtype)
        binding = binding_of(problem, self.plan.machine)
        if part:
            return Combine(binding, operator, box, reads, write, vector_axis=lanes, part=part)
        return VectorLoops(binding, operator, box, reads, write, vector_axis=lanes)

    def scratch(
        self, name: BufferName, elements: IntegerExpression, note: str, dtype: str = "float32", reuse_group: int | None = None
    ) -> BufferName:
        """A scratch buffer; asking for the same name again gives the same buffer."""
        self.buffers.setdefault(name, Buffer(name, elements, dtype, note=note, reuse_group=reuse_group))
        return name

    def _reuse_group(self, group: tuple[str, ...]) -> int | None:
        """The number of the buffers that are never alive with that of a group of intermediates; None of tiles."""
        if self.takes_tiles:
            return None
        if not self.reuse_groups:
            view = view_schedule(self.chain, self.plan.schedule)
            for number, groups in enumerate(shared_buffers(view)):
                self.reuse_groups |= {group: None if is_lasting(view, group) else number for group in groups}
        return self.reuse_groups[group]

    def stored(self, tensor: str, scope: Scope) -> Stored:
        """Where a tensor lies, seen from a scope. What the parts of a split make of the output has a place of its own."""
        tensor = self.chain.output if not self.takes_tiles and tensor in in_output_place(self.chain) else tensor
        if scope.split and tensor == self.chain.output:
            return stored_part(self.plan, tensor, self.chain.tensor(tensor).shape, scope.part_start())
        return self.arguments[tensor] if tensor in self.arguments else self._intermediate(tensor, scope)

    def _intermediate(self, tensor: str, scope: Scope) -> Stored:
        blocks = self._blocks(tensor)
        group = next(group for group in in_place_groups(self.chain) if tensor in group)
        dimensions = zip(self.chain.maker(tensor).write.indices, self.chain.tensor(tensor).shape, strict=True)
        held = [self._region(group, index) or self._held(index, extent, blocks, scope) for index, extent in dimensions]
        sizes = tuple(size for _, size in held)
        own = self.chain.tensor(tensor).dtype
        dtype = own if self.takes_tiles and own in INTEGERS else held_type(self.chain, tensor)  # leaves wrap what they store
        period_bytes, line_bytes = self.plan.execution.set_period_bytes, self.plan.machine.line_bytes
        strides = spread_strides(sizes, element_bytes(dtype), period_bytes, line_bytes, self.lanes)
        regions = {axis for axis in blocks if self._region(group, axis_index(axis))}
        kinds = {axis: "region" if axis in regions else "block" if loop else "whole" for axis, loop in blocks.items()}
        note = " x ".join(f"{axis} {part}" for axis, part in kinds.items())
        buffer = self.scratch(BufferName(group[0]), elements(sizes, strides), note, dtype, self._reuse_group(group))
        return Stored(buffer, strides, tuple(start for start, _ in held), dtype=dtype)

    def _blocks(self, tensor: str) -> Mapping[str, tree.Loop | None]:
        """The loop that holds every axis of the buffer of an intermediate."""
        if tensor not in self.blocks:
            self.blocks[tensor] = dict(buffer_blocks(self.chain, self.plan.schedule, tensor))
        return self.blocks[tensor]

    def _region(self, group: tuple[str, ...], index: Index) -> tuple[IntegerExpression, IntegerExpression] | None:
        """(start, capacity) of the region that a buffer holds of a dimension, if all that write to it compute required regions of
        their consumers."""
        if self.regions is None or not index.is_axis():
            return None
        producers = [operator.name for operator in self.chain.operators if operator.write.tensor in group]
        return self.regions.held(producers, *index.axes())

    def _held(
        self, index: Index, extent: Extent, blocks: Mapping[str, tree.Loop | None], scope: Scope
    ) -> tuple[IntegerExpression, IntegerExpression]:
        """(start, capacity) of what a buffer holds of a dimension: all of it where several axes walk it; one element where it is
        written at a constant."""
        if not index.is_axis():
            return (0, extent_value(extent)) if index.terms else (index.constant, 1)
        (axis,) = index.axes()
        loop = blocks[axis]
        if loop is None:
            return 0, extent_value(self.chain.extents[axis])
        block = next(block for candidate, block in scope.loops if candidate is loop)
        return block.start, block.capacity

    def view(self, access: Access, scope: Scope) -> View | Gather:
        """The elements that an access addresses in the current box, but for what lookups add."""
        return view(self._in_c(self._placed(access)), self.stored(access.tensor, scope), scope.ranges)

    def read(self, operator: Operator, access: Access, scope: Scope) -> View | Gather:
        """The elements that a read of an operator addresses in the current box."""
        found = self.view(access, scope)
        if isinstance(found, View) or not access.lookups:
            return found
        numbers = {lookup: number for number, lookup in enumerate(lookups_of(self.chain))}
        extents = self.chain.tensor(access.tensor).shape
        lookups = [
            Lookup(dimension, by, extent_value(extents[dimension]), numbers[named_lookup(operator, access, dimension)])
            for dimension, by in access.lookups
        ]
        return replace(found, lookups=tuple(lookups))

    def strided(self, access: Access, scope: Scope) -> View:
        """The elements of an access that is affine."""
        return strided(self._in_c(self._placed(access)), self.stored(access.tensor, scope), scope.ranges)

    def _placed(self, access: Access) -> Access:
        """The access in the dimensions of where its tensor lies: sums in the place of the output may have more of them."""
        if self.takes_tiles or access.tensor not in in_output_place(self.chain):
            return access
        return replace(access, indices=self.chain.operators[-1].write.indices)

    def _in_c(self, access: Access) -> Access:
        """The access by divisions that the language rounds as they are meant."""
        if access.is_affine():
            return access
        extents = {name: largest_extent(extent) for name, extent in self.chain.extents.items()}
        return access.mapped(lambda index: with_natural_dividends(index, extents))
