"""Single products as cases: operands, and the float64 reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tilewright_bench.cases.case import PACKINGS, SEED, DoubleArray, FloatArray, aligned, relative_error
from tilewright_bench.cases.gemm_shapes import GemmShape, gemm_shape
from tilewright_bench.cases.required import Required

REFERENCE_ELEMENTS = 1 << 25
"""At most so many of the left operand are converted to float64 at a time: the largest one has 2 GB in float32."""


@dataclass(frozen=True)
class GemmCase:
    """One product c = a b and its operands."""

    shape: GemmShape
    prepacked: bool = False
    required: Required | None = None
    even: str = ""

    @property
    def name(self) -> str:
        """The shape's name."""
        return self.shape.name

    @property
    def table(self) -> str:
        """By kind of shape and packing."""
        kind = "small squares, called in a loop in C" if self.shape.is_square else "GEMMs (M x N x K), called from Python"
        return f"{kind}, {PACKINGS[self.prepacked]}"

    @property
    def flops(self) -> int:
        """Of the product."""
        return self.shape.flops

    @property
    def moved_bytes(self) -> int:
        """Both inputs and the result, each once."""
        return self.shape.moved_bytes

    @cached_property
    def operands(self) -> tuple[FloatArray, FloatArray]:
        """Numbers between -1 and 1, the same in every run."""
        generator = np.random.default_rng(SEED)
        a, b = (aligned(shape) for shape in self.shape.operands)
        for operand in (a, b):
            generator.random(dtype=np.float32, out=operand)
            operand *= 2
            operand -= 1
        return a, b

    @property
    def result_shape(self) -> tuple[int, int]:
        """(m, n)."""
        return self.shape.m, self.shape.n

    @cached_property
    def reference(self) -> DoubleArray:
        """The result in float64."""
        a, b = self.operands
        result = np.zeros(self.result_shape)
        for part in _parts(self.shape.k, max(1, REFERENCE_ELEMENTS // self.shape.m)):
            result += a[:, part].astype(np.float64) @ b[part].astype(np.float64)
        return result

    def error(self, result: np.ndarray[Any, Any]) -> float:
        """The largest difference to the reference, relative to its largest magnitude; infinite for another shape or NaN."""
        return relative_error(result, self.reference)


def gemm_cases(names: Sequence[str], packings: Sequence[bool]) -> list[GemmCase]:
    """Every case in the order of measurement: those without prepacking first."""
    return [GemmCase(gemm_shape(name), prepacked) for prepacked in packings for name in names]


def _parts(extent: int, size: int) -> Iterator[slice]:
    return (slice(begin, begin + size) for begin in range(0, extent, size))
