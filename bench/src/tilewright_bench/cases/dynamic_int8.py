"""Products of floats by constant bytes whose left operand is quantised in the call: DynamicQuantizeMatMul."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tilewright_bench.cases.case import SEED, DoubleArray, FloatArray, normal
from tilewright_bench.cases.onnx_model import CONTRIB, one_node
from tilewright_bench.cases.product_case import ProductCase, beyond
from tilewright_bench.cases.required import Required

SCALE = 1 / 64
"""Of the weights, -64 to 63, which no machine's sums saturate with."""
DEVIATIONS = 10
"""Of the error of a sum that roundings to bytes make: what is beyond is wrong. Scales and zero points are a library's choice."""


@dataclass(frozen=True)
class DynamicCase(ProductCase):
    """c = a (b / 64), floats to floats, where a is rounded to 256 values between its least and its largest element."""

    @property
    def table(self) -> str:
        """One for all."""
        return "f32 x s8 products (M x N x K) to f32, the left operand quantised in the call, prepacked weights from -64 to 63"

    @property
    def required(self) -> Required:
        """Beside the operator of that name."""
        return Required(ratio=1.10, peer="onnxruntime")

    @property
    def moved_bytes(self) -> int:
        """Both inputs and the result, each once."""
        return 4 * self.shape.m * self.shape.k + self.shape.k * self.shape.n + 4 * self.shape.m * self.shape.n

    @property
    def result_type(self) -> type:
        """float32."""
        return np.float32

    @cached_property
    def operands(self) -> tuple[FloatArray, np.ndarray[Any, np.dtype[np.int8]]]:
        """Normally distributed rows, weights of 7 bits."""
        generator = np.random.default_rng(SEED)
        a = normal((self.shape.m, self.shape.k), 1.0, generator)
        return a, generator.integers(-64, 64, (self.shape.k, self.shape.n), np.int8)

    @cached_property
    def reference(self) -> DoubleArray:
        """Of floats that nobody rounds."""
        a, b = (operand.astype(np.float64) for operand in self.operands)
        return a @ b * SCALE

    @cached_property
    def model(self) -> bytes:
        """One scale for all weights, and no zero point."""
        a, b = self.operands
        constants: dict[str, np.ndarray[Any, Any]] = {"b": b, "scale": np.array(SCALE, np.float32)}
        return one_node("DynamicQuantizeMatMul", a, constants, self.result_shape, np.float32, domain=CONTRIB)

    def error(self, result: np.ndarray[Any, Any]) -> float:
        """What rounding of the left operand does not explain, relative to the largest result; infinite for another shape."""
        a, b = self.operands
        step = (max(float(a.max()), 0.0) - min(float(a.min()), 0.0)) / 255
        deviation = step / np.sqrt(12) * np.linalg.norm(b.astype(np.float64), axis=0) * SCALE
        return beyond(result, self.reference, DEVIATIONS * deviation)
