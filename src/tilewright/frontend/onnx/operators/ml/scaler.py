"""Scaler: columns moved and scaled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.ml.scores import (
    DOMAIN,
)
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaler:
    """(x - offset) * scale in float32, for all columns or for each its own."""

    offset: Sequence[float] = ()
    scale: Sequence[float] = ()

    def reference(self, x: Any) -> Any:
        return (np.asarray(x, np.float32) - _columns(self.offset, np.shape(x), 0.0)) * _columns(self.scale, np.shape(x), 1.0)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """Two maps."""
        moved = builder.map("subtract", builder.cast(x, "float32"), builder.constant(_columns(self.offset, x.shape, 0.0)))
        return builder.map("multiply", moved, builder.constant(_columns(self.scale, x.shape, 1.0)))


def _columns(values: Sequence[float], shape: Any, default: float) -> Any:
    if len(values) > 1 and (not shape or shape[-1] != len(values)):
        raise ShapeError(f"{len(values)} numbers for columns of shape {tuple(shape)}", where="Scaler")
    return np.array(list(values) or [default], np.float32)


define("Scaler", Scaler, domain=DOMAIN)
