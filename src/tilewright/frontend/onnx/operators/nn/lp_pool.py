"""LpPool and GlobalLpPool: the p-norm of every window, and of every channel.  y = (sum |x|^p)^(1/p)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.nn.sliding import Pooling, windows
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.window_means import pooled
from tilewright.graph.builders.reduce import REDUCTIONS
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class LpPool(Pooling):
    """The p-norm of every window."""

    p: int = 2

    def reference(self, x: Any) -> Any:
        window = self.window(x.shape, "LpPool")
        view = windows(_powers(x, self.p), window, 0)
        return np.asarray(view.sum(axis=tuple(range(view.ndim - window.rank, view.ndim))) ** (1 / self.p), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A map, a sum for every dimension, and a map."""
        powers = builder.body(_power(self.p), x, kind="power")
        sums = pooled(builder, powers, self.pools(x.shape, "LpPool"), REDUCTIONS["sum"], 0.0, 2)
        return builder.body(_root(self.p), sums, kind="root")


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalLpPool:
    """The p-norm of every channel."""

    p: int = 2

    def reference(self, x: Any) -> Any:
        return np.asarray(_powers(x, self.p).sum(axis=tuple(range(2, x.ndim)), keepdims=True) ** (1 / self.p), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A map, a sum and a map."""
        powers = builder.body(_power(self.p), x, kind="power")
        sums = builder.reduce("sum", powers, tuple(range(2, len(x.shape))), keepdims=True)
        return builder.body(_root(self.p), sums, kind="root")


def _powers(x: Any, p: int) -> Any:
    return np.abs(x.astype(np.result_type(x.dtype, np.float32))) ** p


def _power(p: int) -> Scalar:
    """|x|^p."""
    size = apply("abs", Load(0))
    result: Scalar = size
    for _ in range(p - 1):
        result = apply("multiply", result, size)
    return apply("square", Load(0)) if p == 2 else result


def _root(p: int) -> Scalar:
    """x^(1/p) for x >= 0, which gives whole numbers for powers of such."""
    if p <= 2:
        return Load(0) if p == 1 else apply("sqrt", Load(0))
    return apply("pow", Load(0), Literal(1.0 / p))


define("LpPool", LpPool)
define("GlobalLpPool", GlobalLpPool)
