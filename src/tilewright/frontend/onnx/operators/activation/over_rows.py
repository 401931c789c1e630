"""Rows of matrices: Softmax, LogSoftmax and Hardmax before opset 13.

The dimensions before `axis` are the rows of a matrix, all others its columns: the operator goes along the columns of a row, and
the result has the operand's shape again. Source: the ONNX operator schema of Softmax-11.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import prod
from typing import Any

from tilewright.errors import UnsupportedOperation
from tilewright.graph.builders.builder import Builder
from tilewright.graph.shapes import Shape, normalize_axis
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True)
class OverRows:
    """An operator along the rows of a matrix whose columns are the dimensions from `axis` on."""

    operator: type[Any]
    """The operator along one axis."""
    _: KW_ONLY
    axis: int = 1

    def reference(self, x: Any) -> Any:
        rows = prod(x.shape[: first_column(x.shape, self.axis)])
        return self.operator(axis=-1).reference(x.reshape(rows, -1) if x.size else x).reshape(x.shape)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        along = first_column(x.shape, self.axis)
        if len(x.shape) == along + 1:
            result: Tensor = self.operator(axis=along).lower(builder, x)
            return result
        matrix = builder.reshape(x, (_product(x.shape[:along]), _product(x.shape[along:])))
        return builder.reshape(self.operator(axis=-1).lower(builder, matrix), x.shape)


def first_column(shape: Shape, axis: int) -> int:
    """The first dimension of a row; it may be the one behind the last, and then every element is a row."""
    return len(shape) if axis == len(shape) else normalize_axis(axis, len(shape), "axis of a matrix")


def _product(shape: Shape) -> int:
    product = 1
    for extent in shape:
        if not isinstance(extent, int):
            raise UnsupportedOperation(f"rows of a matrix with the symbolic extent {extent}")
        product *= extent
    return product
