"""Small chains for planning tests, built from index maps by hand so that they depend on no other room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.graph.builders.softmax import ROW_SOFTMAX
from tilewright.graph.index import axis
from tilewright.graph.scalar import Load, apply
from tilewright.graph.types import (
    SUM,
    Access,
    Axis,
    AxisKind,
    Chain,
    Extent,
    Graph,
    Operator,
    Tensor,
)
from tilewright.kernels.contract import KernelSource, MicroKernel, SourceKind
from tilewright.machine import Machine
from tilewright.plan.chains import make_chain

TABLE_IV = {
    "G1": (8, 512, 64, 64, 512),
    "G2": (12, 512, 64, 64, 512),
    "G3": (16, 512, 64, 64, 512),
    "G4": (12, 256, 64, 64, 256),
    "G5": (16, 256, 64, 64, 256),
    "G6": (16, 256, 80, 80, 256),
    "G7": (12, 208, 64, 64, 208),
    "G8": (16, 208, 64, 64, 208),
    "G9": (16, 208, 80, 80, 208),
    "G10": (1, 512, 64, 64, 256),
    "G11": (1, 768, 64, 64, 384),
    "G12": (1, 1024, 64, 64, 512),
}
"""batch, M, N, K, L (Chimera, Table IV)."""


def access(tensor: str, letters: str) -> Access:
    return Access(tensor, tuple(axis(letter) for letter in letters))


def contraction(name: str, spec: str, reads: Sequence[str], extents: dict[str, Extent], write: str | None = None) -> Operator:
    inputs, output = spec.split("->")
    left, right = inputs.split(",")
    letters = dict.fromkeys(left + right)
    axes = tuple(Axis(x, extents[x], AxisKind.PARALLEL if x in output else AxisKind.REDUCTION) for x in letters)
    accesses = (access(reads[0], left), access(reads[1], right))
    return Operator(name, "einsum", axes, accesses, access(write or name, output), apply("multiply", Load(0), Load(1)), SUM)


def elementwise(name: str, letters: str, reads: Sequence[tuple[str, str]], extents: dict[str, Extent]) -> Operator:
    axes = tuple(Axis(x, extents[x]) for x in letters)
    accesses = tuple(access(tensor, own) for tensor, own in reads)
    body = apply("maximum", Load(0), Load(0)) if len(reads) == 1 else apply("add", Load(0), Load(1))
    return Operator(name, "elementwise", axes, accesses, access(name, letters), body)


def softmax(name: str, letters: str, read: str, extents: dict[str, Extent], reduced: str) -> Operator:
    axes = tuple(Axis(x, extents[x], AxisKind.REDUCTION if x == reduced else AxisKind.PARALLEL) for x in letters)
    return Operator(name, "softmax", axes, (access(read, letters),), access(name, letters), Load(0), ROW_SOFTMAX)


def graph_of(operators: Sequence[Operator]) -> Graph:
    """The graph of some operators: tensors by their accesses, outputs are what nothing reads."""
    shapes: dict[str, tuple[Extent, ...]] = {}
    for op in operators:
        for one in (*op.reads, op.write):
            shapes[one.tensor] = tuple(op.axis(next(iter(index.axes()))).extent for index in one.indices)
    written = [op.write.tensor for op in operators]
    read = {one.tensor for op in operators for one in op.reads}
    tensors = tuple(Tensor(name, shape) for name, shape in shapes.items())
    inputs = tuple(name for name in shapes if name not in written)
    return Graph("test", tensors, tuple(operators), inputs, tuple(name for name in written if name not in read))


def chain_of(operators: Sequence[Operator]) -> Chain:
    return make_chain(graph_of(operators), operators)


def gemm_chain(m: int, n: int, k: int, length: int) -> Chain:
    """C[m,l] = A[m,k] B[k,l]; E[m,n] = C[m,l] D[l,n]."""
    extents: dict[str, Extent] = {"m": m, "n": n, "k": k, "l": length}
    return chain_of((contraction("C", "mk,kl->ml", "AB", extents), contraction("E", "ml,ln->mn", "CD", extents)))


def batch_chain(b: Extent, m: Extent, n: int, k: int, length: Extent, *, with_softmax: bool) -> Chain:
    """Table IV's chains, plain or with a softmax over l in between."""
    return chain_of(batch_operators(b, m, n, k, length, with_softmax=with_softmax))


def batch_operators(b: Extent, m: Extent, n: int, k: int, length: Extent, *, with_softmax: bool) -> tuple[Operator, ...]:
    extents: dict[str, Extent] = {"b": b, "m": m, "n": n, "k": k, "l": length}
    first = contraction("C", "bmk,bkl->bml", "AB", extents)
    if not with_softmax:
        return first, contraction("E", "bml,bln->bmn", "CD", extents)
    return (
        first,
        softmax("P", "bml", "C", extents, "l"),
        contraction("E", "bml,bln->bmn", "PD", extents),
    )


def without_laws(chain: Chain) -> Chain:
    """The chain with row-wise reductions that nobody may correct."""
    operators = (
        replace(op, reduction=replace(op.reduction, rescales=())) if op.reduction and op.reduction.rescales else op
        for op in chain.operators
    )
    return replace(chain, operators=tuple(operators))


def kernel(rows: int, columns: int, vector_bits: int = 512, peak_share: float = 0.97) -> MicroKernel:
    """A declaration to plan with; its code is never asked for."""
    return MicroKernel(
        name=f"test_{rows}x{columns}",
        operation="matmul",
        rows=rows,
        columns=columns,
        depth=4,
        element_types=("float32", "float32", "float32"),
        architecture="any",
        features=frozenset(),
        vector_bits=vector_bits,
        peak_share=peak_share,
        emit=lambda name, variants: KernelSource(SourceKind.C, ""),
    )


KERNELS = (kernel(6, 64), kernel(8, 48), kernel(14, 32))
CASCADE_LAKE = Machine.named("cascadelake-6240")
