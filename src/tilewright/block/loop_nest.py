"""Block program: regions of loops over blocks, buffers, copies and leaves, between a plan and its text.

All coordinates are explicit here: a `View` says where the elements of a box lie, so that emitters know nothing of schedules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import takewhile
from typing import TypeAlias

from tilewright.block.execution import PanelPrefetch, Vectors
from tilewright.block.integers import IntegerExpression, Variable, ceil_divide, minimum
from tilewright.block.leaf_binding import LeafBinding
from tilewright.errors import InternalError
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import Load, Scalar
from tilewright.graph.types import Guard, Operator, Reduction, element_bytes

Matrix: TypeAlias = tuple[tuple[float, ...], ...]
"""Entries, row by row."""
WORD_BYTES = 4
"""Of the words in which memory is allotted."""
ALIGNMENT_WORDS = 16
"""Of buffers: a cache line of CPUs."""
MAIN_MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Range:
    """The current block of an axis: `start`, `size`, the largest size that it ever has, and all sizes if they are known."""

    start: IntegerExpression
    size: IntegerExpression
    capacity: IntegerExpression
    sizes: frozenset[int] | None = None
    most: int | None = None
    """No size is larger, where the sizes are not known; None if nothing is known."""

    def pieces(self, tile: int) -> frozenset[int]:
        """All sizes of the pieces that a tile may cut the range into.

        >>> Range(0, 14, 14, frozenset((14,))).pieces(6) == {6, 2}, Range(0, 14, 14, most=3).pieces(6) == {1, 2, 3}
        (True, True)
        """
        if self.sizes is None:
            return frozenset(range(1, (tile if self.most is None else min(tile, self.most)) + 1))
        return frozenset(part for size in self.sizes for part in ({tile} if size >= tile else set()) | {size % tile} - {0})

    def blocks(self, tile: int, start: Variable, size: Variable) -> Range:
        """The range inside a loop over blocks of `tile`, with variables for start and size."""
        sizes = self.pieces(tile) if self.sizes is not None else None
        fixed = sizes == frozenset({tile})
        capacity = tile if self.sizes is not None else minimum(tile, self.capacity)
        most = tile if self.most is None else min(tile, self.most)
        return Range(start, tile if fixed else size, capacity, sizes, most)

    @property
    def stop(self) -> IntegerExpression:
        """Behind the last point."""
        return self.start + self.size

    @property
    def size_variable(self) -> Variable | None:
        """The variable that holds the size; None if none does."""
        return self.size if isinstance(self.size, Variable) else None


class Content(StrEnum):
    """What a buffer holds of a tensor.

    Its elements; an operand packed for an operator; the result of an operator before it is stored; a state of its rows between
    blocks; what the parts of a split make of it, or of a state of its rows.
    """

    ELEMENTS = "elements"
    PACKED = "packed"
    STAGED = "staged"
    RUNNING = "running"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class BufferName:
    """A buffer by what it holds, `of` which operator or state; `read` is the operand where an operator packs several."""

    tensor: str
    content: Content = Content.ELEMENTS
    of: str = ""
    read: int | None = None

    def __str__(self) -> str:
        """For readers.

        >>> print(BufferName("x"), BufferName("x", Content.PACKED, "matmul"), sep=", ")
        x, x packed matmul
        """
        words = (self.tensor, "" if self.content is Content.ELEMENTS else self.content, self.of, self.read)
        return " ".join(str(word) for word in words if word not in ("", None))


@dataclass(frozen=True, slots=True)
class View:
    """Elements of a box in memory: `buffer[offset + sum(strides[axis] * local position)]`, positions from the box's start."""

    buffer: BufferName
    offset: IntegerExpression
    strides: tuple[tuple[str, IntegerExpression], ...]
    dtype: str = "float32"

    def stride(self, axis: str | None) -> IntegerExpression:
        """Elements between neighbours along an axis; 0 along axes that it does not depend on."""
        return dict(self.strides).get(axis, 0) if axis is not None else 0


@dataclass(frozen=True, slots=True)
class Lookup:
    """The element of another read of the operator is added to the index of a dimension, of this extent."""

    dimension: int
    read: int
    extent: IntegerExpression
    number: int
    """Among the lookups of the chain: with it a position outside of the dimension is reported."""


@dataclass(frozen=True, slots=True)
class Gather:
    """Elements at quasi-affine positions, computed one by one: `indices` in absolute positions of the axes.

    Nothing negative is divided in them, nor in the constraints: C rounds toward zero.
    """

    buffer: BufferName
    offset: IntegerExpression
    """Of the element that all indices being 0 would address."""
    indices: tuple[Index, ...]
    dim_strides: tuple[IntegerExpression, ...]
    guard: Guard | None
    dtype: str = "float32"
    lookups: tuple[Lookup, ...] = ()


class Lifetime(StrEnum):
    """How long a buffer holds its elements: the blocks of a thread or of a team of threads, a call, or until it is unloaded."""

    THREAD = "thread"
    TEAM = "team"
    CALL = "call"
    LOAD = "load"


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory for `elements` of a type, aligned to `ALIGNMENT_WORDS`."""

    name: BufferName
    elements: IntegerExpression
    dtype: str = "float32"
    lifetime: Lifetime = Lifetime.THREAD
    note: str = ""
    """For readers."""
    reuse_group: int | None = None
    """Buffers of one group are never alive together, and share memory; None for memory of its own."""
    space: str = MAIN_MEMORY
    """A memory level of the machine by name; caches in front of main memory fill themselves."""

    @property
    def size_words(self) -> IntegerExpression:
        """What it takes, up to where another buffer may begin.

        >>> Buffer(BufferName("x"), 10, "int8").size_words, Buffer(BufferName("x"), 10, "float64").size_words
        (16, 32)
        """
        return ceil_divide(self.elements, ALIGNMENT_WORDS * WORD_BYTES // element_bytes(self.dtype)) * ALIGNMENT_WORDS


class Statement:
    """A statement of a block program: a loop, a condition, a definition, a movement of elements, or a leaf."""

    __slots__ = ()

    @property
    def moves(self) -> bool:
        """Whether it only moves elements."""
        return False


class Leaf(Statement):
    """An operator on a box of its axes."""

    __slots__ = ()

    def accesses(self) -> Iterator[Operand]:
        """What is read and written."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of a leaf, by the part that it has in its operator."""

    name: str
    place: View | Gather
    is_read: bool = True
    is_written: bool = False


THREADS = "threads"
"""The level of loops whose blocks are distributed over the threads of a region."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class If(Statement):
    """Run the body if the condition is not 0."""

    condition: IntegerExpression
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Rounded:
    """An element of a tensor, rounded to an integer."""

    element: View
    rounds_up: bool


@dataclass(frozen=True, slots=True)
class Let(Statement):
    """A variable for a value, in the rest of the body that it stands in."""

    variable: Variable
    value: IntegerExpression | Rounded


@dataclass(frozen=True, slots=True)
class Fill(Statement):
    """Every element of a box gets a value: the identity from which a state starts."""

    target: View
    box: tuple[tuple[str, Range], ...]
    value: float
    leaf: LeafBinding
    note: str = ""
    """For readers."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class TileOperand:
    """What an epilogue reads: its place for the first element of C, its stride along rows, and whether it moves with columns."""

    view: View
    row: IntegerExpression
    has_columns: bool
    is_far: bool = False
    """Whether nothing has asked for its lines before."""
    is_whole: bool = False
    """Whether the whole numbers of an epilogue read it, and not its floats."""


@dataclass(frozen=True, slots=True)
class TileEpilogue:
    """What becomes of every element of C in registers: `body`, of the sum as `Load(0)` and of operand i as `Load(i + 1)`.

    Sums of integers become what `whole` makes of them in int32, of the same loads, and then floats, of which `body` is.
    """

    body: Scalar
    operands: tuple[TileOperand, ...]
    non_temporal: bool = False
    """Whether C is stored past the caches where its lines are whole."""
    whole: Scalar | None = None
    """None where sums are floats."""
    element_type: str = ""
    """What floats are stored as where sums are integers; "" where C holds what sums are computed in."""


@dataclass(frozen=True, slots=True)
class ReductionLoop:
    """A reduction loop around the depth that passes inside of a micro kernel."""

    steps: IntegerExpression
    left_step: IntegerExpression
    """Elements from one step to the next in A."""
    right_step: IntegerExpression


@dataclass(frozen=True, slots=True)
class KernelCall(Leaf):
    """C[rows, columns] (+)= A[rows, depth] * B[depth, columns] by a micro kernel, panel by panel and rows inside."""

    kernel: str
    symbol: str | None
    """Of its function where that is fixed."""
    rows: IntegerExpression
    columns: IntegerExpression
    depth: IntegerExpression
    left: View
    left_row: IntegerExpression
    left_depth: IntegerExpression
    right: View
    right_panel: IntegerExpression
    """Elements between column panels of the micro kernel's width."""
    right_row: IntegerExpression
    """Elements between neighbours along the depth (groups of interleaved ones), or between columns where the micro kernel reads
    them so."""
    target: View
    target_row: IntegerExpression
    accumulate: IntegerExpression
    shapes: frozenset[tuple[int, int]] | None
    """All (rows, columns) that occur, None if they are known at run time only."""
    ranges: tuple[Range, Range] = (Range(0, 0, 0), Range(0, 0, 0))
    """Of rows and columns."""
    operator: str = ""
    """The contraction that is computed."""
    box: tuple[tuple[str, Range], ...] = ()
    """The range of every axis of the contraction."""
    panel_columns: int = 0
    """Columns of a panel of B."""
    interleave: int = 1
    """Neighbouring steps of the depth that B holds side by side for every column."""
    right_by_columns: bool = False
    """Whether B is given by columns, which are contiguous."""
    software_prefetches: int = 0
    """How many of the nest's fetches every micro tile advances."""
    epilogue: TileEpilogue | None = None
    panels: PanelPrefetch | None = None
    """How B is read where it lies in panels that every tile prefetches a share of; None where none does."""
    inlined: bool = False
    """Whether the text of the micro kernel stands where it is called; else its functions are linked."""
    around: tuple[ReductionLoop, ...] = ()
    """The reduction loops of the micro kernel around the depth, innermost first."""
    known: Matrix | None = None
    """All of A, where its values are known and a tile takes all of it."""

    @property
    def operands(self) -> tuple[TileOperand, ...]:
        """What the epilogue reads."""
        return self.epilogue.operands if self.epilogue is not None else ()

    def accesses(self) -> Iterator[Operand]:
        """The factors, what the epilogue reads, and the result, which is read where sums go on."""
        if self.known is None:
            yield Operand("left", self.left)
        yield Operand("right", self.right)
        yield from (Operand("epilogue", operand.view) for operand in self.operands)
        yield Operand("result", self.target, is_read=self.accumulate != 0, is_written=True)

    @property
    def prefetching(self) -> bool:
        """Whether tiles prefetch."""
        return self.panels is not None


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class VectorLoops(Leaf):
    """A map or a row-wise reduction over a box, as vector loops along `vector_axis` inside loops over the other axes.

    `box` gives every axis its range. A write may lie in the buffer of a read, element upon element. With `running`, the box is
    a block of rows: states continue from what they were, and undivided weights are written. With `inverse`, rows are whole, and
    undivided weights are written too.
    """

    operator: Operator
    box: tuple[tuple[str, Range], ...]
    reads: tuple[View | Gather, ...]
    write: View
    vector_axis: str | None
    leaf: LeafBinding
    """The leaf that computes the box."""
    running: RunningStates | None = None
    inverse: View | None = None
    """Receives what every row's weights, or sums of them, are to be multiplied by."""
    block_steps: int = 0
    """Steps after which what an accumulator has summed goes into a compensated total; 0 where sums are short."""
    vectors: Vectors = field(default_factory=Vectors)
    lanes: int = 0
    """The length of vectors."""

    @property
    def scalar_element_type(self) -> str:
        """The element type that is computed in, point by point in plain loops; "" for vectors of float32."""
        return self.leaf.element_type

    @property
    def reduction(self) -> Reduction:
        """That of an operator that has one."""
        assert self.operator.reduction is not None
        return self.operator.reduction

    def view(self, read: int) -> View:
        """A read that is no gather."""
        operand = self.reads[read]
        assert isinstance(operand, View)
        return operand

    def with_views(self, change: Callable[[View], View]) -> VectorLoops:
        """The same of other views, which are changed in the order of reads, result, running states and reciprocals."""
        reads = tuple(change(read) if isinstance(read, View) else read for read in self.reads)
        write, running = change(self.write), self.running and self.running.with_views(change)
        return replace(self, reads=reads, write=write, running=running, inverse=self.inverse and change(self.inverse))

    def functions(self) -> tuple[str, ...]:
        """The scalar functions that are called, those that combine states included."""
        states = self.operator.reduction.states if self.operator.reduction is not None else ()
        return (*self.operator.functions(), *(state.combine for state in states))

    def accesses(self) -> Iterator[Operand]:
        """The reads that expressions use, by tensor; the result; states of rows, and what is kept of them."""
        used = {scalar.read for scalar in self.operator.scalars() if isinstance(scalar, Load)}
        used |= {lookup.read for read in self.reads if isinstance(read, Gather) for lookup in read.lookups}
        yield from (Operand(self.operator.reads[number].tensor, self.reads[number]) for number in sorted(used))
        yield Operand("result", self.write, is_read=False, is_written=True)
        if self.running is not None:
            yield from (Operand(name, place, is_written=True) for name, place, _ in self.running.states)
            yield Operand("factor", self.running.factor, is_read=False, is_written=True)
        if self.inverse is not None:
            yield Operand("reciprocal", self.inverse, is_read=False, is_written=True)

    def places(self) -> Iterator[View]:
        """Where results lie, and what is kept for each row."""
        yield self.write
        if self.running is not None:
            yield from (place for _, place, _ in self.running.states)
            yield self.running.factor
        if self.inverse is not None:
            yield self.inverse


@dataclass(frozen=True, slots=True)
class Combine(VectorLoops):
    """The parts of a split reduction are combined: a reduction over `part`, their axis."""

    part: str = ""


@dataclass(frozen=True, slots=True)
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


Structure: TypeAlias = tuple[int, int]
"""The number of a kind of chains, and that of the region in its chain."""


@dataclass(frozen=True, slots=True)
class Region:
    """Statements that all threads run together, before the next region begins.

    Loops of level `THREADS` stand each as the last statement of the one around it. Without any, one thread runs the body.
    """

    name: str
    body: tuple[Statement, ...]
    buffers: tuple[Buffer, ...] = ()
    """All that statements use beside tensors of the graph and `constants`."""
    constants: tuple[Region, ...] = ()
    """Regions that run once, when the kernel is loaded, and whose buffers this one reads."""
    header: tuple[str, ...] = ()
    """Lines for people: the plan and its price."""
    block_ns: int = 0
    """What one block is expected to take."""
    lookups_before: int = 0
    """How many the chains before this one have."""
    structure: Structure | None = None
    """Equal for regions of a program whose functions are the same but for names; None: shared by nobody."""

    @property
    def scratch(self) -> tuple[Buffer, ...]:
        """The buffers of every thread."""
        return tuple(buffer for buffer in self.buffers if buffer.lifetime is Lifetime.THREAD)

    @property
    def setup(self) -> tuple[Statement, ...]:
        """What a thread does before its first block: packing for what follows, where no loop is distributed."""
        moves = tuple(takewhile(lambda statement: statement.moves, self.body))
        return entered(self.body) if self.parallel else moves[: len(self.body) - 1]

    @property
    def parallel(self) -> tuple[For, ...]:
        """The loops whose blocks are distributed, outermost first."""
        loops: list[For] = []
        body = self.body
        while (inner := distributed(body)) is not None:
            loops.append(inner)
            body = inner.body
        return tuple(loops)

    @property
    def block(self) -> tuple[Statement, ...]:
        """What is done in every block of all distributed loops."""
        return self.parallel[-1].body if self.parallel else self.body[len(self.setup) :]

    def nodes(self) -> Iterator[Statement]:
        """Everything that a call does, in order."""
        yield from walk(self.body)

    def mapped(self, change: Callable[[Statement], Iterable[Statement]]) -> Region:
        """The region with other statements in the place of each."""
        return replace(self, body=mapped(self.body, change))


def distributed(body: Sequence[Statement]) -> For | None:
    """The loop at the end of a body whose blocks are distributed."""
    last = body[-1] if body else None
    return last if isinstance(last, For) and last.level == THREADS else None


def entered(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """What stands before that loop."""
    return body if distributed(body) is None else body[:-1]


def nested(loops: Iterable[For], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Distributed loops inside each other around a body; what they hold stands before the loop inside."""
    for loop in reversed(list(loops)):
        body = (replace(loop, body=(*loop.body, *body), level=THREADS),)
    return body


def mapped(nodes: Iterable[Statement], change: Callable[[Statement], Iterable[Statement]]) -> tuple[Statement, ...]:
    """Other statements in the place of each, at any depth; loops and conditions around them stay."""
    found: list[Statement] = []
    for node in nodes:
        found += [replace(node, body=mapped(node.body, change))] if isinstance(node, For | If) else change(node)
    return tuple(found)


def walk(nodes: Iterable[Statement]) -> Iterator[Statement]:
    """All statements, those in the bodies of others behind them."""
    for node in nodes:
        yield node
        if isinstance(node, For | If):
            yield from walk(node.body)
