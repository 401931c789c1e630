"""MeanVarianceNormalization and LpNormalization: x less its mean, over its deviation; x over its p-norm along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.shapes import normalize_axes, normalize_axis
from tilewright.graph.types import Tensor

SMALL = 1e-9
"""Added to the deviation (ONNX, MeanVarianceNormalization)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanVarianceNormalization:
    """(x - mean) / (deviation + SMALL)."""

    axes: Sequence[int] = (0, 2, 3)

    def reference(self, x: Any) -> Any:
        over = normalize_axes(tuple(self.axes), x.ndim, where="MeanVarianceNormalization")
        data = x.astype(np.result_type(x.dtype, np.float32))
        centred = data - data.mean(axis=over, keepdims=True)
        deviation = np.sqrt(np.square(centred).mean(axis=over, keepdims=True))
        return np.asarray(centred / (deviation + data.dtype.type(SMALL)), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """Two means and two maps."""
        centred = builder.map("subtract", x, builder.reduce("mean", x, tuple(self.axes), keepdims=True))
        variance = builder.reduce("mean", builder.map("square", centred), tuple(self.axes), keepdims=True)
        deviation = builder.map("add", builder.map("sqrt", variance), SMALL)
        return builder.map("divide", centred, deviation)


@dataclass(frozen=True, slots=True, kw_only=True)
class LpNormalization:
    """x over its p-norm; a row of zeros stays."""

    axis: int = -1
    p: int = 2

    def reference(self, x: Any) -> Any:
        along = normalize_axis(self.axis, x.ndim, where="LpNormalization")
        data = x.astype(np.result_type(x.dtype, np.float32))
        sizes = np.abs(data) if self.p == 1 else np.square(data)
        norm = sizes.sum(axis=along, keepdims=True)
        norm = norm if self.p == 1 else np.sqrt(norm)
        return np.asarray(np.where(norm == 0, 0, data / np.where(norm == 0, 1, norm)), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A map, a sum, and a map."""
        if self.p not in (1, 2):
            raise UnsupportedOperation(f"LpNormalization with p of {self.p}", where="LpNormalization")
        along = normalize_axis(self.axis, len(x.shape), where="LpNormalization")
        sizes = builder.map("abs" if self.p == 1 else "square", x)
        norm = builder.reduce("sum", sizes, (along,), keepdims=True)
        norm = norm if self.p == 1 else builder.map("sqrt", norm)
        divided = apply("divide", Load(0), Load(1))
        body = apply("where", apply("equal", Load(1), Literal(0.0)), Literal(0.0), divided)
        return builder.body(body, x, norm, kind="lp_norm")


define("MeanVarianceNormalization", MeanVarianceNormalization, since=9)
define("LpNormalization", LpNormalization)
