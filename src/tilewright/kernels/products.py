"""Micro kernels of products, as tile programs, for any tile of any vector dialect: one declaration for all element types.

Sums of rows x vectors of C stay in registers; a step of the depth loads a row of B, and broadcasts an element of A for each row,
or a group of neighbouring steps where elements are shorter than lanes (`tile/products`). A function for every (rows, vectors), in
two forms: whole vectors, and a last vector that is loaded and stored in part.

Operands of an epilogue that move along rows and columns and are far are asked for before the first step: short rows, which no
hardware foresees (attention 8 x 1024 x 1024 x 64 with a bias of its own for every score, Zen 5: 14.2 ms without, 10.7 with).

Other prefetching is an option. What the hardware does not foresee are starts of short rows: A of the next tile of rows, and the
tile of C; and B where it streams through once, as its panels lie further apart in time than the hardware looks ahead: steps of a
packed panel some way behind this one, or, of a B in place, the same rows of a panel further on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tilewright.block.statements import Matrix
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.contract import (
    FLOAT32,
    NESTED_LOOPS,
    PREFETCH_ARGUMENTS,
    ElementTypes,
    Epilogue,
    MicroKernel,
    OperandRole,
    Variants,
    matrix_abi,
    matrix_parameters,
)
from tilewright.kernels.dialects.description import VectorDialect
from tilewright.kernels.saturation import Saturation
from tilewright.kernels.tile_ending import dispatch_text, matmul_kernel, wanted_shapes
from tilewright.kernels.tile_sources import ProgramEnding, Programs, RegisterTile
from tilewright.records import record
from tilewright.tile.products.arithmetic import F32, Arithmetic
from tilewright.tile.products.tile import PLAIN, WIDE_VECTORS, Options, Shape
from tilewright.tile.types import BITS, element_type

TALL_REGISTERS = 32
"""Vector registers from which on tiles of fewer columns have more rows: with 16, Clang spills 12 rows of one vector."""


@record
class Product:
    """What is multiplied, and how."""

    prefix: str
    """Of names of kernels."""
    element_types: ElementTypes
    arithmetic: Arithmetic
    features: frozenset[str] = frozenset()
    """What it needs besides the dialect's features."""
    saturation: Saturation | None = None
    """As `MicroKernel.saturation`."""
    chain_cycles: int | None = None
    """As `MicroKernel.chain_cycles`."""
    flushes: bool = False
    """As `MicroKernel.flushes`."""

    @property
    def takes_epilogue(self) -> bool:
        """Whether elementwise operators compute in the type of sums."""
        return self.arithmetic.total in ("float32", "int32", "float64")


F32_PRODUCT = Product("f32", FLOAT32, F32)


def product_kernel(
    dialect: VectorDialect,
    product: Product,
    rows: int,
    vectors: int,
    *,
    peak_share: float,
    options: Options = PLAIN,
    has_nested: bool = False,
    rows_per_instruction: int = 1,
) -> MicroKernel:
    """Declare the kernel with a tile of rows x vectors.

    `peak_share` is measured: of the peak of vectors of the dialect's width. `has_nested` says that the same tile is declared with
    `NESTED_LOOPS`.

    >>> from tilewright.kernels.registry import dialects
    >>> widest = max(dialects(), key=lambda dialect: dialect.lanes)
    >>> product_kernel(widest, F32_PRODUCT, 6, 4, peak_share=0.97, options=Options(prefetch=("right",))).name
    'matmul_avx512_f32_6x64_prefetch_right'
    """
    lanes = dialect.vector_bits // BITS[product.arithmetic.total]
    tiles = _Tiles(dialect, product, rows, vectors, lanes, replace(options, is_wide=vectors >= WIDE_VECTORS))
    columns, prefetch, loops = vectors * lanes, options.prefetch, options.reduction_loops
    tile_name = f"matmul_{dialect.name}_{product.prefix}_{rows}x{columns}"
    ahead, nest = ["prefetch", *prefetch] if prefetch else [], [f"nest{loops}"] if loops > 1 else []
    is_float32, is_plain = product.element_types == FLOAT32, loops == 1
    asks = product.arithmetic.group == 1 and is_plain and prefetch in ((), (OperandRole.RIGHT,)) and vectors < WIDE_VECTORS
    details: dict[str, Any] = {
        "element_types": product.element_types,
        "features": dialect.features | product.features,
        "peak_share": peak_share,
        "emit_with": tiles.emit if product.takes_epilogue else None,
        "emit_prefetching": tiles.emit_prefetching if asks and not options.in_blocks else None,
        "emit_known": tiles.emit_known if is_float32 and is_plain and not options.in_blocks else None,
        "rows_per_instruction": rows_per_instruction,
        "prefetch": prefetch,
        "shares_accumulators": dialect.registers >= TALL_REGISTERS,
        "chain_cycles": product.chain_cycles,
        "saturation": product.saturation,
        "flushes": product.flushes,
        "interleave": product.arithmetic.group,
        "reduction_loops": loops,
        "nested": f"{tile_name}_nest{NESTED_LOOPS}" if has_nested else "",
        "of_shape": tiles.of_shape if is_plain else None,
        "emit_shape": tiles.emit_shape if is_plain else None,
    }
    tile = rows, columns, product.arithmetic.group * options.unroll
    return matmul_kernel(dialect, "_".join([tile_name, *ahead, *nest]), tile, tiles.emit, **details)


@record(eq=False)
class _Tiles:
    """The sources of a kernel: of all shapes of its tile, and of one. A call with another shape traps."""

    dialect: VectorDialect
    product: Product
    rows: int
    vectors: int
    lanes: int
    options: Options

    def emit(self, name: str, variants: Variants, epilogue: Epilogue | None = None) -> KernelSource:
        """Of `MicroKernel.emit` and `MicroKernel.emit_with`."""
        return self._whole(name, variants, epilogue, self.options)

    def emit_prefetching(self, name: str, variants: Variants, epilogue: Epilogue | None) -> KernelSource:
        """Of `MicroKernel.emit_prefetching`."""
        return self._whole(name, variants, epilogue, self._prefetching())

    def emit_known(self, name: str, variants: Variants, epilogue: Epilogue | None, known: Matrix) -> KernelSource:
        """Of `MicroKernel.emit_known`."""
        return self._whole(name, variants, epilogue, replace(self.options, prefetch=(), known=known))

    def of_shape(self, name: str, m: int, n: int) -> tuple[str, tuple[str, ...]]:
        """Of `MicroKernel.of_shape`."""
        shape = self._shape(m, n)
        return f"{name}_{shape.suffix}", (str(n % self.lanes),) if shape.has_part else ()

    def emit_shape(self, name: str, m: int, n: int, epilogue: Epilogue | None, prefetching: bool) -> KernelSource:
        """Of `MicroKernel.emit_shape`."""
        options = self._prefetching() if prefetching else self.options
        return KernelSource(SourceKind.TILE, self._source(name, (self._shape(m, n),), epilogue, options), joins=True)

    def _prefetching(self) -> Options:
        return replace(self.options, prefetch=(), prefetches_next=True)

    def _shape(self, m: int, n: int) -> Shape:
        return Shape(m, -(-n // self.lanes), self.lanes, bool(n % self.lanes))

    def _source(self, name: str, shapes: tuple[Shape, ...], epilogue: Epilogue | None, options: Options) -> Programs:
        if epilogue is not None:
            stored = element_type(epilogue.element_type) if epilogue.element_type else ""
            total = self.product.arithmetic.total
            is_streamed = epilogue.non_temporal and BITS[stored or total] == BITS[total]
            options = replace(options, ending=ProgramEnding(epilogue), stored=stored, is_streamed=is_streamed)
        tiles = tuple(RegisterTile(self.product.arithmetic, shape, options) for shape in shapes)
        return Programs(name, self.dialect, self.product.features, tiles)

    def _whole(self, name: str, variants: Variants, epilogue: Epilogue | None, options: Options) -> KernelSource:
        wanted = wanted_shapes(self.rows, self.vectors, variants, name)
        if options.known:
            wanted = [(m, vectors) for m, vectors in wanted if m == len(options.known)]
        shapes = tuple(Shape(m, vectors, self.lanes, has_part) for m, vectors in wanted for has_part in (False, True))
        source = self._source(name, shapes, epilogue, options)
        return KernelSource(SourceKind.TILE, replace(source, choice=self._choice(name, shapes, epilogue, options)))

    def _choice(self, name: str, shapes: tuple[Shape, ...], epilogue: Epilogue | None, options: Options) -> str:
        """The function of the ABI."""
        types, loops, prefetching = self.product.element_types, options.reduction_loops, options.prefetches_next
        product = (one for one in matrix_parameters(types, loops) if one not in ("m", "n"))
        more = (*(epilogue.arguments() if epilogue is not None else ()), *(PREFETCH_ARGUMENTS if prefetching else ()))
        given = ", ".join((*product, *more))
        cases = (
            (one.rows, one.vectors, one.has_part, f"{name}_{one.suffix}({given}{', last' * one.has_part})") for one in shapes
        )
        signature = matrix_abi(name, epilogue, prefetching=prefetching, element_types=types, reduction_loops=loops)
        return dispatch_text(signature, cases, self.lanes)
