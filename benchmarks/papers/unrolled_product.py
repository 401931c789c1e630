"""Speeds of generated products: compiled once per choice of factors, checked against NumPy, and timed on one core."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.papers.unrolled_text import generated
from tilewright.errors import InternalError
from tilewright.kernels.dialects.description import VectorDialect
from tilewright.kernels.registry import dialect_for
from tilewright.machine.machine import Machine
from tilewright.runtime.compilation import toolchain
from tilewright.tune.timing import seconds_per_call
from tilewright.tune.unroll.searches import Factors, Registers

EXPORT = '#define EXPORT __attribute__((visibility("default")))\n'
REPEATED = """
EXPORT void repeated(
    long times, long m, long n, long k, const float *a, long a_row, const float *b, long b_row, float *c, long c_row) {
  for (; times; times--) unrolled_product(m, n, k, a, a_row, b, b_row, c, c_row);
}
"""
"""Calls from Python take a microsecond, as long as a product of 32 x 32 x 32."""
REPEATED_FLOPS = 2e6
"""Of one call from Python at least."""
TURN_S, TURNS = 2e-3, 7
TOLERANCE = 1e-5


@dataclass(frozen=True)
class GeneratedProduct:
    """C += A B of one size on one machine, for any factors."""

    rows: int
    columns: int
    depth: int
    machine: Machine
    _directory: TemporaryDirectory[str] = field(
        default_factory=lambda: TemporaryDirectory(prefix="tilewright-unroll-"), repr=False
    )

    @property
    def registers(self) -> Registers:
        """Of the widest vectors."""
        return Registers(self.dialect.registers, self.dialect.lanes)

    @cached_property
    def dialect(self) -> VectorDialect:
        """Of the widest vectors."""
        return dialect_for(self.machine.architecture, self.machine.features)

    @cached_property
    def operands(self) -> tuple[Any, Any, Any]:
        """A, B, and the sums that C begins with."""
        source = np.random.default_rng(20240229)
        shapes = (self.rows, self.depth), (self.depth, self.columns), (self.rows, self.columns)
        first, second, third = (source.standard_normal(shape, np.float32) for shape in shapes)
        return first, second, third

    def function(self, factors: Factors) -> Any:
        """The compiled product, with the number of times that it is computed as its first argument."""
        text = f"{EXPORT}{generated(factors, self.dialect.lanes)}{REPEATED}"
        path = Path(self._directory.name) / f"{factors.rows}-{factors.columns}-{factors.steps}.so"
        architecture, features = self.machine.architecture, self.dialect.features
        path.write_bytes(toolchain.find().compile(text, architecture=architecture, features=features))
        product = ctypes.CDLL(str(path)).repeated
        product.restype = None
        return product

    def speed(self, factors: Factors) -> float:
        """Flops per second, the best of some turns. Raises `InternalError` for a wrong result."""
        product, (a, b, start) = self.function(factors), self.operands
        c = start.copy()
        arguments = self._arguments(a, b, c)
        product(ctypes.c_long(1), *arguments)
        wanted = start.astype(np.float64) + a.astype(np.float64) @ b
        if np.abs(c - wanted).max() > TOLERANCE * self.depth * np.abs(wanted).max():
            raise InternalError(f"the product unrolled by {tuple(factors)} is wrong")
        flops = 2 * self.rows * self.columns * self.depth
        times = 1 + int(REPEATED_FLOPS / flops)
        count = ctypes.c_long(times)
        best_s = min(seconds_per_call(lambda: product(count, *arguments), TURN_S) for _ in range(TURNS))
        return times * flops / best_s

    def _arguments(self, a: Any, b: Any, c: Any) -> tuple[Any, ...]:
        sizes = (ctypes.c_long(size) for size in (self.rows, self.columns, self.depth))
        matrices = [(ctypes.c_void_p(x.ctypes.data), ctypes.c_long(x.shape[1])) for x in (a, b, c)]
        return (*sizes, *(argument for matrix in matrices for argument in matrix))
