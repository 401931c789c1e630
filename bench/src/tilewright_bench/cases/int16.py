"""Products of signed 16-bit integers, summed in 32 bits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tilewright_bench.cases.case import SEED, DoubleArray, integers, relative_error
from tilewright_bench.cases.onnx_model import CONTRIB, one_node
from tilewright_bench.cases.product_case import ProductCase
from tilewright_bench.cases.required import Required

SUM_LIMIT = 1 << 31
Words = np.ndarray[Any, np.dtype[np.int16]]


@dataclass(frozen=True)
class Int16Case(ProductCase):
    """c = a b without zero points; the numbers are small enough for every sum to fit 32 bits."""

    @property
    def table(self) -> str:
        """One for all."""
        return "s16 x s16 products (M x N x K) to s32, no zero points, prepacked weights, peak of 16-bit products and sums"

    @property
    def required(self) -> Required:
        """The arithmetic binds."""
        return Required(share=0.85)

    @property
    def moved_bytes(self) -> int:
        """Both inputs and the result, each once."""
        return 2 * (self.shape.m + self.shape.n) * self.shape.k + 4 * self.shape.m * self.shape.n

    @property
    def result_type(self) -> type:
        """32 bits."""
        return np.int32

    @cached_property
    def operands(self) -> tuple[Words, Words]:
        """Of the largest range for which no sum overflows."""
        generator, limit = np.random.default_rng(SEED), int(np.sqrt((SUM_LIMIT - 1) / self.shape.k))
        limit = min(limit, np.iinfo(np.int16).max)
        shapes = (self.shape.m, self.shape.k), (self.shape.k, self.shape.n)
        a, b = (integers(shape, -limit, limit, np.int16, generator) for shape in shapes)
        return a, b

    @cached_property
    def reference(self) -> DoubleArray:
        """The exact result."""
        a, b = (operand.astype(np.float64) for operand in self.operands)
        return a @ b

    @cached_property
    def model(self) -> bytes:
        """MatMulInteger16 of onnxruntime."""
        a, b = self.operands
        return one_node("MatMulInteger16", a, {"b": b}, self.result_shape, np.int32, domain=CONTRIB)

    def error(self, result: np.ndarray[Any, Any]) -> float:
        """The largest difference to the reference, relative to its largest magnitude; infinite for another shape or NaN."""
        return relative_error(result, self.reference)
