"""Adam: steps by averages of gradients and of their squares (D. P. Kingma, J. Ba, arXiv:1412.6980 (2014), algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.training.optimizers import DOMAIN, updated


@dataclass(frozen=True, slots=True, kw_only=True)
class Adam:
    """The new tensors, then the averages of gradients, then those of squared gradients."""

    alpha: float = 0.9
    beta: float = 0.999
    epsilon: float = 1e-6
    norm_coefficient: float = 0.0
    norm_coefficient_post: float = 0.0

    def reference(self, rate: Any, step: Any, *tensors: Any) -> Any:
        adjusted = rate * np.sqrt(1 - self.beta**step) / (1 - self.alpha**step) if step > 0 else rate

        def update(x: Any, gradient: Any, average: Any, squares: Any) -> tuple[Any, ...]:
            gradient = self.norm_coefficient * x + gradient
            average = self.alpha * average + (1 - self.alpha) * gradient
            squares = self.beta * squares + (1 - self.beta) * gradient * gradient
            x = x - adjusted * average / (np.sqrt(squares) + self.epsilon)
            return (1 - self.norm_coefficient_post) * x, average, squares

        return updated(tensors, 4, update)


define("Adam", Adam, domain=DOMAIN)
