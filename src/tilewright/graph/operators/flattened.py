"""Operators that take an array as a matrix, as Softmax, LogSoftmax and Hardmax do before opset 13.

The dimensions before `axis` are the rows, the others the columns: the operator goes along the columns of a row, and the
result has the array's shape again. Source: the ONNX operator schema of Softmax-11.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.graph.shapes import Shape, normalize_axis
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

Lowering = Callable[..., Tensor]


def over_rows(meaning: Callable[..., Any], lower: Lowering) -> tuple[Callable[..., Any], Lowering]:
    """The meaning and the lowering of the operator on matrices, from those along one axis."""

    def flattened_meaning(x: Any, *, axis: int = 1) -> Any:
        """The operator along the rows of a matrix whose columns are the dimensions from `axis` on."""
        rows = int(np.prod(x.shape[: first_column(x.shape, axis)]))
        return meaning(x.reshape(rows, -1) if x.size else x, axis=-1).reshape(x.shape)

    def lower_flattened(builder: Builder, x: Tensor, *, axis: int = 1) -> Tensor:
        """The same along an axis of the matrix, or of the array if the others behind it have extent 1."""
        along = first_column(x.shape, axis)
        if len(x.shape) == along + 1:
            return lower(builder, x, axis=along)
        matrix = builder.reshape(x, (_product(x.shape[:along]), _product(x.shape[along:])))
        return builder.reshape(lower(builder, matrix, axis=-1), x.shape)

    return flattened_meaning, lower_flattened


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
