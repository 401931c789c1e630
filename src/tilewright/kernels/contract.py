"""The micro kernel contract: what planning and code generation may assume of every kernel, wherever it comes from.

A matrix micro kernel computes, for `1 <= n <= columns` and `1 <= m <= rows_for(n)` (see `MicroKernel.rows_for`),

    C[i, j] = (accumulate ? C[i, j] : 0) + sum over p < k of A[i, p] * B[p, j]      0 <= i < m, 0 <= j < n

through a C function of this type (the ABI, `matrix_abi`; `TA`, `TB`, `TC` are the C types of `MicroKernel.element_types`):

    void name(long k, const TA *a, long a_row, long a_column, const TB *b, long b_row,
              TC *c, long c_row, long m, long n, long accumulate);

- Strides are in elements, may be any value (zero and negative included), and say where A[i, p] = a[i*a_row + p*a_column],
  B[p, j] = b[p*b_row + j], C[i, j] = c[i*c_row + j] lie: B and C have unit column stride. Where B is given by columns
  (`MicroKernel.right_by_columns`) they are contiguous, and `b_row` apart: B[p, j] = b[p + j*b_row].
- A kernel may want neighbouring steps side by side (`MicroKernel.interleave` of h): then B[p, j] = b[p/h*b_row + j*h + p%h], and
  the last group of steps is filled up with zeros, which may be read. A has no such padding: rows end with their last step.
- A kernel may take several nested reduction loops (`MicroKernel.reduction_loops`), each inside the next. Every loop around p has
  an extent behind `k`, and strides behind `a_column` and `b_row`. Of two loops:

    C[i, j] = (accumulate ? C[i, j] : 0) + sum over q < k_1, p < k of A[i, q, p] * B[q, p, j]
    void name(long k, long k_1, const TA *a, long a_row, long a_column, long a_step_1,
              const TB *b, long b_row, long b_step_1, TC *c, long c_row, long m, long n, long accumulate);
    A[i, q, p] = a[i*a_row + q*a_step_1 + p*a_column], B[q, p, j] = b[q*b_step_1 + p*b_row + j]

- No alignment beyond that of one element is assumed of any pointer.
- Edges: nothing outside the m x k elements of A, the k x n of B and the m x n of C is read or written.
- `k` may be 0: then C is zeroed, or left as it is when accumulating (though -0.0 may become 0.0).
- Products and sums have the type of the accumulator (`MicroKernel.accumulator`). Sums of integers wrap, and nothing saturates:
  a kernel whose instructions do (`MicroKernel.saturation`) is called only with operands that are proved to stay below.
- Sums of floats run over p in increasing order (inside q, if there is one), from zero, one accumulator per element of C, with
  fused multiply-adds where the ISA has them; C is added last. Where lanes run along the depth (`MicroKernel.lanes_along`), every
  lane sums its own steps so, and lanes are folded by halves. So an element's value depends neither on its place in the tile nor
  on the size of the tile.
- A kernel that flushes (`MicroKernel.flushes`) keeps no denormal numbers, and adds steps up in an order of its own, still one for
  all places of all tiles.
- Prefetches (see `MicroKernel.prefetch`) may name any address: they read nothing, and never fault.
- A kernel that prefetches what its caller names (`MicroKernel.emit_prefetching`) asks, before every whole group of steps of k
  (`tile.products.tile.PREFETCH_STEPS`), for `lines` lines of `LINE_BYTES` side by side: the first time from `next` on, then
  `next_step` elements further on. The caller gives every tile its share of what the tiles after it read.
- A kernel that takes an epilogue (see `Epilogue`) applies it to every element of C after all else, also where `k` is 0. Where an
  epilogue names another type than TC, C has that type, and `accumulate` is 0: C holds no sums.
- No symbol is imported, no memory is allocated, the floating-point environment is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from enum import StrEnum
from typing import Protocol, TypeAlias

from tilewright.block.leaf_binding import LeafBinding, MatrixTile
from tilewright.block.statements import Matrix
from tilewright.graph.contraction_roles import ContractionRoles
from tilewright.kernel_source import KernelSource
from tilewright.kernels.element_types import C_TYPES, ELEMENT_BYTES
from tilewright.kernels.saturation import Saturation
from tilewright.machine.machine import Machine
from tilewright.records import record
from tilewright.tile.builder import Builder
from tilewright.tile.program import Value

ElementTypes = tuple[str, str, str]
"""NumPy names of the element types of A, B and C."""
FLOAT32: ElementTypes = ("float32", "float32", "float32")


def matrix_parameters(element_types: ElementTypes = FLOAT32, reduction_loops: int = 1) -> dict[str, str]:
    """The parameters of a product, each with its C type, in the order of the ABI.

    >>> list(matrix_parameters(("uint8", "int8", "int32"), reduction_loops=2))[:7]
    ['k', 'k_1', 'a', 'a_row', 'a_column', 'a_step_1', 'b']
    """
    left, right, result = (C_TYPES[element_type] for element_type in element_types)
    outer = range(1, reduction_loops)
    a = {"a": f"const {left} *", **dict.fromkeys(("a_row", "a_column", *(f"a_step_{i}" for i in outer)), "long ")}
    b = {"b": f"const {right} *", **dict.fromkeys(("b_row", *(f"b_step_{i}" for i in outer)), "long ")}
    c = {"c": f"{result} *", **dict.fromkeys(("c_row", "m", "n", "accumulate"), "long ")}
    return {**dict.fromkeys(("k", *(f"k_{i}" for i in outer)), "long "), **a, **b, **c}


def matrix_abi(
    name: str,
    epilogue: Epilogue | None = None,
    *,
    prefetching: bool = False,
    element_types: ElementTypes = FLOAT32,
    reduction_loops: int = 1,
) -> str:
    """The C signature of a kernel, with the operands of its epilogue behind those of the product, then what it asks for.

    >>> matrix_abi("product", prefetching=True)
    'void product(long k, ... long accumulate, const float *next, long next_step, long lines)'
    """
    types = stored_types(element_types, epilogue)
    product = (f"{c_type}{parameter}" for parameter, c_type in matrix_parameters(types, reduction_loops).items())
    more = (*(epilogue.parameters() if epilogue is not None else ()), *(prefetch_parameters(types) if prefetching else ()))
    return f"void {name}({', '.join((*product, *more))})"


def stored_types(element_types: ElementTypes, epilogue: Epilogue | None) -> ElementTypes:
    """The types of A, B, and of what a kernel stores as C."""
    left, right, result = element_types
    return left, right, (epilogue.element_type if epilogue is not None else "") or result


LINE_BYTES = 64
"""The shortest cache line of a machine: kernels ask for operands by lines. Where lines are longer some are asked for twice."""
PREFETCH_ARGUMENTS = ("next", "next_step", "lines")
"""Of a kernel that prefetches what its caller names (`MicroKernel.emit_prefetching`)."""


def prefetch_parameters(element_types: ElementTypes) -> tuple[str, ...]:
    """`PREFETCH_ARGUMENTS`, declared: what is asked for has the type of B.

    >>> prefetch_parameters(FLOAT32)
    ('const float *next', 'long next_step', 'long lines')
    """
    return f"const {C_TYPES[element_types[1]]} *next", "long next_step", "long lines"


NESTED_LOOPS = 3
"""Reduction loops of the kernels that `MicroKernel.nested` names: two dimensions of taps around channels."""

Variants: TypeAlias = frozenset[tuple[int, int]] | None
"""The shapes (rows, vectors) that a caller needs; None for all."""

MATRIX_TILES = "matrix tiles"
"""The leaf that computes contractions by micro kernels."""
COLUMNS, DEPTH = "columns", "depth"
"""What the lanes of a kernel's vectors run along."""


class OperandRole(StrEnum):
    """An operand of C += A B, which a kernel may prefetch."""

    LEFT = "left"
    RIGHT = "right"
    TARGET = "target"


@record
class Along:
    """How an operand of an epilogue moves with the element of C: `rows` and `columns` say along what it does.

    Its elements lie side by side along columns. They are converted to floats where they are loaded, or, of an integer type that
    lanes of 32 bits hold, to whole numbers (`is_whole`).
    """

    rows: bool
    columns: bool
    element_type: str = "float32"
    """NumPy name, of `kernels/element_types.py`."""
    is_far: bool = False
    """Whether it comes from far away, short rows at a time: worth asking for ahead where it moves along rows and columns."""
    is_whole: bool = False
    """Whether the epilogue takes it as whole numbers, not as floats."""


class EpilogueValues(Protocol):
    """What an epilogue makes of a sum, in tile operations; equal ones are equal objects."""

    def value(self, builder: Builder, total: Value, operands: Sequence[Value]) -> Value:
        """The elements that are stored, of a sum, and of the elements of each operand in as many lanes."""


@record
class Epilogue:
    """What becomes of every element of C before it is stored: `values`, of the sum, what C held included, and of operands.

    Operand number i is given to the kernel as `e{i}`, its element for the first row and column, and, if it moves along rows,
    `e{i}_row`. Of a kernel that sums integers, the sum is an integer, and so is what is stored; with an `element_type` that is a
    float, which becomes an element of that type.
    """

    name: str
    operands: tuple[Along, ...] = ()
    non_temporal: bool = False
    """Whether C is stored past the caches, as nobody reads it soon: whole lines of it, where it lies so. Others see it after a
    fence of the same thread."""
    element_type: str = ""
    """What floats are converted to where they are stored, of a kernel that sums integers; "" if C has the kernel's own type."""
    values: EpilogueValues | None = None

    def parameters(self) -> tuple[str, ...]:
        """What the signature of the kernel has beside the product's.

        >>> Epilogue("add", (Along(rows=True, columns=True), Along(False, True, "bool"))).parameters()
        ('const float *e0', 'long e0_row', 'const unsigned char *e1')
        """
        types = {f"e{i}": f"const {C_TYPES[along.element_type]} *" for i, along in enumerate(self.operands)}
        return tuple(f"{types.get(name, 'long ')}{name}" for name in self.arguments())

    def arguments(self) -> tuple[str, ...]:
        """The names of these parameters."""
        pairs = ((f"e{i}", f"e{i}_row") if along.rows else (f"e{i}",) for i, along in enumerate(self.operands))
        return tuple(name for pair in pairs for name in pair)


@record
class MicroKernel:
    """The declaration of a replaceable micro kernel; the contract suite is generated from it.

    `emit(name, variants)` returns the source that defines the function called `name`. `variants` lists the (rows, vectors)
    shapes that the caller will need, so that a C kernel need not carry code for others; None asks for all up to rows x columns.
    """

    name: str
    operation: str
    """What is computed; so far "matmul"."""
    rows: int
    """Largest m (mr)."""
    columns: int
    """Largest n (nr)."""
    depth: int
    """Reduction steps per loop trip (kr); any k is accepted."""
    element_types: ElementTypes
    """Of A, B and C, as NumPy names them ("bfloat16" for the upper halves of float32)."""
    architecture: str
    """As in `Machine.architecture`; "any" for portable C."""
    features: frozenset[str]
    """ISA features that the code needs, named as in `Machine.features`."""
    vector_bits: int
    peak_share: float
    """Share of the peak of accumulators in vectors of `vector_bits` that tiles with k >= 64 reach (measured: docs/kernels.md).

    Above 1 where an instruction takes several interleaved steps, or several rows; sums of 32-bit integers have the peak of
    float32."""
    emit: Callable[[str, Variants], KernelSource]
    symbol: str | None = None
    """The symbol that the source defines where it is fixed (an object file): `emit` then ignores the name it is given."""
    prefetch: tuple[str, ...] = ()
    """Operands that the code prefetches: "left" (A of the next tile of rows), "right" (later rows of B), "target" (this C)."""
    lanes_along: str = COLUMNS
    """`COLUMNS` or `DEPTH`: then rows of A and columns of B should be contiguous, and C has as few columns as the tile."""
    right_by_columns: bool = False
    """Whether B is given by columns, which are contiguous: `b_row` is then the distance of two of them."""
    shares_accumulators: bool = False
    """Whether fewer vectors of columns may come with more rows, up to the number of accumulators that the whole tile has."""
    emit_with: Callable[[str, Variants, Epilogue], KernelSource] | None = None
    """As `emit`, of the kernel that ends with an epilogue; None if it takes none: then C is gone over once more."""
    emit_prefetching: Callable[[str, Variants, Epilogue | None], KernelSource] | None = None
    """As `emit_with`, of the kernel that prefetches what its caller names instead of later rows of B; None if there is none."""

    emit_known: Callable[[str, Variants, Epilogue | None, Matrix], KernelSource] | None = None
    """As `emit_with`, of the kernel for the rows of A that are given, and for as many steps: it does not read A. None if there
    is none."""
    accumulator_type: str = ""
    """What products and their sums are computed in; "" for the type of C."""
    rows_per_instruction: int = 1
    """Rows of C that an instruction adds to: matrix units multiply blocks."""
    call_cycles: int = 0
    """What a call takes besides its steps, where that is much: to configure a matrix unit (measured)."""
    chain_cycles: int | None = None
    """Cycles from a step's sum to the next one's; None for those of a multiply-add of the machine."""
    saturation: Saturation | None = None
    """What its operands must be proved to exclude; None for a kernel that is exact for all values."""
    flushes: bool = False
    """Whether denormal operands, products and sums count as zeros, and steps are summed in an order of its own: chosen only where
    a user allows it (`Precision.BF16`)."""
    interleave: int = 1
    """Neighbouring steps of the depth that B holds side by side for every column, and that A is broadcast in."""
    reduction_loops: int = 1
    """Nested reduction loops that the function takes, the one over `k` included."""
    nested: str = ""
    """The registered kernel of the same tile that takes `NESTED_LOOPS` of them; "" if there is none."""
    of_shape: Callable[[str, int, int], tuple[str, tuple[str, ...]]] | None = None
    """Of (name, m, n): the function that its C defines for this shape alone, and what that takes behind the arguments of the ABI,
    without m and n. None if there are none. Inlining these, a compiler need not look at other shapes."""
    emit_shape: Callable[[str, int, int, Epilogue | None, bool], KernelSource] | None = None
    """Of (name, m, n, epilogue, prefetching): a translation unit with the function that `of_shape` names alone, for the linker.
    Its text depends on nothing else, so that all libraries share what is compiled of it. None where `of_shape` is."""

    def __hash__(self) -> int:
        """Equal for equal kernels: their names tell almost all apart."""
        return hash(self.name)

    def binding(self, roles: ContractionRoles) -> LeafBinding:
        """Of a contraction of these roles to tiles of this kernel."""
        tile = MatrixTile(
            self.name,
            roles,
            self.rows,
            self.columns,
            self.interleave,
            self.element_types,
            self.accumulator,
            self.symbol,
            self.right_by_columns,
            self.reduction_loops,
        )
        return LeafBinding(MATRIX_TILES, tile=tile)

    @property
    def accumulator(self) -> str:
        """What products and their sums are computed in."""
        return self.accumulator_type or self.element_types[2]

    @property
    def lanes(self) -> int:
        """Accumulators per vector."""
        return self.vector_bits // (8 * ELEMENT_BYTES[self.accumulator])

    def rows_for(self, columns: int) -> int:
        """Largest m for so many columns.

        >>> from tilewright.kernels import registered
        >>> tile = next(kernel for kernel in registered() if kernel.name == "matmul_avx512_f32_6x64")
        >>> [tile.rows_for(columns) for columns in (64, 48, 32, 7)]
        [6, 8, 12, 24]
        """
        if not self.shares_accumulators:
            return self.rows
        return self.rows * (self.columns // self.lanes) // max(1, -(-columns // self.lanes))

    def same_tile(self, other: MicroKernel) -> bool:
        """Whether both compute the same tile with the same vectors: such kernels can stand in for each other in a plan."""
        return self.tile() == other.tile()

    def tile(self) -> Hashable:
        """Equal for kernels that `same_tile` finds alike."""
        return (
            *(self.rows, self.columns, self.vector_bits, self.lanes_along, self.right_by_columns),
            *(self.element_types, self.accumulator, self.interleave, self.reduction_loops, self.saturation, self.flushes),
        )

    def differs_in_prefetches(self, other: MicroKernel) -> bool:
        """Whether both compute the same tile equally fast, with the same epilogues: they differ in what they prefetch only."""
        mine, theirs = ((kernel.peak_share, kernel.shares_accumulators, kernel.emit_with is None) for kernel in (self, other))
        return self.same_tile(other) and mine == theirs

    def signature(self, name: str, epilogue: Epilogue | None = None, *, prefetching: bool = False) -> str:
        """The C signature of the function called `name`, with an epilogue or without.

        >>> from tilewright.kernels.other_types.integers import KERNELS
        >>> KERNELS[0].signature("product")
        'void product(long k, const unsigned char *a, ..., const signed char *b, long b_row, int *c, ... long accumulate)'
        """
        return matrix_abi(
            name, epilogue, prefetching=prefetching, element_types=self.element_types, reduction_loops=self.reduction_loops
        )

    def shape_signature(self, name: str, m: int, n: int, epilogue: Epilogue | None = None, *, prefetching: bool = False) -> str:
        """The C signature of the function of one shape (`of_shape`).

        >>> from tilewright.kernels import registered
        >>> tile = next(kernel for kernel in registered() if kernel.name == "matmul_avx512_f32_6x64")
        >>> tile.shape_signature("product", 6, 60)
        'void product_6x4_edge(long k, const float *a, ... float *c, long c_row, long accumulate, long last)'
        """
        assert self.of_shape is not None
        function, last = self.of_shape(name, m, n)
        types = matrix_parameters(stored_types(self.element_types, epilogue), self.reduction_loops)
        product = (f"{c_type}{parameter}" for parameter, c_type in types.items() if parameter not in ("m", "n"))
        more = (
            *(epilogue.parameters() if epilogue is not None else ()),
            *(prefetch_parameters(self.element_types) if prefetching else ()),
        )
        return f"void {function}({', '.join((*product, *more, *(['long last'] if last else [])))})"

    def source(
        self,
        name: str,
        variants: Variants,
        epilogue: Epilogue | None = None,
        *,
        prefetching: bool = False,
        known: Matrix | None = None,
    ) -> KernelSource:
        """The source of the function called `name`, with an epilogue or without; `prefetching` of the form that prefetches,
        with a `known` A of the form that holds its entries."""
        if known is not None and self.emit_known is not None:
            return self.emit_known(name, variants, epilogue, known)
        if prefetching and self.emit_prefetching is not None:
            return self.emit_prefetching(name, variants, epilogue)
        if epilogue is None or self.emit_with is None:
            return self.emit(name, variants)
        return self.emit_with(name, variants, epilogue)

    def declaration(self, name: str, epilogue: Epilogue | None = None) -> str:
        """The C declaration under which a caller in another translation unit calls the kernel by `name`, whatever its symbol.

        >>> from tilewright.kernels.f32.portable import KERNELS
        >>> KERNELS[0].declaration("product")
        'extern void product(long k, const float *a, ... long accumulate);'
        """
        label = f' __asm__("{self.symbol}")' if self.symbol else ""
        return f"extern {self.signature(name, epilogue)}{label};"

    def attainable(self, machine: Machine) -> float:
        """Flops per second of one core of a machine that full tiles reach."""
        return machine.peak(self.accumulator) * self.machine_share(machine.vector_bits)

    def machine_share(self, vector_bits: int) -> float:
        """Share of the peak of a machine with vectors of that width: a kernel for narrower ones reaches only their part."""
        return self.peak_share * min(1.0, self.vector_bits / vector_bits)

    def runs_on(self, architecture: str, features: frozenset[str]) -> bool:
        """Whether a machine of that architecture with these features can execute the kernel."""
        return self.architecture in ("any", architecture) and self.features <= features
