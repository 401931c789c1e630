"""Momentum: steps by a decaying sum of gradients, and Nesterov's form of it (I. Sutskever et al., ICML 2013, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.training.optimizers import DOMAIN, updated


@dataclass(frozen=True, slots=True, kw_only=True)
class Momentum:
    """The new tensors, then the new momenta."""

    alpha: float
    beta: float
    mode: str
    norm_coefficient: float

    def reference(self, rate: Any, step: Any, *tensors: Any) -> Any:
        if self.mode not in ("standard", "nesterov"):
            raise UnsupportedOperation(f"mode {self.mode!r}", where="Momentum", hint="choose standard or nesterov")
        share = self.beta if step > 0 else 1.0

        def update(x: Any, gradient: Any, velocity: Any) -> tuple[Any, ...]:
            gradient = self.norm_coefficient * x + gradient
            velocity = self.alpha * velocity + share * gradient
            return x - rate * (velocity if self.mode == "standard" else gradient + self.alpha * velocity), velocity

        return updated(tensors, 3, update)


define("Momentum", Momentum, domain=DOMAIN)
