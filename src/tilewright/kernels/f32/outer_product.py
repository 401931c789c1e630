"""The outer-product matrix micro kernel, in C, for any tile of any vector dialect.

Accumulators for rows x vectors of C stay in registers; a step of K loads one row of B, and for each row broadcasts one element
of A (an explicit broadcast: with the memory operand in the multiply-add, tiles wider than one vector reach 77-93% of their
speed). One function per (rows, vectors), in two forms: whole vectors, and a last vector that is loaded and stored in part.

Operands of an epilogue that move along rows and columns and are far are asked for before the first step: short rows, which no
hardware foresees (attention 8 x 1024 x 1024 x 64 with a bias of its own for every score, Zen 5: 14.2 ms without, 10.7 with).

Other prefetching is an option. What the hardware does not foresee are starts of short rows: A of the next tile of rows, and the
tile of C; and B where it streams through once, as its panels lie further apart in time than the hardware looks ahead: steps of a
packed panel some way behind this one, or, of a B in place, the same rows of a panel further on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from tilewright.block.statements import Matrix
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.contract import (
    NESTED_LOOPS,
    PREFETCH_ARGUMENTS,
    PREFETCH_PARAMETERS,
    Epilogue,
    MicroKernel,
    Variants,
    matrix_abi,
)
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.f32.outer_product_tile import UNROLL, WIDE_VECTORS, KnownLeftTile, Tile
from tilewright.kernels.tile_ending import dispatch_text, function_text, matmul_kernel, wanted_shapes
from tilewright.kernels.tile_sources import ProgramEnding, is_of_tiles, tile_source
from tilewright.kernels.translation_units import VARIANT, unit_text
from tilewright.records import record
from tilewright.tile.products.arithmetic import F32
from tilewright.tile.products.tile import Options, Shape

Form: TypeAlias = Callable[..., Tile]
"""Makes the tile of a shape."""
PRODUCT = ("k", "a", "a_row", "a_column", "b", "b_row", "c", "c_row", "accumulate")
"""What the function of one shape is given of the product."""
TALL_REGISTERS = 32
"""Vector registers from which on tiles of fewer columns have more rows: with 16, Clang spills 12 rows of one vector."""


def outer_product_kernel(
    dialect: VectorDialect,
    rows: int,
    vectors: int,
    *,
    peak_share: float,
    prefetch: tuple[str, ...] = (),
    unroll: int = UNROLL,
    reduction_loops: int = 1,
    has_nested: bool = False,
    form: Form | None = None,
    rows_per_instruction: int = 1,
    assembles: bool = True,
) -> MicroKernel:
    """Declare the kernel with a tile of rows x (vectors * dialect.lanes) floats.

    `peak_share` is measured: of the peak of vectors of the dialect's width. `prefetch` names operands as
    `MicroKernel.prefetch` does. `unroll` is the number of steps of K per loop trip. With `reduction_loops` of 2 a tile stays in
    registers while two nested loops pass, for example the taps of a convolution around its channels; `has_nested` says that the
    same tile is declared with `NESTED_LOOPS`. `form` writes the statements of a shape (`Tile` where None), for matrix units
    with `rows_per_instruction`. `assembles`: whether functions of one shape may be assembly, in which steps are not unrolled.

    >>> from tilewright.kernels.registry import dialects
    >>> outer_product_kernel(max(dialects(), key=lambda dialect: dialect.lanes), 6, 4, peak_share=0.97).name
    'matmul_avx512_f32_6x64'
    """
    assembles = assembles and form is None
    texts = _Texts(dialect, rows, vectors, prefetch, unroll, reduction_loops, form if form is not None else Tile, assembles)
    columns = vectors * dialect.lanes
    tile_name = f"matmul_{dialect.name}_f32_{rows}x{columns}"
    ahead, nest = ["prefetch", *prefetch] if prefetch else [], [f"nest{reduction_loops}"] if reduction_loops > 1 else []
    name = "_".join([tile_name, *ahead, *nest])
    return matmul_kernel(
        dialect,
        name,
        (rows, columns, unroll),
        texts.emit,
        peak_share=peak_share,
        emit_with=texts.emit,
        emit_prefetching=texts.emit_prefetching if prefetch == ("right",) and vectors < WIDE_VECTORS else None,
        prefetch=prefetch,
        shares_accumulators=dialect.registers >= TALL_REGISTERS,
        rows_per_instruction=rows_per_instruction,
        reduction_loops=reduction_loops,
        nested=f"{tile_name}_nest{NESTED_LOOPS}" if has_nested else "",
        emit_known=texts.emit_known if reduction_loops == 1 and form is None else None,
        of_shape=texts.of_shape if reduction_loops == 1 else None,
        emit_shape=texts.emit_shape if reduction_loops == 1 else None,
    )


@record(eq=False)
class _Texts:
    """The sources of a kernel: of all shapes of its tile, and of one. A call with another shape traps."""

    dialect: VectorDialect
    rows: int
    vectors: int
    prefetch: tuple[str, ...]
    unroll: int
    reduction_loops: int
    form: Form
    assembles: bool

    def emit(self, name: str, variants: Variants, epilogue: Epilogue | None = None) -> KernelSource:
        """Of `MicroKernel.emit` and `MicroKernel.emit_with`."""
        return self._source(name, variants, self.form, self.prefetch, epilogue)

    def emit_prefetching(self, name: str, variants: Variants, epilogue: Epilogue | None) -> KernelSource:
        """Of `MicroKernel.emit_prefetching`."""
        return self._source(name, variants, Tile, (), epilogue, prefetching=True)

    def emit_known(self, name: str, variants: Variants, epilogue: Epilogue | None, known: Matrix) -> KernelSource:
        """Of `MicroKernel.emit_known`."""
        return self._source(name, variants, partial(KnownLeftTile, matrix=known), (), epilogue)

    def _source(
        self,
        name: str,
        variants: Variants,
        form: Form,
        prefetch: tuple[str, ...],
        epilogue: Epilogue | None,
        prefetching: bool = False,
    ) -> KernelSource:
        """Of all shapes that are wanted, self-contained."""
        shapes = ((m, v, edge) for m, v in wanted_shapes(self.rows, self.vectors, variants, name) for edge in (False, True))
        tiles = [self._tile(form, shape, prefetch, epilogue, prefetching) for shape in shapes]
        texts = (*tiles[0].ending().vocabulary(), *(_variant(name, tile) for tile in tiles), _dispatch(name, tiles))
        return KernelSource(SourceKind.C, "\n".join([self.dialect.prelude, VARIANT, *texts]))

    def _tile(
        self,
        form: Form,
        shape: tuple[int, int, bool],
        prefetch: tuple[str, ...],
        epilogue: Epilogue | None,
        prefetching: bool,
    ) -> Tile:
        wide, lanes = self.vectors >= WIDE_VECTORS, self.dialect.lanes
        return form(*shape, prefetch, self.unroll, wide, epilogue, lanes, prefetching, self.reduction_loops)

    def of_shape(self, name: str, m: int, n: int) -> tuple[str, tuple[str, ...]]:
        """Of `MicroKernel.of_shape`."""
        last = n % self.dialect.lanes
        tile = Tile(m, -(-n // self.dialect.lanes), bool(last))
        return f"{name}_{tile.suffix}", (str(last),) if last else ()

    def emit_shape(self, name: str, m: int, n: int, epilogue: Epilogue | None, prefetching: bool) -> KernelSource:
        """Of `MicroKernel.emit_shape`."""
        shape = m, -(-n // self.dialect.lanes), bool(n % self.dialect.lanes)
        prefetch = () if prefetching else self.prefetch
        tile = self._tile(self.form, shape, prefetch, epilogue, prefetching)

        def in_c() -> KernelSource:
            text = unit_text(self.dialect, (*tile.ending().vocabulary(), _variant(name, tile)))
            return KernelSource(SourceKind.C, text, joins=True)

        if not self.assembles or not is_of_tiles(epilogue, "float32"):
            return in_c()
        is_wide, ending = self.vectors >= WIDE_VECTORS, ProgramEnding(epilogue) if epilogue is not None else None
        options = Options(prefetch=prefetch, prefetches_next=prefetching, is_wide=is_wide, ending=ending)
        of_tile = Shape(m, tile.vectors, self.dialect.lanes, tile.edge)
        return tile_source(f"{name}_{tile.suffix}", self.dialect, F32, of_tile, options, in_c)


def _variant(name: str, tile: Tile) -> str:
    """One shape: everything in registers. `last` is the number of columns in the last vector of an edge."""
    more = (
        *(f"long {name}" for name in _outer_arguments(tile.reduction_loops)),
        *(tile.epilogue.parameters() if tile.epilogue is not None else ()),
        *(PREFETCH_PARAMETERS if tile.prefetching else ()),
    )
    last = "".join(f", {parameter}" for parameter in (*more, *(["long last"] if tile.edge else [])))
    start = f"void {name}_{tile.suffix}(long k, const float *a, long a_row, long a_column,"
    head = f"TW_VARIANT {start}\n    const float *b, long b_row, float *c, long c_row, long accumulate{last})"
    return function_text(head, (*tile.declarations(), *tile.loop(), *tile.finish()))


def _outer_arguments(reduction_loops: int) -> list[str]:
    """What a shape is given of the reduction loops around that over K."""
    return [f"{part}_{i}" for i in range(1, reduction_loops) for part in ("k", "a_step", "b_step")]


def _dispatch(name: str, tiles: Sequence[Tile]) -> str:
    """The function of the ABI."""
    any_tile = tiles[0]
    epilogue, prefetching, loops = any_tile.epilogue, any_tile.prefetching, any_tile.reduction_loops
    more = (*(epilogue.arguments() if epilogue is not None else ()), *(PREFETCH_ARGUMENTS if prefetching else ()))
    arguments = ", ".join([*PRODUCT, *_outer_arguments(loops), *more])
    cases = ((one.rows, one.vectors, one.edge, f"{name}_{one.suffix}({arguments}{', last' * one.edge})") for one in tiles)
    return dispatch_text(matrix_abi(name, epilogue, prefetching=prefetching, reduction_loops=loops), cases)
