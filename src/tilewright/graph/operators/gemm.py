"""Gemm: alpha A' B' + beta C, where A' and B' may be transposes, and C broadcasts to the product."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.definition import define
from tilewright.graph.numpy_types import in_operand_type
from tilewright.graph.scalar import Load, apply, times
from tilewright.graph.shapes import broadcast_shapes, shape_text
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


def meaning(a: Any, b: Any, c: Any = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0) -> Any:
    """alpha A' B' + beta C."""
    product = np.matmul(a.T if transA else a, b.T if transB else b)
    product = product if alpha == 1 else alpha * product
    return product if c is None else product + (c if beta == 1 else beta * c)


def lower(
    builder: Builder,
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Tensor:
    """A contraction, and one map of its result if there is anything to scale or to add."""
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise ShapeError(f"Gemm of {shape_text(a.shape)} and {shape_text(b.shape)}", why="both are matrices")
    product = builder.einsum(f"{'km' if transA else 'mk'},{'nk' if transB else 'kn'}->mn", a, b)
    scaled = times(Load(0), alpha)
    if c is None or beta == 0:
        return product if alpha == 1 else builder.body(scaled, product, kind="scale")
    if broadcast_shapes((product.shape, c.shape), "Gemm") != product.shape:
        raise ShapeError(f"Gemm adds {shape_text(c.shape)} to a product of shape {shape_text(product.shape)}")
    return builder.body(apply("add", scaled, times(Load(1), beta)), product, c, kind="add")


define("Gemm", in_operand_type(meaning), lower, since=7)
