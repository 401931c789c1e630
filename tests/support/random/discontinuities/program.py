"""A program, with what is known of every value: whether it is exact, and how large rounding errors may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.support.random.onnx.program import Program, Value

Array = np.ndarray[Any, np.dtype[Any]]
ROUNDINGS = 1e-5
"""Of the largest numbers that led to a value: how far it may be off where no discontinuous function reads it."""


@dataclass(frozen=True, eq=False)
class Known(Value):
    """A value as NumPy computes it."""

    is_exact: bool = True
    """Whether it has these bits, if every operator before it rounds as it is defined: a discontinuous function may read it."""
    is_discrete: bool = True
    """Whether it has these bits wherever it is read: it is given, or what discontinuous functions made, or a choice of such."""
    scale: float = 1.0
    """A bound on the magnitudes that led to it."""

    @property
    def array(self) -> Array:
        return self.arrays[0]


@dataclass(frozen=True, eq=False)
class Chosen(Program):
    """A program, and how it is computed."""

    precision: str = "float32"
    way: str = "session"
    """`session`, `jit`, or `rewrites`, behind which the interpreter computes."""

    def text(self) -> str:
        return f"# {self.way}, precision {self.precision!r}\n{super().text()}"


def difference(result: Any, value: Known) -> str:
    """How a result is wrong; nothing if it is not."""
    result, wanted = np.asarray(result), value.array
    if (result.dtype, result.shape) != (wanted.dtype, wanted.shape):
        return f"{result.dtype}{result.shape} is not {wanted.dtype}{wanted.shape}"
    if value.is_discrete or wanted.dtype.kind != "f":
        wrong = result != wanted
    else:
        wrong = ~(np.abs(result - wanted) <= ROUNDINGS * value.scale)
    if not wrong.any():
        return ""
    return f"{wrong.sum()} of {wanted.size} elements differ, such as {result[wrong][0]} from {wanted[wrong][0]}"
