"""Operators and graphs from index maps, for the chains of all tests: a letter for each axis, `A:mk` for an access."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.graph.builders.norms import ROW_SOFTMAX
from tilewright.graph.expressions.index import axis
from tilewright.graph.expressions.scalar import Load, Scalar, apply
from tilewright.graph.types import SUM, Access, Axis, AxisKind, Extent, Graph, Operator, Reduction, Tensor

PRODUCT = apply("multiply", Load(0), Load(1))
Extents = Mapping[str, Extent]


def access(text: str) -> Access:
    """`access("A:mk")` is A[m, k]."""
    tensor, _, letters = text.partition(":")
    return Access(tensor, tuple(axis(letter) for letter in letters))


def operator(
    name: str,
    kind: str,
    reads: Sequence[Access],
    write: Access,
    body: Scalar,
    extents: Extents,
    how: Reduction | None = None,
    *,
    order: str = "",
    over: str = "",
) -> Operator:
    """Over the axes of the write and the reads, or of `order`; those that the write lacks, and `over`, are reduced."""
    letters = order or dict.fromkeys(letter for one in (write, *reads) for letter in _letters(one))
    kept = write.axes() - set(over)
    axes = (Axis(a, extents[a], AxisKind.PARALLEL if a in kept else AxisKind.REDUCTION) for a in letters)
    return Operator(name, kind, tuple(axes), tuple(reads), write, body, how)


def _letters(one: Access) -> Iterator[str]:
    for index in one.indices:
        yield from (atom for atom, _ in index.terms if isinstance(atom, str))


def contraction(name: str, left: str, right: str, out: str, extents: Extents, *, order: str = "") -> Operator:
    """`contraction("scores", "A:mk", "B:kl", "C:ml", extents)`."""
    return operator(name, "einsum", (access(left), access(right)), access(out), PRODUCT, extents, SUM, order=order)


def mapping(name: str, body: Scalar, reads: Sequence[str], out: str, extents: Extents) -> Operator:
    """An elementwise operator."""
    return operator(name, "map", tuple(map(access, reads)), access(out), body, extents)


def softmax(name: str, read: str, out: str, over: str, extents: Extents, how: Reduction = ROW_SOFTMAX) -> Operator:
    """Softmax along one axis."""
    return operator(name, "softmax", (access(read),), access(out), Load(0), extents, how, over=over)


def reduction(name: str, read: str, out: str, extents: Extents, how: Reduction = SUM) -> Operator:
    """A reduction over the axes that the result lacks."""
    return operator(name, "reduce", (access(read),), access(out), Load(0), extents, how)


def tensors_of(operators: Sequence[Operator]) -> tuple[Tensor, ...]:
    """What operators access that read and write every dimension by one axis."""
    shapes: dict[str, tuple[Extent, ...]] = {}
    for op in operators:
        for one in (*op.reads, op.write):
            shapes[one.tensor] = tuple(op.axis(next(iter(index.axes()))).extent for index in one.indices)
    return tuple(Tensor(name, shape) for name, shape in shapes.items())


def graph_of(operators: Sequence[Operator], tensors: Sequence[Tensor] = (), name: str = "test") -> Graph:
    """The graph of some operators: what none writes are inputs, what none reads are outputs."""
    tensors = tuple(tensors) or tensors_of(operators)
    written = [op.write.tensor for op in operators]
    read = {one.tensor for op in operators for one in op.reads}
    inputs = tuple(tensor.name for tensor in tensors if tensor.name not in written)
    return Graph(name, tensors, tuple(operators), inputs, tuple(name for name in written if name not in read))


def integer_matmul_reference(left: Any, right: Any, left_zero: Any = 0, right_zero: Any = 0) -> Any:
    """`(left - left_zero) @ (right - right_zero)` by `numpy.matmul` of int32 numbers."""
    whole = [np.asarray(array).astype(np.int32) for array in (left, left_zero, right, right_zero)]
    with np.errstate(over="ignore"):
        return np.matmul(whole[0] - whole[1], whole[2] - whole[3])
