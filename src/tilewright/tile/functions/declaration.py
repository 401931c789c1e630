"""What a function of floats is: its name, its meaning in NumPy, its tile operations and its price.

A module of this folder that lists such functions as `DECLARED` adds them to graphs, prices, traced programs and tile programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.records import record
from tilewright.tile.program import Value


@record(eq=False)
class Declared:
    """A function of one or two floats whose result is NaN wherever an operand is."""

    name: str
    """In graphs and in traced programs."""
    numpy: Callable[..., Any]
    """What it means: of arrays, with broadcasting."""
    floats: Callable[..., Value]
    """Of a builder and values of float32 or float64: the value."""
    summary: str
    """What traced programs say of it: "The sine of x"."""
    cycles: float
    """Throughput of a vector of float32 in L1, less a load and a store, on machines with AVX-512 (measured; docs/kernels.md)."""
    arity: int = 1


def in_float64(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that is computed in float64, and has results of the operand's floating-point type (float64 for integers).

    >>> in_float64(np.sqrt)(np.float32(4)), in_float64(np.sqrt)(np.int8(4))
    (np.float32(2.0), np.float64(2.0))
    """

    def evaluate(x: Any) -> Any:
        x = np.asarray(x)
        dtype = x.dtype if np.issubdtype(x.dtype, np.floating) else np.float64
        with np.errstate(all="ignore"):
            return np.asarray(function(x.astype(np.float64)), np.float64).astype(dtype)[()]

    return evaluate


def by_elements(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function of Python's numbers, of the elements of arrays of float64."""
    ufunc = np.frompyfunc(function, 1, 1)
    return lambda x: np.asarray(ufunc(x), np.float64)


def logistic(x: Any) -> Any:
    """1 / (1 + e**-x), of float64; no digits are lost in the tails."""
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1) / (1 + power)
