"""Statements of a block program: loops over blocks, transfers, prefetches, definitions and leaves.

All coordinates are explicit: a `View` says where the elements of a box lie, so that renderers know nothing of schedules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import TypeAlias

from tilewright.block.execution import Vectors
from tilewright.block.integers import IntegerExpression, Variable, ceil_divide
from tilewright.block.leaf_binding import LeafBinding, MatrixTile
from tilewright.block.memory import POINT, Gather, Range, View
from tilewright.errors import InternalError
from tilewright.graph.expressions.scalar import Load, Scalar
from tilewright.graph.types import Operator, Reduction
from tilewright.records import record

Matrix: TypeAlias = tuple[tuple[float, ...], ...]
"""Entries, row by row."""


class Statement:
    """A statement of a block program: a loop, a condition, a definition, a movement of elements, or a leaf."""

    __slots__ = ()

    @property
    def moves(self) -> bool:
        """Whether it only moves elements."""
        return False


@record
class Operand:
    """An operand of a leaf, by the part that it has in its operator."""

    name: str
    place: View | Gather
    is_read: IntegerExpression = 1
    """Whether it is read: a condition."""
    is_written: bool = False


THREADS = "threads"
"""The level of loops whose blocks are distributed over the threads of a region."""


@record
class For(Statement):
    """A loop over blocks of `tile`, each of which is `block`: its start is a variable, and so is its size unless it is known.

    `level` is the level of the device that runs its blocks, "" for one block after the other. Blocks of nested loops of one level
    are numbered together, outermost first, and distributed. What stands before the inner loop of a level runs when a thread
    enters a block of the outer one, also at the start of its range. `buffers` is the number of blocks in flight.
    """

    axis: str
    whole: Range
    block: Range
    tile: int
    body: tuple[Statement, ...] = ()
    level: str = ""
    buffers: int = 1
    may_be_empty: bool = False
    descends: bool = False
    """Whether the last block of the axis comes first: where masks leave more to later blocks, long ones should not be last."""

    @property
    def trips(self) -> IntegerExpression:
        """How many blocks a loop over a range that is not empty has."""
        return ceil_divide(self.whole.size, self.tile) if isinstance(self.block.start, Variable) else 1

    @property
    def moves(self) -> bool:
        """Whether all of its body only moves elements."""
        return all(statement.moves for statement in self.body)


@record
class If(Statement):
    """Run the body if the condition is not 0."""

    condition: IntegerExpression
    body: tuple[Statement, ...]


@record
class Rounded:
    """An element of a tensor, rounded to an integer."""

    element: View
    rounds_up: bool


@record
class Let(Statement):
    """A variable for a value, in the rest of the body that it stands in."""

    variable: Variable
    value: IntegerExpression | Rounded


@record
class Fill(Statement):
    """Every element of a box gets a value: the identity from which a state starts."""

    target: View
    box: tuple[tuple[str, Range], ...]
    value: float
    leaf: LeafBinding
    note: str = ""
    """For readers."""


@record
class Transfer(Statement):
    """A copy between buffers, or inside one: packing, and what a line buffer keeps for the next block.

    A depth x columns box, for every position of the outer axes, goes into panels of `panel_columns`. Columns that the source
    lacks are zero in the last panel. Panels hold `interleave` neighbouring steps of the depth side by side for every column;
    steps that the source lacks are zero in the last group. With `panel_columns` of 0, rows are copied one after the other with
    stride `target_row`; the target may then lie in the source's buffer, at lower addresses.
    """

    source: View
    target: View
    outer: tuple[tuple[str, IntegerExpression, IntegerExpression], ...]
    """(axis, size, stride in the target) of every outer axis."""
    depth_axis: str | None
    depth: IntegerExpression
    column_axis: str | None
    columns: IntegerExpression
    panel_columns: int
    panel_stride: IntegerExpression
    target_row: IntegerExpression
    interleave: int = 1

    @property
    def moves(self) -> bool:
        """It does nothing else."""
        return True

    def __post_init__(self) -> None:
        """Raise `InternalError` where elements would change their type."""
        if self.source.dtype != self.target.dtype:
            raise InternalError(f"{self.source.buffer} of {self.source.dtype} is packed as {self.target.dtype}")


@record
class TileOperand:
    """What an epilogue reads."""

    view: View
    is_far: bool = False
    """Whether nothing has asked for its lines before."""
    is_whole: bool = False
    """Whether the whole numbers of an epilogue read it, and not its floats."""


@record
class TileEpilogue:
    """What becomes of every sum in registers: `body`, of the sum as `Load(0)` and of operand i as `Load(i + 1)`.

    Sums of integers become what `whole` makes of them in int32, of the same loads, and then floats, of which `body` is.
    """

    body: Scalar
    operands: tuple[TileOperand, ...]
    non_temporal: bool = False
    """Whether results are stored past the caches where their lines are whole."""
    whole: Scalar | None = None
    """None where sums are floats."""
    element_type: str = ""
    """What floats are stored as where sums are integers; "" where sums are stored in the type that they are computed in."""


@record
class RunningStates:
    """Where the states of rows lie that a row-wise reduction takes from block to block of its reduction."""

    states: tuple[tuple[str, View, Scalar | None], ...]
    """(name, place, what the old value is multiplied by) of every state, in order."""
    factor: View
    """Receives what older weights, and sums of them, are to be multiplied by: the factor of the last state."""

    def with_views(self, change: Callable[[View], View]) -> RunningStates:
        """The same at other places."""
        states = tuple((name, change(place), factor) for name, place, factor in self.states)
        return RunningStates(states, change(self.factor))


@record
class Leaf(Statement):
    """An operator on a box of its axes, computed by the leaf of a binding.

    A write may lie in the buffer of a read, element upon element. What is there is added to sums if `accumulate` is not 0; then
    they end with the epilogue. With `running`, the box is a block of rows: states continue from what they were, and undivided
    weights are written. With `inverse`, rows are whole, and undivided weights are written too.
    """

    leaf: LeafBinding
    operator: Operator
    box: tuple[tuple[str, Range], ...]
    """The range of every axis of the operator."""
    reads: tuple[View | Gather, ...]
    write: View
    accumulate: IntegerExpression = 0
    epilogue: TileEpilogue | None = None
    running: RunningStates | None = None
    inverse: View | None = None
    """Receives what every row's weights, or sums of them, are to be multiplied by."""

    @property
    def note(self) -> str:
        """For readers of generated text."""
        return ""

    @property
    def computed_type(self) -> str:
        """The element type of sums and values."""
        return self.leaf.tile.accumulator if self.leaf.tile is not None else self.leaf.element_type or "float32"

    @property
    def reduction(self) -> Reduction:
        """That of an operator that has one."""
        assert self.operator.reduction is not None
        return self.operator.reduction

    @property
    def operands(self) -> tuple[TileOperand, ...]:
        """What the epilogue reads."""
        return self.epilogue.operands if self.epilogue is not None else ()

    def view(self, read: int) -> View:
        """A read that is no gather."""
        operand = self.reads[read]
        assert isinstance(operand, View)
        return operand

    def accesses(self) -> Iterator[Operand]:
        """The reads that expressions use, by tensor, and those of the epilogue; the result, which is read where sums go on;
        states of rows, and what is kept of them."""
        used = {scalar.read for scalar in self.operator.scalars() if isinstance(scalar, Load)}
        used |= {lookup.read for read in self.reads if isinstance(read, Gather) for lookup in read.lookups}
        yield from (Operand(self.operator.reads[number].tensor, self.reads[number]) for number in sorted(used))
        yield from (Operand("epilogue", operand.view) for operand in self.operands)
        yield Operand("result", self.write, is_read=self.accumulate, is_written=True)
        if self.running is not None:
            yield from (Operand(name, place, is_written=True) for name, place, _ in self.running.states)
            yield Operand("factor", self.running.factor, is_read=0, is_written=True)
        if self.inverse is not None:
            yield Operand("reciprocal", self.inverse, is_read=0, is_written=True)


@record
class MatrixTiles(Leaf):
    """Tiles of a matrix product C[row, column] (+)= A[row, depth] * B[depth, column], panel by panel and rows inside.

    A kind of its own because a micro kernel has choices that no loop of vectors has: what is linked, known, or prefetched.
    """

    software_prefetches: int = 0
    """How many of the region's fetches every micro tile advances."""
    panel_slice_steps: int = 0
    """Steps of the depth in a slice of a packed panel, whose tiles share the prefetch of the next slice; 0: none does."""
    ahead: View | None = None
    """Rows that the tiles of the first panel share the prefetch of, those of the next panel of the columns beside; None: none
    does. Some may lie outside of the operand."""
    inlined: bool = False
    """Whether the text of the micro kernel stands where it is called; else its functions are linked."""
    known: Matrix | None = None
    """All of A, where its values are known and a tile takes all of it."""

    @property
    def tile(self) -> MatrixTile:
        """Roles of axes, and the micro kernel."""
        assert self.leaf.tile is not None
        return self.leaf.tile

    @property
    def sides(self) -> tuple[Range, Range, Range]:
        """The ranges of rows, columns and depth."""
        ranges, roles = dict(self.box), self.tile.roles
        rows, columns, depth = (ranges[axis] if axis is not None else POINT for axis in (roles.row, roles.column, roles.depth))
        return rows, columns, depth

    @property
    def left(self) -> View:
        """A."""
        return self.view(self.tile.roles.left)

    @property
    def right(self) -> View:
        """B."""
        return self.view(self.tile.roles.right)

    @property
    def shapes(self) -> frozenset[tuple[int, int]] | None:
        """All (rows, columns) that occur, None if they are known at run time only."""
        rows, columns, _ = self.sides
        if rows.sizes is None or columns.sizes is None:
            return None
        return frozenset((m, n) for m in rows.sizes for n in columns.sizes)

    @property
    def prefetching(self) -> bool:
        """Whether tiles prefetch what they are given."""
        return self.panel_slice_steps > 0 or self.ahead is not None


@record
class VectorLoops(Leaf):
    """A map or a reduction as vector loops along `vector_axis` inside loops over the other axes.

    A kind of its own because loops of vectors have choices that no micro kernel has: lanes, unrolling, blocks of long sums.
    """

    vector_axis: str | None = None
    block_steps: int = 0
    """Steps after which what an accumulator has summed goes into a compensated total; 0 where sums are short."""
    vectors: Vectors = field(default_factory=Vectors)
    lanes: int = 0
    """The length of vectors."""

    @property
    def note(self) -> str:
        """The operator."""
        return f"{self.operator.name}: {self.operator.kind}"

    @property
    def exact_element_type(self) -> str:
        """The element type that is computed in, point by point in plain loops; "" for vectors of float32."""
        return self.leaf.element_type

    def with_views(self, change: Callable[[View], View]) -> VectorLoops:
        """The same of other views, which are changed in the order of reads, result, running states and reciprocals."""
        reads = tuple(change(read) if isinstance(read, View) else read for read in self.reads)
        write, running = change(self.write), self.running and self.running.with_views(change)
        return replace(self, reads=reads, write=write, running=running, inverse=self.inverse and change(self.inverse))

    def functions(self) -> tuple[str, ...]:
        """The scalar functions that are called, those that combine states included."""
        states = self.operator.reduction.states if self.operator.reduction is not None else ()
        return (*self.operator.functions(), *(state.combine for state in states))

    def places(self) -> Iterator[View]:
        """Where results lie, and what is kept for each row."""
        yield self.write
        if self.running is not None:
            yield from (place for _, place, _ in self.running.states)
            yield self.running.factor
        if self.inverse is not None:
            yield self.inverse


@record
class Combine(VectorLoops):
    """The parts of a split reduction are combined: a reduction over `part`, their axis.

    A kind of its own because devices differ in how threads combine what they have summed.
    """

    part: str = ""


@record
class Prefetch(Statement):
    """What the next block along a distributed axis reads: rows that leaves of this block ask for, some cache lines each."""

    axis: str
    view: View
    """Of what a block reads."""
    rows: IntegerExpression
    row_stride: IntegerExpression
    columns: IntegerExpression
    column_stride: IntegerExpression
    lines: int
    """What every tile of a leaf asks for."""
