"""What is measured: a chain with its data, and the float64 result that everyone is held against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from tilewright.cli.shapes import ChainShape

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
TOLERANCE = 1e-4
"""Of the largest error over the largest result. Sums of up to 512 float32 products differ by some 1e-6 between any two orders."""


@dataclass(frozen=True)
class ChainCase:
    """One chain of Table IV, plain or with a softmax over l between the products, and its operands."""

    shape: ChainShape
    softmax: bool

    @property
    def name(self) -> str:
        """The shape's name; the table says whether there is a softmax."""
        return self.shape.name

    @cached_property
    def operands(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Standard normal data, the first operand scaled by 1/sqrt(k) as attention does; the same in every run."""
        generator = np.random.default_rng(20240229)
        a, b, d = (generator.standard_normal(shape, np.float32) for shape in self.shape.operands)
        return a / np.float32(np.sqrt(self.shape.k)), b, d

    @cached_property
    def reference(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The result in float64."""
        a, b, d = (operand.astype(np.float64) for operand in self.operands)
        scores = a @ b
        if self.softmax:
            np.exp(scores - scores.max(axis=-1, keepdims=True), out=scores)
            scores /= scores.sum(axis=-1, keepdims=True)
        return scores @ d

    def error(self, result: np.ndarray[Any, Any]) -> float:
        """The largest difference to the reference, relative to its largest magnitude; infinite for another shape or NaN."""
        if result.shape != self.reference.shape or not np.isfinite(result).all():
            return float("inf")
        return float(np.abs(result - self.reference).max() / np.abs(self.reference).max())
