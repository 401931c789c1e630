"""Chains that the papers reason about, by their index maps."""

from __future__ import annotations

from tilewright.graph.builders.einsum import einsum
from tilewright.graph.types import Chain, Tensor


def gemm_chain(m: int, n: int, k: int, l: int) -> Chain:  # noqa: E741 the paper's name
    """C[m, l] = A[m, k] B[k, l], E[m, n] = C[m, l] D[l, n]; extents in elements (Chimera, Figure 2).

    >>> gemm_chain(512, 64, 64, 512).inputs
    ('A', 'B', 'D')
    """
    a, b, d = Tensor("A", (m, k)), Tensor("B", (k, l)), Tensor("D", (l, n))
    first, c = einsum("mk,kl->ml", [a, b], name="C", result="C")
    second, e = einsum("ml,ln->mn", [c, d], name="E", result="E")
    return Chain("gemm_chain", (a, b, d, c, e), (first, second))


def matrix_product(m: int, k: int, n: int) -> Chain:
    """C[m, n] = A[m, k] B[n, k]; extents in elements (the example of the blog's reproduction, as it writes the accesses).

    >>> matrix_product(256, 2048, 64).output
    'C'
    """
    a, b = Tensor("A", (m, k)), Tensor("B", (n, k))
    product, c = einsum("mk,nk->mn", [a, b], name="C", result="C")
    return Chain("matrix_product", (a, b, c), (product,))
