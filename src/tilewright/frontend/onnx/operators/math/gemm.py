"""Gemm: alpha A' B' + beta C, where A' and B' may be transposes, and C broadcasts to the product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Load, apply, times
from tilewright.graph.shapes import broadcast_shapes, shape_text
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm:
    """alpha A' B' + beta C."""

    alpha: float = 1.0
    beta: float = 1.0
    transA: int = 0
    transB: int = 0

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


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmBefore7(Gemm):
    """The same. C broadcasts whenever it is smaller, whatever `broadcast` says."""

    broadcast: int = 0


define("Gemm", GemmBefore7)
define("Gemm", Gemm, since=7)
