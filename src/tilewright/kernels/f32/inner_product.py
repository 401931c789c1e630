"""float32 products whose lanes lie along the depth, as tile programs (`tile/products/inner.py`).

The dot-product kernel: one column of C. Its rows are dot products: a vector of B serves one row of A each, and nothing is
broadcast. Rows of A and the column of B should be contiguous.

The inner-product kernel: few rows of C, B given by columns, which are contiguous (keys of attention, weights of a linear layer as
PyTorch keeps them): few rows of A do not pay for a transposed copy. Some columns pass at a time, each vector of them serves all
rows. Rows of A should be contiguous too.

Other strides are gathered lane by lane: correct, but slow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.contract import DEPTH, FLOAT32, ElementTypes, MicroKernel, Variants, matrix_abi
from tilewright.kernels.dialects.description import VectorDialect
from tilewright.kernels.tile_ending import matmul_kernel, switch_text, wanted_shapes
from tilewright.kernels.tile_sources import Programs, ShapeProgram
from tilewright.tile.products.inner import DOT_ROWS, DotTile, InnerTile
from tilewright.tile.types import BITS

GIVEN = "k, a, a_row, b, b_row, c, c_row, accumulate"
"""What the function of a shape is given of the ABI."""


def dot_product_kernel(dialect: VectorDialect, *, peak_share: float, dtype: str = "float32") -> MicroKernel:
    """Declare the kernel with as many rows as a vector has lanes, and one column.

    `peak_share` is measured, of operands in L1: each multiplication needs an element of A of its own.

    >>> from tilewright.kernels.registry import dialects
    >>> dot_product_kernel(max(dialects(), key=lambda dialect: dialect.lanes), peak_share=0.5).name
    'matmul_avx512_f32_16x1_dot'
    """
    lanes, unroll = dialect.vector_bits // BITS[dtype], dialect.registers // (2 * DOT_ROWS)
    types = (dtype, dtype, dtype)

    def emit(name: str, variants: Variants) -> KernelSource:
        rows = [m for m, _ in wanted_shapes(lanes, 1, variants, name)]
        tiles = [DotTile(lanes, m, unroll, strided, dtype) for m in rows for strided in (False, True)]
        calls = ((f"{one.rows * 2 + one.is_strided}", f"{one.suffix}({GIVEN}{', a_column' * one.is_strided})") for one in tiles)
        return _source(dialect, name, tiles, "m * 2 + (a_column != 1 || b_row != 1)", calls, types)

    kind = "f" if dtype.startswith("float") else "s"
    name = f"matmul_{dialect.name}_{kind}{BITS[dtype]}_{lanes}x1_dot"
    details = {"peak_share": peak_share, "element_types": types, "lanes_along": DEPTH}
    return matmul_kernel(dialect, name, (lanes, 1, lanes), emit, **details)


LONG_GROUP, SHORT_GROUP = 4, 8
"""Columns at a time. Long ones are streams of their own, which hardware prefetchers follow: more of them meet in few sets of a
cache (4096x4096 from memory: 97% of a plain read with 4, 85 with 8). Short ones, one behind the other, are prefetched: 94% with
8, 92 with 4 (4096 x 128)."""


def inner_product_kernel(dialect: VectorDialect, rows: int, *, peak_share: float, prefetch: tuple[str, ...] = ()) -> MicroKernel:
    """Declare the kernel with so many rows, and as many columns as the dialect has lanes.

    `peak_share` is measured. `prefetch` is empty or names the right operand.

    >>> from tilewright.kernels.registry import dialects
    >>> inner_product_kernel(max(dialects(), key=lambda dialect: dialect.lanes), 2, peak_share=0.5).name
    'matmul_avx512_f32_2x16_inner'
    """
    lanes = dialect.lanes

    def emit(name: str, variants: Variants) -> KernelSource:
        ordered = [m for m, _ in wanted_shapes(rows, 1, variants, name)]
        forms = product(ordered, (False, True), (False, True))
        tiles = [InnerTile(lanes, m, _columns(dialect, m, prefetch), edge, strided, bool(prefetch)) for m, edge, strided in forms]
        calls = (
            (
                f"{one.rows * 4 + 2 * one.has_part + one.is_strided}",
                f"{one.suffix}({GIVEN}{', n' * one.has_part}{', a_column' * one.is_strided})",
            )
            for one in tiles
        )
        return _source(dialect, name, tiles, f"m * 4 + (n < {lanes}) * 2 + (a_column != 1)", calls)

    ahead = ["prefetch", *prefetch] if prefetch else []
    return matmul_kernel(
        dialect,
        "_".join([f"matmul_{dialect.name}_f32_{rows}x{lanes}_inner", *ahead]),
        (rows, lanes, lanes),
        emit,
        peak_share=peak_share,
        prefetch=prefetch,
        lanes_along=DEPTH,
        right_by_columns=True,
    )


def _columns(dialect: VectorDialect, rows: int, prefetch: tuple[str, ...]) -> int:
    """Columns at a time: sums of all rows take half of the registers at most."""
    fitting = max(1, dialect.registers // 2 // rows)
    return min(SHORT_GROUP if prefetch else LONG_GROUP, dialect.lanes, 1 << fitting.bit_length() - 1)


def _source(
    dialect: VectorDialect,
    name: str,
    tiles: Iterable[ShapeProgram],
    number: str,
    calls: Iterable[tuple[str, str]],
    types: ElementTypes = FLOAT32,
) -> KernelSource:
    """All functions, and the function of the ABI, which chooses by a number; a call of another one traps."""
    named: Iterator[tuple[str, str]] = ((case, f"{name}_{call}") for case, call in calls)
    choice = switch_text(matrix_abi(name, element_types=types), ["(void)n;"], number, named)
    return KernelSource(SourceKind.TILE, Programs(name, dialect, frozenset(), tuple(tiles), choice))
