"""Swish and SwiGLU: x sigmoid(alpha x), and that times a second operand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Load, Scalar, apply, times
from tilewright.graph.shapes import shape_text
from tilewright.graph.special_functions import sigmoid
from tilewright.graph.types import Tensor

_X = Load(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swish:
    """x sigmoid(alpha x) (P. Ramachandran, B. Zoph, Q. V. Le, arXiv:1710.05941, 2017)."""

    alpha: float = 1.0

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return x * sigmoid(self.alpha * x)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.body(_swish(self.alpha), x, kind="swish")


@dataclass(frozen=True, slots=True, kw_only=True)
class SwiGLU:
    """swish(a) b (N. Shazeer, "GLU Variants Improve Transformer", arXiv:2002.05202, 2020)."""

    alpha: float = 1.0

    @in_operand_type
    def reference(self, a: Any, b: Any) -> Any:
        return Swish(alpha=self.alpha).reference(a) * b

    def lower(self, builder: Builder, a: Tensor, b: Tensor) -> Tensor:
        """Raises `ShapeError` for shapes that differ."""
        if a.shape != b.shape:
            raise ShapeError(f"SwiGLU of {shape_text(a.shape)} and {shape_text(b.shape)}", why="both have the same shape")
        return builder.body(apply("multiply", _swish(self.alpha), Load(1)), a, b, kind="swiglu")


def _swish(alpha: float) -> Scalar:
    return apply("silu", _X) if alpha == 1 else apply("multiply", _X, apply("sigmoid", times(_X, alpha)))


define("Swish", Swish, since=24)
define("SwiGLU", SwiGLU, since=28)
