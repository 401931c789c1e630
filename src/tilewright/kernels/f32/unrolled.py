"""Outer-product kernels of any tile and any unrolling, by their names: the choices of PolyDL's second level (section 4).

The planner chooses from kernels that are registered and measured. Tuning measures these, too; a plan that wins names one, and
`named` makes it again. What a name says is all that a kernel depends on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from tilewright.kernels.contract import MicroKernel, OperandRole
from tilewright.kernels.dialects.description import VectorDialect
from tilewright.kernels.f32.outer_product import outer_product_kernel

MOST_STEPS = 8
"""Of the depth in a trip of the innermost loop."""
LATENCY_SUMS = 8
"""Sums that hide the latency of multiply-adds (4 cycles, two a cycle): a tile of fewer waits for them."""
TILE = re.compile(
    r"matmul_(?P<dialect>\w+?)_f32_(?P<rows>\d+)x(?P<columns>\d+)(?P<prefetch>_prefetch(?:_[a-z]+)+?)?(?:_unroll(?P<steps>\d+))?"
)


def unrolled_kernel(dialect: VectorDialect, rows: int, vectors: int, steps: int, prefetch: tuple[str, ...] = ()) -> MicroKernel:
    """The kernel of a tile of rows x vectors with so many steps of the depth a trip. Its share of the peak is a guess.

    >>> from tilewright.kernels.registry import dialects
    >>> unrolled_kernel(max(dialects(), key=lambda dialect: dialect.lanes), 4, 3, 2).name
    'matmul_avx512_f32_4x48_unroll2'
    """
    share = min(1.0, rows * vectors / LATENCY_SUMS) * rows * vectors / (rows * vectors + 1)
    kernel = outer_product_kernel(dialect, rows, vectors, peak_share=share, unroll=steps, prefetch=prefetch)
    return replace(kernel, name=f"{kernel.name}_unroll{steps}")


def named(name: str, dialects: Iterable[VectorDialect]) -> MicroKernel | None:
    """The kernel of a name that `unrolled_kernel` gives; None for all other names, and for tiles that registers do not hold."""
    found = TILE.fullmatch(name)
    dialect = next((one for one in dialects if found and one.name == found["dialect"]), None)
    if found is None or dialect is None or found["steps"] is None:
        return None
    rows, columns, steps = (int(found[part]) for part in ("rows", "columns", "steps"))
    prefetch = tuple((found["prefetch"] or "_prefetch").removeprefix("_prefetch").split("_")[1:])
    if columns % dialect.lanes or not (rows and columns) or not 1 <= steps <= MOST_STEPS or not set(prefetch) <= set(OperandRole):
        return None
    vectors = columns // dialect.lanes
    if rows * vectors + vectors + 1 > dialect.registers:
        return None
    kernel = unrolled_kernel(dialect, rows, vectors, steps, prefetch)
    return kernel if kernel.name == name else None


def is_outer_product(kernel: MicroKernel) -> bool:
    """Whether a kernel is of this form, registered or not: one that others of the form can stand in for.

    >>> from tilewright.kernels.f32.portable import KERNELS
    >>> [kernel.name for kernel in KERNELS if is_outer_product(kernel)]
    ['matmul_portable_f32_6x8']
    """
    return TILE.fullmatch(kernel.name) is not None and kernel.of_shape is not None and kernel.reduction_loops == 1
