"""What a leaf declares, and what a plan keeps of the leaf that computes an operator.

A binding is data: a plan holds it, code generation hands it on, and the leaf's own lowering alone reads it. A leaf lowers to a
tile program; matrix tiles, which call micro kernels, to C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any, Protocol, TypeAlias

from tilewright.arrays import Count, Quantity
from tilewright.block.integers import IntegerExpression
from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.memory import BufferName
from tilewright.coefficients import Coefficients
from tilewright.graph.exactness import exact_type
from tilewright.graph.expressions.scalar import Scalar
from tilewright.graph.types import Operator, Tensor
from tilewright.kernel_source import KernelSource
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.helpers import Helper
from tilewright.kernels.saturation import OperandBounds
from tilewright.machine.machine import Machine
from tilewright.records import record
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.operations import Operation
from tilewright.tile.program import TileProgram


@record
class Problem:
    """What a leaf is asked to compute: an operator, and the element types of its reads and of what it writes.

    `kernels` are the micro kernels that machine and precision allow. `bounds` say how large the elements of its reads get, where
    these are integers; `needs_epilogue`, that elementwise operators must join it.
    """

    operator: Operator
    reads: tuple[str, ...]
    write: str
    kernels: tuple[MicroKernel, ...] = ()
    bounds: tuple[OperandBounds, ...] = ()
    needs_epilogue: bool = False

    @classmethod
    def of(cls, operator: Operator, tensors: Mapping[str, Tensor]) -> Problem:
        """The problem of an operator, with tensors by name."""
        reads = tuple(tensors[read.tensor].dtype for read in operator.reads)
        return cls(operator, reads, tensors[operator.write.tensor].dtype)

    @property
    def exact_type(self) -> str:
        """The element type that the operator is computed in exactly; "" where vectors of float32 compute it."""
        looked_up = self.operator.looked_up()
        return exact_type(self.operator.accumulator, (dtype for n, dtype in enumerate(self.reads) if n not in looked_up))


WAYS = 4
"""Rows that loops compute together, where these are short or wait for their steps."""
GENERAL = 5
"""The order of leaves that take all operators of a kind; one of them takes any operator."""


class Mismatch(StrEnum):
    """Why a leaf does not take an operator."""

    OPERATION = "another operation"
    ELEMENT_TYPE = "sums of another type than float32"
    POSITIONS = "positions that are no affine function of the axes"
    WINDOWS = "no windows along one or two dimensions"
    PADDING = "padding that does not end at a position"
    ORDER_OF_TAPS = "taps in another order"
    LANES = "no elements side by side along the lanes"
    VECTORS = "vectors compute it"
    REGISTERS = "more rows of sums than registers"
    TAPS = "too many taps in a row to be written down"
    MICRO_KERNEL = "no micro kernel of its element types"
    COLUMNS = "no columns side by side in the result, or in panels"
    EPILOGUE = "no micro kernel that ends with elementwise operators"
    SATURATION = "sums that may saturate"
    SLOWER = "slower"


@record
class Refusal:
    """A leaf does not take an operator."""

    leaf: str
    reason: Mismatch


@record
class Constraints:
    """What a leaf asks of the loops around it.

    No loop that operators share cuts `whole_axes`. `shares_loops` says whether operators of a program may share its loops.
    Loops do not cut packed panels and groups of steps, which lie along the axes of `panels` and `steps`. `largest` are the
    extents of a whole tile. Required regions, which begin and end anywhere, are not along axes that are `unbroken`. A read
    that is `streamed` passes by in pieces, of which a cache need not hold all.
    """

    whole_axes: frozenset[str] = frozenset()
    shares_loops: bool = False
    panels: tuple[tuple[str, int], ...] = ()
    steps: tuple[tuple[str, int], ...] = ()
    largest: tuple[tuple[str, int], ...] = ()
    streamed: int | None = None

    @property
    def unbroken(self) -> frozenset[str]:
        """The axes that are whole, or have panels."""
        return self.whole_axes.union(axis for axis, _ in self.panels)


@record
class CostProblem:
    """What the cost of a leaf depends on beside its binding: data.

    Sizes and tiles of axes may be arrays, or symbols of a formula that is recorded; no schedule changes the rest.
    """

    operator: Operator
    machine: Machine
    coefficients: Coefficients
    sizes: Mapping[str, Count]
    tiles: Mapping[str, Count]
    lanes: int
    """Elements of a vector in which the operator is computed."""
    write_bytes: int = 0
    """Of an element of the result, as it lies while the chain runs."""
    fused_bytes: int = 0
    """What one core may use of the level that intermediates stay in."""
    kernel: MicroKernel | None = None
    """That of the binding, where a micro kernel computes the operator."""
    sums_at_once: bool = False
    """Whether a call of it sums over all reduction axes."""

    def seconds_per_element(self, roots: Iterable[Scalar], passes: int) -> float:
        """The time of the functions of some expressions, and of so many passes over memory, at a point."""
        return self.coefficients.cycles_per_vector(roots, passes) / self.lanes / self.machine.frequency_hz


@record
class KernelWork:
    """What a micro kernel needs for an operator: seconds of arithmetic, and how often it is called."""

    seconds: Quantity
    calls: Quantity


class CFile(Protocol):
    """What the functions of a C file depend on."""

    @property
    def dialect(self) -> Dialect:
        """The instructions."""

    @property
    def kernels(self) -> Mapping[str, MicroKernel]:
        """All micro kernels, by name."""

    @property
    def links_kernels(self) -> bool:
        """Whether functions of micro kernels are linked; else all that are C of this dialect stand in the file."""


@record
class InlinedSource:
    """Tile programs as functions of a file: `always` inlined where they are called, or never."""

    source: KernelSource
    always: bool


@record
class Functions:
    """Functions that leaves call: what stands in their file, and what is linked with it."""

    text: tuple[str, ...] = ()
    linked: tuple[KernelSource, ...] = ()
    inlined: tuple[InlinedSource, ...] = ()
    """What stands before the text."""


@record
class PlaceArgument:
    """A pointer to the elements of a buffer, from an offset on."""

    buffer: BufferName
    offset: IntegerExpression
    dtype: str


class Reports(Enum):
    """What a program is given to make reports to."""

    CALLER = "caller"


CALLER = Reports.CALLER
TileArgument: TypeAlias = PlaceArgument | IntegerExpression | Reports


@record(eq=False)
class LoweredTile:
    """A leaf as a tile program: what is passed for its parameters, in their order, are places and integers of the block program.

    Functions of other objects that it calls are `helpers`.
    """

    program: TileProgram
    arguments: tuple[TileArgument, ...]
    helpers: tuple[Helper, ...] = ()
    of_dots: LoweredTile | None = None
    """The same for dialects with an instruction that adds up four products of bytes, where it differs."""
    function: str = ""
    """The name of the linked function that it is (`tile_programs/linked.py`); "" if its statements stand where it is called."""

    def for_dialect(self, dialect: Dialect) -> LoweredTile:
        """What suits a dialect."""
        has_dots = dialect.entry(Operation.DOT, "uint8", "int8", "int32") is not None
        return self.of_dots if has_dots and self.of_dots is not None else self


class Lowered(Protocol):
    """A leaf as C."""

    def text(self) -> list[str]:
        """The statements that compute a box."""

    def helpers(self) -> list[Helper]:
        """The functions that they call."""


@record
class Leaf:
    """The declaration of a leaf.

    Of two leaves that take an operator, the one of lower `order` computes it, of equal order the faster one. `match` gives a
    binding for each of its tiles, of which the planner chooses one; `kernel_refusals` say why other micro kernels of the right
    types give none. `seconds` is the time of all blocks of an operator, by operations of `tilewright.arrays` only; `work` has the
    number of its calls, too, where that matters. `lower` takes a `Leaf` of a program. What its text calls beside helpers are
    `functions` of the file; their text costs a compiler so many `characters`, by name. Along the `literal_axis` extents and
    strides decide about the text, so that functions that layers share have them as literals. `contract` is the test module
    with the contract suite; "" for the one of all leaves, `tests/leaves/test_contract.py`.
    """

    name: str
    order: int
    match: Callable[[Problem], tuple[LeafBinding, ...] | Refusal]
    seconds: Callable[[LeafBinding, CostProblem], Quantity]
    lower: Callable[[Any, LeafBinding], Lowered | LoweredTile]
    constraints: Callable[[LeafBinding], Constraints] = lambda _: Constraints()
    work: Callable[[LeafBinding, CostProblem], KernelWork] | None = None
    kernel_refusals: Callable[[Problem], list[Refusal]] | None = None
    functions: Callable[[CFile, Sequence[Any]], Functions] | None = None
    characters: Callable[[CFile, Sequence[Any]], Mapping[str, int]] | None = None
    literal_axis: Callable[[Any, LeafBinding], str | None] = lambda statement, _: statement.vector_axis
    contract: str = ""
