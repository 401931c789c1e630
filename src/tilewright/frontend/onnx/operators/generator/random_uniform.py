"""RandomUniform and RandomUniformLike: numbers that are equally likely between two bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.operators.generator.seeds import generator_of
from tilewright.frontend.onnx.sizes import check_size


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomUniform:
    """Numbers from [low, high)."""

    dtype: int = 1
    high: float = 1.0
    low: float = 0.0
    seed: float | None = None
    shape: Sequence[int]

    def reference(self) -> Any:
        shape = check_size(self.shape, "RandomUniform")
        return generator_of(self.seed).uniform(self.low, self.high, shape).astype(element_type(self.dtype))


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomUniformLike:
    """The same in the shape of x and, without `dtype`, in its type."""

    dtype: int | None = None
    high: float = 1.0
    low: float = 0.0
    seed: float | None = None

    def reference(self, x: Any) -> Any:
        dtype = x.dtype if self.dtype is None else element_type(self.dtype)
        return generator_of(self.seed).uniform(self.low, self.high, np.shape(x)).astype(dtype)


define("RandomUniform", RandomUniform, is_random=True)
define("RandomUniformLike", RandomUniformLike, is_random=True)
