"""Single products as cases: operands, and the float64 reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tilewright_bench.cases.case import PACKINGS, SEED, TOLERANCE, DoubleArray, aligned_of, relative_error
from tilewright_bench.cases.gemm_shapes import GemmShape, gemm_shape
from tilewright_bench.cases.onnx_model import CONTRIB, one_node, two_inputs
from tilewright_bench.cases.required import Required

Array = np.ndarray[Any, np.dtype[Any]]
REFERENCE_ELEMENTS = 1 << 25
"""At most so many of the left operand are converted to float64 at a time: the largest one has 2 GB in float32."""
TOLERANCES = {"float64": 1e-12, "float16": 1e-2, "int32": 0.0, "int16": 0.0}
"""As `TOLERANCE`: relative to the largest result."""
SUM_LIMIT = 1 << 31
LOOPED = ("float32", "float64")
"""Types of which libraries have a function in C: small squares are called in a loop there."""


@dataclass(frozen=True)
class GemmCase:
    """One product c = a b and its operands."""

    shape: GemmShape
    prepacked: bool = False
    required: Required | None = None
    even: str = ""
    dtype: str = "float32"

    @property
    def name(self) -> str:
        """The shape's name."""
        return self.shape.name

    @property
    def table(self) -> str:
        """By kind of shape and packing."""
        kind = "small squares, called in a loop in C" if self.is_looped else "GEMMs (M x N x K), called from Python"
        of_type = "" if self.dtype == "float32" else f" of {self.dtype}"
        return f"{kind}{of_type}, {PACKINGS[self.prepacked]}"

    @property
    def is_looped(self) -> bool:
        """Whether calls are made by a loop in C."""
        return self.shape.is_square and self.dtype in LOOPED

    @property
    def tolerance(self) -> float:
        """The error of a right result. That of integers is exact: no sum leaves 32 bits."""
        return TOLERANCES.get(self.dtype, TOLERANCE)

    @property
    def flops(self) -> int:
        """Of the product."""
        return self.shape.flops

    @property
    def moved_bytes(self) -> int:
        """Both inputs and the result, each once."""
        (m, n), read = self.result_shape, np.dtype(self.dtype).itemsize
        return read * (m + n) * self.shape.k + self.result_dtype.itemsize * m * n

    @cached_property
    def operands(self) -> tuple[Array, Array]:
        """Numbers between -1 and 1, the same in every run; integers of the largest range for which no sum leaves 32 bits."""
        generator = np.random.default_rng(SEED)
        a, b = (aligned_of(shape, np.dtype(self.dtype)) for shape in self.shape.operands)
        for operand in (a, b):
            if "int" in self.dtype:
                limit = min(int(np.sqrt((SUM_LIMIT - 1) / self.shape.k)), int(np.iinfo(self.dtype).max))
                operand[:] = generator.integers(-limit, limit, operand.shape, self.dtype, endpoint=True)
            elif self.dtype == "float16":
                operand[:] = generator.random(operand.shape, np.float32) * 2 - 1
            else:
                generator.random(dtype=operand.dtype, out=operand)
                operand *= 2
                operand -= 1
        return a, b

    @property
    def result_dtype(self) -> np.dtype[Any]:
        """Of the elements of c."""
        return np.dtype("int32" if self.dtype == "int16" else self.dtype)

    def empty_result(self) -> Array:
        """Uninitialised memory for c."""
        result: Array = aligned_of(self.result_shape, self.result_dtype)
        return result

    @cached_property
    def model(self) -> bytes:
        """The product as a model of one node, from "a", and "b" where that is no constant, to "c"."""
        a, b = self.operands
        operator, domain = ("MatMulInteger16", CONTRIB) if self.dtype == "int16" else ("MatMul", "")
        made = one_node(operator, a, {"b": b}, self.result_shape, self.result_dtype.type, domain=domain)
        return made if self.prepacked else two_inputs(made)

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


def gemm_cases(names: Sequence[str], packings: Sequence[bool], dtype: str = "float32") -> list[GemmCase]:
    """Every case in the order of measurement: those without prepacking first."""
    return [GemmCase(gemm_shape(name), prepacked, dtype=dtype) for prepacked in packings for name in names]


def _parts(extent: int, size: int) -> Iterator[slice]:
    return (slice(begin, begin + size) for begin in range(0, extent, size))
