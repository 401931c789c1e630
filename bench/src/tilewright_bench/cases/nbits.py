"""Products of floats with weights of 4 bits, in blocks with a scale each: MatMulNBits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tilewright_bench.cases.case import SEED, DoubleArray, FloatArray, normal
from tilewright_bench.cases.onnx_model import CONTRIB, one_node
from tilewright_bench.cases.product_case import ProductCase, beyond
from tilewright_bench.cases.required import NOTHING, Required

BITS, BLOCK = 4, 32
ZERO = 8
"""Of weights without zero points of their own: half of the range."""
FLOATS, BYTES = 0, 4
"""Of `accuracy_level`: sums of floats, and sums of bytes, to which blocks of the left operand are rounded."""
DEVIATIONS = 10
"""Of the error of a sum that roundings to bytes make: what is beyond is wrong."""


@dataclass(frozen=True)
class NbitsCase(ProductCase):
    """c = a b, where b is weights of 4 bits less 8, times the scale of their 32 steps."""

    level: int = FLOATS

    @property
    def table(self) -> str:
        """By the accuracy level."""
        weights = f"weights of {BITS} bits in blocks of {BLOCK} without zero points"
        return f"MatMulNBits (M x N x K), {weights}, accuracy level {self.level}"

    @property
    def required(self) -> Required:
        """Of one row, which a decoder computes for every token: with bytes as fast as reading; more rows are shown beside."""
        if self.shape.m > 1:
            return NOTHING
        return Required(read_share=0.85) if self.level == BYTES else Required(ratio=1.20, peer="onnxruntime")

    @property
    def moved_bytes(self) -> int:
        """Left operand, weights, scales and result, each once."""
        m, n, k = self.shape.m, self.shape.n, self.shape.k
        return 4 * m * k + n * k * BITS // 8 + 4 * n * k // BLOCK + 4 * m * n

    @property
    def result_type(self) -> type:
        """float32."""
        return np.float32

    @cached_property
    def operands(self) -> tuple[FloatArray, np.ndarray[Any, np.dtype[np.uint8]]]:
        """Normally distributed rows, and the packed weights, (n, blocks, bytes of a block), the first step in the low bits."""
        generator = np.random.default_rng(SEED)
        a, blocks = normal((self.shape.m, self.shape.k), 1.0, generator), self.shape.k // BLOCK
        return a, generator.integers(0, 256, (self.shape.n, blocks, BLOCK * BITS // 8), np.uint8)

    @cached_property
    def scales(self) -> FloatArray:
        """(n, blocks)."""
        scales: FloatArray = np.random.default_rng(SEED + 1).uniform(0.5, 1.5, self.operands[1].shape[:2]).astype(np.float32)
        return scales / np.float32(ZERO)

    @cached_property
    def weights(self) -> DoubleArray:
        """(k, n), as the numbers that they stand for."""
        packed = self.operands[1]
        numbers = np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:2], BLOCK)
        return ((numbers.astype(np.float64) - ZERO) * self.scales[..., None]).reshape(self.shape.n, -1).T

    @cached_property
    def reference(self) -> DoubleArray:
        """Of floats that nobody rounds."""
        return self.operands[0].astype(np.float64) @ self.weights

    @cached_property
    def model(self) -> bytes:
        """The operator of onnxruntime."""
        a, b = self.operands
        sizes = {"K": self.shape.k, "N": self.shape.n, "bits": BITS, "block_size": BLOCK, "accuracy_level": self.level}
        constants: dict[str, np.ndarray[Any, Any]] = {"b": b, "scales": self.scales}
        return one_node("MatMulNBits", a, constants, self.result_shape, np.float32, domain=CONTRIB, **sizes)

    def error(self, result: np.ndarray[Any, Any]) -> float:
        """The largest difference to the reference, relative to the largest result; with bytes, what rounding does not explain."""
        if self.level == FLOATS:
            return beyond(result, self.reference, 0.0)
        step = np.abs(self.operands[0]).max(axis=1, keepdims=True) / 127
        deviation = step / np.sqrt(12) * np.linalg.norm(self.weights, axis=0)
        return beyond(result, self.reference, DEVIATIONS * deviation)
