"""Upsample, and Resize before it had attributes: results at the positions o / scale."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.image.interpolation import BEFORE_11, Mode
from tilewright.frontend.onnx.operators.image.resampling import resized
from tilewright.frontend.onnx.operators.image.resize import resampled, resamplings
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeBefore11:
    """A tensor `scales` times as large."""

    mode: str = "nearest"

    def reference(self, x: Any, scales: Any) -> Any:
        found = resamplings(x.shape, None, (np.reshape(scales, -1).tolist(), None, None), "stretch", self._mode())
        return resized(x, found, self._mode(), 0.0)

    def lower(self, builder: Builder, x: Tensor, scales: Tensor) -> Tensor:
        known = builder.constant_value(scales).reshape(-1).tolist()
        return resampled(builder, x, None, (known, None), "stretch", self._mode())

    def _mode(self) -> Mode:
        return Mode(self.mode, "asymmetric", BEFORE_11)


define("Resize", ResizeBefore11, since=10)
define("Upsample", ResizeBefore11, since=7, by_attribute={"scales": MISSING})
define("Upsample", ResizeBefore11, since=9)
