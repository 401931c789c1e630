"""The running example of PolyDL: the matrix product of its Figure 2."""

from __future__ import annotations

from tilewright.graph.index import axis
from tilewright.graph.types import Access
from tilewright.tune.working_sets.nests import Nest, TileLoop


def matrix_product(m: int, n: int, k: int, loops: tuple[TileLoop, ...] | None = None) -> Nest:
    """C[i][j] += A[i][k] B[k][j], loops i, j, k unless others are given.

    >>> from tilewright.tune.working_sets.dependences import dependences
    >>> [f"{found.array} by {nest.loops[found.loop].axis}" for nest in [matrix_product(3, 4, 5)] for found in dependences(nest)]
    ['A by j', 'B by i', 'C by k']
    """
    i, j, l = axis("i"), axis("j"), axis("k")  # noqa: E741 the third index is k
    a, b, c = Access("A", (i, l)), Access("B", (l, j)), Access("C", (i, j))
    chosen = loops or (TileLoop("i", 1), TileLoop("j", 1), TileLoop("k", 1))
    return Nest({"i": m, "j": n, "k": k}, chosen, (a, b, c), (c,), {"A": (m, k), "B": (k, n), "C": (m, n)})
