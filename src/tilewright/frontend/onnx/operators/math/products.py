"""MatMul, Gemm, Einsum and Det: products of matrices and tensors, and determinants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_function, onnx_operator
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.diagonals import contracted, without_diagonals
from tilewright.graph.builders.einsum import Subscripts, parse
from tilewright.graph.expressions.scalar import Load, apply, times
from tilewright.graph.shapes import broadcast_shapes, shape_text
from tilewright.graph.types import Tensor


@onnx_operator("MatMul")
class MatMul:
    """As `numpy.matmul`."""

    @in_operand_type
    def reference(self, left: Any, right: Any) -> Any:
        return np.matmul(left, right)

    def lower(self, builder: Builder, left: Tensor, right: Tensor) -> Tensor:
        return builder.matmul(left, right)


@onnx_operator("Gemm")
@onnx_operator("Gemm", since=7)
class Gemm(SchemaAttributes):
    """alpha A' B' + beta C, where C broadcasts, whatever `broadcast` of the first opsets says."""

    @in_operand_type
    def reference(self, a: Any, b: Any, c: Any = None) -> Any:
        product = np.matmul(a.T if self.transA else a, b.T if self.transB else b)
        product = product if self.alpha == 1 else self.alpha * product
        return product if c is None else product + (c if self.beta == 1 else self.beta * c)

    def lower(self, builder: Builder, a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
        """A contraction, and one map of its result if there is anything to scale or to add."""
        if len(a.shape) != 2 or len(b.shape) != 2:
            raise ShapeError(f"Gemm of {shape_text(a.shape)} and {shape_text(b.shape)}", why="both are matrices")
        product = builder.einsum(f"{'km' if self.transA else 'mk'},{'nk' if self.transB else 'kn'}->mn", a, b)
        scaled = times(Load(0), self.alpha)
        if c is None or self.beta == 0:
            return product if self.alpha == 1 else builder.body(scaled, product, kind="scale")
        if broadcast_shapes((product.shape, c.shape), "Gemm") != product.shape:
            raise ShapeError(f"Gemm adds {shape_text(c.shape)} to a product of shape {shape_text(product.shape)}")
        return builder.body(apply("add", scaled, times(Load(1), self.beta)), product, c, kind="add")


@onnx_operator("Einsum", since=12)
class Einsum(SchemaAttributes):
    """The sum of products, in NumPy's notation."""

    @in_operand_type
    def reference(self, *operands: Any) -> Any:
        return np.einsum(self.equation.replace(" ", ""), *operands)

    def lower(self, builder: Builder, *operands: Tensor) -> Tensor:
        """Diagonals, sums of single operands, and contractions from left to right."""
        subscripts = parse(self.equation, [len(tensor.shape) for tensor in operands])
        subscripts, taken = without_diagonals(builder, subscripts, operands)
        return contracted(builder, *_summed_alone(builder, subscripts, taken))


def _summed_alone(builder: Builder, subscripts: Subscripts, operands: Sequence[Tensor]) -> tuple[Subscripts, list[Tensor]]:
    """Sums over the indices that one of several operands has and neither another nor the result."""
    if len(operands) == 1:
        return subscripts, list(operands)
    labels, taken = list(subscripts.operands), list(operands)
    for number, letters in enumerate(labels):
        shared = {label for position, group in enumerate(labels) if position != number for label in group}
        alone = [d for d, label in enumerate(letters) if label not in shared and label not in subscripts.result]
        if alone:
            taken[number] = builder.reduce("sum", taken[number], alone)
            labels[number] = tuple(label for d, label in enumerate(letters) if d not in alone)
    return Subscripts(tuple(labels), subscripts.result), taken


@onnx_function("Det", since=11)
def det(x: Any) -> Any:
    """The determinant of the last two dimensions; computed in float32 at least."""
    if np.ndim(x) < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"determinant of shape {np.shape(x)}", where="Det", why="the last two extents must be equal")
    return np.asarray(np.linalg.det(np.asarray(x, np.result_type(x.dtype, np.float32)))).astype(x.dtype)
