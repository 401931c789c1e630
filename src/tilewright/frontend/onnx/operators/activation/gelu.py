"""Gelu: x Phi(x), with the error function or by the tanh that approximates it (Hendrycks and Gimpel, arXiv:1606.08415, 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.special_functions import gelu, gelu_tanh
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Gelu:
    """x Phi(x)."""

    approximate: str = "none"

    def reference(self, x: Any) -> Any:
        return np.asarray((gelu if self.approximate == "none" else gelu_tanh)(x), x.dtype)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.map("gelu" if self.approximate == "none" else "gelu_tanh", x)


define("Gelu", Gelu, since=20)
