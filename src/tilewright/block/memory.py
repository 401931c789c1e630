"""Memory of a block program: ranges of axes, buffers, and views that say where the elements of a box lie."""

from __future__ import annotations

from enum import StrEnum

from tilewright.block.integers import IntegerExpression, Variable, ceil_divide, minimum
from tilewright.graph.expressions.index import Index
from tilewright.graph.types import Guard, element_bytes
from tilewright.records import record

WORD_BYTES = 4
"""Of the words in which memory is allotted."""
ALIGNMENT_WORDS = 16
"""Of buffers: a cache line of CPUs."""
MAIN_MEMORY = "memory"


@record
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


POINT = Range(0, 1, 1, frozenset((1,)))
"""The range of a role for which an operator has no axis."""


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


@record
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


@record
class Panels:
    """Panels of `width` columns that hold `interleave` neighbouring rows side by side: column j of row p lies
    `j // width * stride + p // interleave * row + j % width * interleave + p % interleave` elements behind the first one."""

    rows: str | None
    """The axis of rows; None for one row."""
    columns: str | None
    width: int
    stride: IntegerExpression
    row: IntegerExpression
    """Elements between groups of interleaved rows."""
    interleave: int = 1


@record
class View:
    """Elements of a box in memory: `buffer[offset + sum(strides[axis] * local position)]`, positions from the box's start."""

    buffer: BufferName
    offset: IntegerExpression
    strides: tuple[tuple[str, IntegerExpression], ...]
    dtype: str = "float32"
    panels: Panels | None = None
    """How rows and columns lie that are packed in panels, in the place of their strides."""

    def stride(self, axis: str | None) -> IntegerExpression:
        """Elements between neighbours along an axis; 0 along axes that it does not depend on."""
        return dict(self.strides).get(axis, 0) if axis is not None else 0


@record
class Lookup:
    """The element of another read of the operator is added to the index of a dimension, of this extent."""

    dimension: int
    read: int
    extent: IntegerExpression
    number: int
    """Among the lookups of the chain: with it a position outside of the dimension is reported."""


@record
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


@record
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
