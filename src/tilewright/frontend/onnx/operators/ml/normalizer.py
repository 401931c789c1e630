"""Normalizer: rows divided by their norm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.ml.scores import (
    DOMAIN,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalizer:
    """Rows over their largest element (MAX), the sum of their absolute values (L1) or their length (L2); float32."""

    norm: str = "MAX"

    def reference(self, x: Any) -> Any:
        x = np.asarray(x, np.float32)
        norms: dict[str, Callable[..., Any]] = {
            "MAX": np.max,
            "L1": lambda a, **k: np.abs(a).sum(**k),
            "L2": lambda a, **k: np.sqrt(np.square(a).sum(**k)),
        }
        if self.norm not in norms or not x.ndim:
            raise UnsupportedOperation(f"norm {self.norm!r}", where="Normalizer", hint=f"choose from {', '.join(norms)}")
        size = norms[self.norm](x, axis=-1, keepdims=True)
        return x / np.where(size == 0, 1, size).astype(np.float32)


define("Normalizer", Normalizer, domain=DOMAIN)
