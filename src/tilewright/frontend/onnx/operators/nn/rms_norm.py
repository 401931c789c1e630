"""RMSNormalization: rows over the dimensions from `axis` on, divided by the root of their mean square, then scaled.

Source: the ONNX operator schema (types as in LayerNormalization); B. Zhang, R. Sennrich, arXiv:1910.07467 (2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.operators.nn.layer_norm import computed_in, normalized
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.norms import rms_norm
from tilewright.graph.numpy_types import widened
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class RMSNormalization:
    """The normalized array, in the type of the scale."""

    axis: int = -1
    epsilon: float = 1e-5
    stash_type: int = 1

    def reference(self, x: Any, scale: Any) -> Any:
        axes = self._axes(x.ndim)
        wide = x.astype(computed_in(x.dtype.name, element_type(self.stash_type).name))
        root = np.sqrt(np.square(wide).mean(axis=axes, keepdims=True) + self.epsilon)
        return (widened((wide / root).astype(x.dtype)) * widened(scale)).astype(scale.dtype)

    def lower(self, builder: Builder, x: Tensor, scale: Tensor) -> Tensor:
        stash = element_type(self.stash_type).name
        result = normalized(builder, rms_norm, x, (scale,), self._axes(len(x.shape)), self.epsilon, stash)
        return builder.cast(result, scale.dtype)

    def _axes(self, rank: int) -> tuple[int, ...]:
        return tuple(range(normalize_axis(self.axis, rank, "RMSNormalization"), rank))


define("RMSNormalization", RMSNormalization, since=23)
