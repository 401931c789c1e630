"""Small chains for planning tests, built from index maps so that they depend on no other room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.support import operators
from tests.support.operators import graph_of, mapping, softmax
from tilewright.graph.expressions.scalar import Load, apply
from tilewright.graph.types import Chain, Extent, Operator
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.contract import MicroKernel
from tilewright.machine import Machine
from tilewright.plan.chains import Names, make_chain, names_of

RELU = apply("maximum", Load(0), Load(0))
ADD = apply("add", Load(0), Load(1))


def contraction(name: str, spec: str, reads: Sequence[str], extents: Mapping[str, Extent], write: str = "") -> Operator:
    """`contraction("C", "mk,kl->ml", "AB", extents)`: its axes in the order of the reads."""
    inputs, output = spec.split("->")
    left, right = inputs.split(",")
    order = "".join(dict.fromkeys(left + right))
    out = f"{write or name}:{output}"
    return operators.contraction(name, f"{reads[0]}:{left}", f"{reads[1]}:{right}", out, extents, order=order)


def elementwise(name: str, letters: str, reads: Sequence[tuple[str, str]], extents: Mapping[str, Extent]) -> Operator:
    """A map of one tensor, or the sum of two, of its own name."""
    body = RELU if len(reads) == 1 else ADD
    return mapping(name, body, [f"{tensor}:{own}" for tensor, own in reads], f"{name}:{letters}", extents)


def chain_of(some: Sequence[Operator]) -> Chain:
    return make_chain(graph_of(some), some)


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
        softmax("P", "C:bml", "P:bml", "l", extents),
        contraction("E", "bml,bln->bmn", "PD", extents),
    )


def without_laws(chain: Chain) -> Chain:
    """The chain with row-wise reductions that nobody may correct."""
    changed = (
        replace(op, reduction=replace(op.reduction, rescales=())) if op.reduction and op.reduction.rescales else op
        for op in chain.operators
    )
    return replace(chain, operators=tuple(changed))


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


def typed(chain: Chain, types: Mapping[str, str], operators: int | None = None) -> Chain:
    """The chain, or its first operators, with tensors of these element types; sums are in the type of their result."""
    kept = chain.operators[:operators]
    used = {access.tensor for operator in kept for access in (*operator.reads, operator.write)}
    tensors = tuple(replace(one, dtype=types.get(one.name, one.dtype)) for one in chain.tensors if one.name in used)
    changed = tuple(replace(one, accumulator=types.get(one.write.tensor, one.accumulator)) for one in kept)
    return Chain(chain.name, tensors, changed, chain.constants)


def names_between(old: Chain, new: Chain) -> Names:
    """The names of a chain by those of another chain of equal structure."""
    before, after = names_of(old), names_of(new)
    pairs = ((before.axes, after.axes), (before.tensors, after.tensors), (before.operators, after.operators))
    axes, tensors, operators = (dict(zip(left.values(), right.values(), strict=True)) for left, right in pairs)
    return Names(axes, tensors, operators, after.chain)
