"""Bernoulli: 1 or 0 with given probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.operators.generator.seeds import generator_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Bernoulli:
    """1 with the probability that x gives, else 0."""

    dtype: int | None = None
    seed: float | None = None

    def reference(self, x: Any) -> Any:
        dtype = x.dtype if self.dtype is None else element_type(self.dtype)
        return (generator_of(self.seed).random(np.shape(x)) < np.asarray(x, np.float64)).astype(dtype)


define("Bernoulli", Bernoulli, since=15, is_random=True)
