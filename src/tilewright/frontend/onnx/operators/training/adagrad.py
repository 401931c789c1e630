"""Adagrad: steps divided by the root of all squared gradients (J. Duchi, E. Hazan, Y. Singer, JMLR 12 (2011), figure 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.training.optimizers import DOMAIN, updated


@dataclass(frozen=True, slots=True, kw_only=True)
class Adagrad:
    """The new tensors, then the sums of squared gradients."""

    decay_factor: float = 0.0
    epsilon: float = 1e-6
    norm_coefficient: float = 0.0

    def reference(self, rate: Any, step: Any, *tensors: Any) -> Any:
        decayed = rate / (1 + step * self.decay_factor)

        def update(x: Any, gradient: Any, squares: Any) -> tuple[Any, ...]:
            gradient = self.norm_coefficient * x + gradient
            squares = squares + gradient * gradient
            return x - decayed * gradient / (np.sqrt(squares) + self.epsilon), squares

        return updated(tensors, 3, update)


define("Adagrad", Adagrad, domain=DOMAIN)
