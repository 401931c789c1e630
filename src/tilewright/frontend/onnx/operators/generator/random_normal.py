"""RandomNormal and RandomNormalLike: numbers of a normal distribution."""

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
class RandomNormal:
    """Numbers with a mean and a standard deviation, `scale`."""

    dtype: int = 1
    mean: float = 0.0
    scale: float = 1.0
    seed: float | None = None
    shape: Sequence[int]

    def reference(self) -> Any:
        shape = check_size(self.shape, "RandomNormal")
        return generator_of(self.seed).normal(self.mean, abs(self.scale), shape).astype(element_type(self.dtype))


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomNormalLike:
    """The same in the shape of x and, without `dtype`, in its type."""

    dtype: int | None = None
    mean: float = 0.0
    scale: float = 1.0
    seed: float | None = None

    def reference(self, x: Any) -> Any:
        dtype = x.dtype if self.dtype is None else element_type(self.dtype)
        return generator_of(self.seed).normal(self.mean, abs(self.scale), np.shape(x)).astype(dtype)


define("RandomNormal", RandomNormal, is_random=True)
define("RandomNormalLike", RandomNormalLike, is_random=True)
