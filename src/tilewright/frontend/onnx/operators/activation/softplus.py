"""Softplus, Softsign and Mish: smooth functions, recorded by formulas in exp(-|x|), which do not overflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.activation.relu import where_negative
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import Tensor

_X, _ZERO, _ONE, _TWO = Load(0), Literal(0.0), Literal(1.0), Literal(2.0)


class Softplus:
    """log(1 + exp(x))."""

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return np.logaddexp(x, 0)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """max(x, 0) + log(1 + exp(-|x|))."""
        return builder.body(apply("add", apply("maximum", _X, _ZERO), apply("log1p", _shrinking())), x, kind="softplus")


class Softsign:
    """x / (1 + |x|)."""

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return x / (1 + np.abs(x))

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.body(apply("divide", _X, apply("add", apply("abs", _X), _ONE)), x, kind="softsign")


class Mish:
    """x tanh(log(1 + exp(x))) (D. Misra, arXiv:1908.08681, 2019)."""

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return x * np.tanh(np.logaddexp(x, 0))

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """With u = exp(-|x|), tanh(log(1 + exp x)) is n / (n + 2 u^2) for x >= 0, n = 1 + 2 u,
        and else n / (n + 2), n = u (u + 2)."""
        u = _shrinking()
        above = apply("add", _ONE, apply("multiply", _TWO, u))
        below = apply("multiply", u, apply("add", u, _TWO))
        beside = apply("multiply", _TWO, apply("square", u))
        large = apply("divide", above, apply("add", above, beside))
        small = apply("divide", below, apply("add", below, _TWO))
        return builder.body(apply("multiply", _X, where_negative(small, large)), x, kind="mish")


def _shrinking() -> Scalar:
    """exp(-|x|)."""
    return apply("exp", apply("negative", apply("abs", _X)))


define("Softplus", Softplus)
define("Softsign", Softsign)
define("Mish", Mish, since=18)
