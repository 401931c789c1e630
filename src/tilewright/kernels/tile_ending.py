"""Shapes of a tile: those that a caller of a micro kernel needs, and C text of the choice among their functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

from tilewright.errors import TilewrightError
from tilewright.kernel_source import KernelSource
from tilewright.kernels.contract import FLOAT32, MicroKernel
from tilewright.kernels.dialects.description import VectorDialect

Case = tuple[int, int, bool, str]
"""Rows, vectors, whether the last vector is in part, and the call: its arguments are those of the ABI, and `last`, the number of
columns in the last vector."""


def dispatch_text(signature: str, cases: Iterable[Case], lanes: int) -> str:
    """The function of the ABI: choose by m, by the number of vectors that n needs, and by whether they are whole. Others trap.

    >>> print(dispatch_text("void f(long m, long n)", [(6, 4, False, "f_6x4()")], 16))
    void f(long m, long n) {
      const long vectors = (n + 16 - 1) / 16, last = n - (vectors - 1) * 16;
      switch ((m * 256 + vectors) * 2 + (last < 16)) {
      case (6 * 256 + 4) * 2 + 0:
        f_6x4();
        return;
      default:
        __builtin_trap();
      }
    }
    <BLANKLINE>
    """
    vectors = f"const long vectors = (n + {lanes} - 1) / {lanes}, last = n - (vectors - 1) * {lanes};"
    calls = ((f"({rows} * 256 + {vectors}) * 2 + {int(is_edge)}", call) for rows, vectors, is_edge, call in cases)
    return switch_text(signature, [vectors], f"(m * 256 + vectors) * 2 + (last < {lanes})", calls)


def switch_text(signature: str, before: Iterable[str], number: str, calls: Iterable[tuple[str, str]]) -> str:
    """A function that calls what its arguments say by a number, as (number, call), and traps for others."""
    cases = (line for case, call in calls for line in (f"  case {case}:", f"    {call};", "    return;"))
    lines = (*(f"  {line}" for line in before), f"  switch ({number}) {{", *cases, "  default:", "    __builtin_trap();", "  }")
    return function_text(signature, lines)


def function_text(head: str, lines: Iterable[str]) -> str:
    """A definition, with an empty line behind it."""
    return "\n".join([f"{head} {{", *lines, "}", ""])


def wanted_shapes(rows: int, vectors: int, variants: frozenset[tuple[int, int]] | None, name: str) -> list[tuple[int, int]]:
    """(rows, vectors) of every shape, largest first; None asks for all up to the whole tile.

    Fewer vectors may come with more rows, up to the number of accumulators of the tile. Raises TilewrightError for no shape at
    all, and for a shape that the tile cannot hold, where `name` is that of the function.

    >>> wanted_shapes(2, 2, None, "product"), wanted_shapes(2, 2, frozenset({(4, 1)}), "product")
    ([(2, 2), (2, 1), (1, 2), (1, 1)], [(4, 1)])
    """
    wanted = set(product(range(1, rows + 1), range(1, vectors + 1)) if variants is None else variants)
    if not wanted or not all(1 <= v <= vectors and 1 <= m <= rows * vectors // v for m, v in wanted):
        width = f"{vectors} {'vector' if vectors == 1 else 'vectors'}"
        raise TilewrightError(
            f"shapes {sorted(wanted)} are not within the tile of {rows} rows by {width}",
            where=f"micro kernel {name}",
            hint="ask for (rows, vectors) with at most as many vectors, and as many accumulators in all",
        )
    return sorted(wanted, reverse=True)


def matmul_kernel(
    dialect: VectorDialect, name: str, tile: tuple[int, int, int], emit: Callable[..., KernelSource], **details: Any
) -> MicroKernel:
    """Declare a product of matrices in the vectors of a dialect, with a tile of (rows, columns, steps).

    `details` are further fields of `MicroKernel`, and those that differ from a product of float32 by the dialect's instructions.
    """
    of_dialect: dict[str, Any] = {"architecture": dialect.architecture, "vector_bits": dialect.vector_bits}
    of_dialect |= {"element_types": FLOAT32, "features": dialect.features}
    return MicroKernel(name, "matmul", *tile, emit=emit, **of_dialect | details)
