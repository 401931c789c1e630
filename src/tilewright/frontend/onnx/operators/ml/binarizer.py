"""Binarizer: 1 above a threshold, else 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.ml.scores import (
    DOMAIN,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Binarizer:
    """1 where x is above the threshold, else 0, in the type of x."""

    threshold: float = 0.0

    def reference(self, x: Any) -> Any:
        return (np.asarray(x) > self.threshold).astype(x.dtype)


define("Binarizer", Binarizer, domain=DOMAIN)
