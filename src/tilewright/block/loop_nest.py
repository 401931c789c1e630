"""LoopNest: loops, buffers, copies, kernel calls and vector loops, between a plan and its text.

All coordinates are explicit here: a `View` says where the elements of a box lie, so that emitters know nothing of schedules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from tilewright.block.execution import PanelPrefetch, Vectors
from tilewright.block.integers import IntegerExpression, Variable, ceil_divide, minimum
from tilewright.block.leaf_binding import LeafBinding
from tilewright.errors import InternalError
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import Scalar
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


@dataclass(frozen=True, slots=True)
class BlockLoop:
    """A loop over blocks of `tile`, each of which is `block`: its start is a variable, and so is its size unless it is known."""

    axis: str
    whole: Range
    block: Range
    tile: int
    body: tuple[Node, ...]
    may_be_empty: bool = False


@dataclass(frozen=True, slots=True)
class If:
    """Run the body if the condition is not 0."""

    condition: IntegerExpression
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Define:
    """A variable for a value, in the rest of the body that it stands in."""

    variable: Variable
    value: IntegerExpression


@dataclass(frozen=True, slots=True)
class DefineRounded:
    """A variable for an element of a tensor, rounded to an integer."""

    variable: Variable
    element: View
    rounds_up: bool


@dataclass(frozen=True, slots=True)
class Copy:
    """Packing: copy a depth x columns box, for every position of the outer axes, into panels of `panel_columns`.

    Columns that the source lacks are zero in the last panel. Panels hold `interleave` neighbouring steps of the depth side by
    side for every column; steps that the source lacks are zero in the last group. With `panel_columns` of 0, rows are copied one
    after the other with stride `target_row`; the target may then lie in the source's buffer, at lower addresses.
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
class KernelCall:
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
class VectorLoops:
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

    def places(self) -> Iterator[View]:
        """Where results lie, and what is kept for each row."""
        yield self.write
        if self.running is not None:
            yield from (place for _, place, _ in self.running.states)
            yield self.running.factor
        if self.inverse is not None:
            yield self.inverse


@dataclass(frozen=True, slots=True)
class PointerParameter:
    """Where a nest finds the elements of a buffer."""

    name: BufferName
    dtype: str
    is_written: bool


@dataclass(frozen=True, slots=True)
class OperatorNest:
    """The loops of an operator as a function of its own: equal for operators that differ in names, places and numbers only.

    Of the numbers, those that are not parameters are the same for all of them.
    """

    loops: VectorLoops | Copy
    """In the names of the parameters; axes are numbered."""
    pointers: tuple[PointerParameter, ...]
    numbers: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class NestCall:
    """A nest for one operator: where its buffers begin, and its numbers."""

    nest: OperatorNest
    note: str
    """The operator, for readers."""
    places: tuple[tuple[BufferName, IntegerExpression], ...]
    """Buffer and offset in elements of every pointer."""
    numbers: tuple[IntegerExpression, ...]


Node: TypeAlias = BlockLoop | If | Define | DefineRounded | Copy | KernelCall | VectorLoops | NestCall


@dataclass(frozen=True, slots=True)
class ParallelAxis:
    """One of the axes whose blocks are numbered together and distributed over threads, outermost first.

    The start of the current block is a variable unless it is the whole range.
    """

    axis: str
    whole: Range
    block: Range
    tile: int
    prologue: tuple[Node, ...] = ()
    """What to do when this axis moves to a new block, before the axes inside it start (packing)."""
    descends: bool = False
    """Whether the last block of the axis comes first: where masks leave more to later blocks, long ones should not be last."""


@dataclass(frozen=True, slots=True)
class SoftwarePrefetch:
    """What a later block reads of an input: rows that the micro tiles of the current one ask for, some cache lines each."""

    tensor: str
    view: View
    """Of what a block reads, at its parallel axes."""
    rows: IntegerExpression
    row_stride: IntegerExpression
    columns: IntegerExpression
    column_stride: IntegerExpression
    lines: int
    """What every micro tile asks for."""
    position: int = 0
    """The last parallel axis that it depends on: it is the same for all blocks of the axes inside that one."""


@dataclass(frozen=True, slots=True)
class PackedConstant:
    """A constant that is packed when the kernel is loaded: the copies that fill its buffer from the tensor, row-major."""

    tensor: str
    buffer: Buffer
    copies: tuple[Node, ...]
    dtype: str = "float32"
    """Of the tensor's elements."""


Structure: TypeAlias = tuple[int, int]
"""The number of a kind of chains, and that of the nest in its chain."""


@dataclass(frozen=True, slots=True)
class LoopNest:
    """One chain: blocks of the parallel axes, and what is done in each."""

    name: str
    header: tuple[str, ...]
    """Lines for people: the plan and its price."""
    setup: tuple[Node, ...]
    """Done once per thread range, before its first block (packing above all parallel axes)."""
    parallel: tuple[ParallelAxis, ...]
    buffers: tuple[Buffer, ...]
    body: tuple[Node, ...]
    constants: tuple[PackedConstant, ...] = ()
    """Which all threads read."""
    block_ns: int = 0
    """What one block is expected to take."""
    software_prefetches: tuple[SoftwarePrefetch, ...] = ()
    shared: tuple[Buffer, ...] = ()
    """In the workspace of the call: what a nest of its own packs for all threads of the chain."""
    lookups_before: int = 0
    """How many the chains before this one have."""
    structure: Structure | None = None
    """Equal for nests of a program whose functions are the same but for names; None: shared by nobody."""

    def nodes(self) -> Iterator[Node]:
        """Everything that a call does, in order."""
        yield from walk((*self.setup, *(node for axis in self.parallel for node in axis.prologue), *self.body))

    def mapped(self, change: Callable[[Node], Iterable[Node]]) -> LoopNest:
        """The nest with other nodes in the place of each."""
        parallel = tuple(replace(axis, prologue=mapped(axis.prologue, change)) for axis in self.parallel)
        return replace(self, setup=mapped(self.setup, change), parallel=parallel, body=mapped(self.body, change))


def mapped(nodes: Iterable[Node], change: Callable[[Node], Iterable[Node]]) -> tuple[Node, ...]:
    """Other nodes in the place of each, at any depth; loops and conditions around them stay."""
    found: list[Node] = []
    for node in nodes:
        found += [replace(node, body=mapped(node.body, change))] if isinstance(node, BlockLoop | If) else change(node)
    return tuple(found)


def walk(nodes: Iterable[Node]) -> Iterator[Node]:
    """All nodes, those in the bodies of others behind them."""
    for node in nodes:
        yield node
        if isinstance(node, BlockLoop | If):
            yield from walk(node.body)
