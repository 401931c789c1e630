"""Compress: slices or elements where a condition holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define


@dataclass(frozen=True, slots=True, kw_only=True)
class Compress:
    """The slices along an axis, or the elements in row-major order; a condition that ends early leaves out the rest."""

    axis: int | None = None

    def reference(self, x: Any, condition: Any) -> Any:
        values = x.reshape(-1) if self.axis is None else x
        chosen = np.asarray(condition, bool).reshape(-1)
        return np.compress(chosen, values, axis=0 if self.axis is None else self.axis)


define("Compress", Compress, since=9)
