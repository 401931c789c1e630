"""The outer-product matrix micro kernel of float32, for any tile of any vector dialect."""

from __future__ import annotations

from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.dialects.description import VectorDialect
from tilewright.kernels.products import F32_PRODUCT, product_kernel
from tilewright.tile.products.tile import Options


def outer_product_kernel(
    dialect: VectorDialect,
    rows: int,
    vectors: int,
    *,
    peak_share: float,
    prefetch: tuple[str, ...] = (),
    unroll: int = 1,
    reduction_loops: int = 1,
    has_nested: bool = False,
    left_at_once: int = 1,
    fetches_target: bool = False,
) -> MicroKernel:
    """Declare the kernel with a tile of rows x (vectors * dialect.lanes) floats.

    `peak_share` is measured: of the peak of vectors of the dialect's width. `prefetch` names operands as
    `MicroKernel.prefetch` does. `unroll` is the number of steps of K per loop trip. With `reduction_loops` of 2 a tile stays in
    registers while two nested loops pass, for example the taps of a convolution around its channels; `has_nested` says that the
    same tile is declared with `NESTED_LOOPS`. A step holds `left_at_once` elements of A in registers.
    `fetches_target` is that of the tile's `Options`.

    >>> from tilewright.kernels.registry import dialects
    >>> outer_product_kernel(max(dialects(), key=lambda dialect: dialect.lanes), 6, 4, peak_share=0.97).name
    'matmul_avx512_f32_6x64'
    """
    options = Options(reduction_loops, prefetch, unroll=unroll, left_at_once=left_at_once, fetches_target=fetches_target)
    return product_kernel(dialect, F32_PRODUCT, rows, vectors, peak_share=peak_share, options=options, has_nested=has_nested)
