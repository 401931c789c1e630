"""Operands of a micro kernel in guarded memory: where the contract says that every element lies, for any declaration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

import ml_dtypes
import numpy as np

from tests.support.guarded import GuardedMemory
from tilewright.dtypes import dtype_named
from tilewright.kernels import MicroKernel

Array = np.ndarray[tuple[int, ...], Any]
Strides = Mapping[str, int]
"""Of every operand, by the names of the ABI."""


def is_float(element_type: str) -> bool:
    """Whether elements are floating-point numbers."""
    return "float" in element_type


def precision(dtype: np.dtype[Any]) -> Any:
    """The limits of a floating-point type, as of `numpy.finfo`."""
    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


class Operand:
    """Elements somewhere in memory: `index` says where each lies, `padding` where there are zeros.

    Memory that holds no element is NaN, or noise among integers, with guard pages around. A later operand of the same `role` lies
    in the same memory.
    """

    def __init__(self, role: str, index: Array, padding: Array, element_type: str, at_end: bool) -> None:
        places, dtype = np.concatenate([index.ravel(), padding.ravel()]), dtype_named(element_type)
        lowest, highest = (int(places.min()), int(places.max())) if places.size else (0, -1)
        count = highest - lowest + 1
        memory = _guarded(role, (count * dtype.itemsize).bit_length())
        self.memory = memory.place(count, at_end=at_end, dtype=dtype)
        noise = np.random.default_rng(0).integers(0, 256, self.memory.nbytes, np.uint8).view(self.memory.dtype)
        self.memory[:] = np.nan if is_float(element_type) else noise
        self.memory[padding - lowest] = 0
        self.address = self.memory.ctypes.data - self.memory.itemsize * lowest
        self.index = index - lowest
        self.at_end = at_end

    def fill(self, values: Array) -> Array:
        """Write the elements; where several lie in one place the last one written counts. Returns what the elements are."""
        self.memory[self.index] = values
        return self.read()

    def read(self) -> Array:
        """The elements."""
        elements: Array = self.memory[self.index]
        return elements


@cache
def _guarded(role: str, size_bits: int) -> GuardedMemory:
    return GuardedMemory(1 << size_bits)


def left_index(counts: Sequence[int], m: int, strides: Strides) -> Array:
    """Where A[i, p] lies: steps of all reduction loops, `counts` of them from the innermost on, are numbered together."""
    return np.add.outer(np.arange(m) * strides["a_row"], _steps(counts, strides["a_column"], "a", strides))


def right_index(kernel: MicroKernel, counts: Sequence[int], n: int, strides: Strides) -> tuple[Array, Array]:
    """Where B[p, j] lies, and the zeros that fill up its last groups of steps."""
    h = kernel.interleave
    if kernel.right_by_columns:
        return np.add.outer(_steps(counts, 1, "b", strides), np.arange(n) * strides["b_row"]), np.zeros(0, int)
    k = counts[0]
    p = np.arange(-(-k // h) * h)
    inner = p // h * strides["b_row"] + p % h
    outer = _steps((1, *counts[1:]), 0, "b", strides)
    index, padding = (np.add.outer(outer, part).reshape(-1) for part in (inner[:k], inner[k:]))
    return np.add.outer(index, np.arange(n) * h), np.add.outer(padding, np.arange(n) * h)


def target_index(m: int, n: int, strides: Strides) -> Array:
    """Where C[i, j] lies."""
    return np.add.outer(np.arange(m) * strides["c_row"], np.arange(n))


def _steps(counts: Sequence[int], innermost: int, operand: str, strides: Strides) -> Array:
    """The offset of every step of all reduction loops, in the order of the sum."""
    offsets = np.arange(counts[0]) * innermost
    for number, count in enumerate(counts[1:], 1):
        offsets = np.add.outer(np.arange(count) * strides[f"{operand}_step_{number}"], offsets).reshape(-1)
    return offsets


def layouts(kernel: MicroKernel, counts: Sequence[int], m: int, n: int) -> Iterator[Strides]:
    """Row-major operands, then transposed, padded, overlapping, broadcast and reversed ones."""
    total, groups = prod(counts), -(-counts[0] // kernel.interleave)
    inner = list(accumulate(counts, mul, initial=1))[1:-1]
    by_columns = kernel.right_by_columns
    across = total if by_columns else n * kernel.interleave
    block = 1 if by_columns else across * groups
    outer = inner if by_columns else [block * step // max(counts[0], 1) for step in inner]

    def strides(a_row: int, a_column: int, a_steps: Sequence[int], b_row: int, b_steps: Sequence[int], c_row: int) -> Strides:
        found = {"a_row": a_row, "a_column": a_column, "b_row": b_row, "c_row": c_row}
        found |= {f"a_step_{i}": step for i, step in enumerate(a_steps, 1)}
        return found | {f"b_step_{i}": step for i, step in enumerate(b_steps, 1)}

    windows = [1] * len(inner)
    yield strides(total, 1, inner, across, outer, n)
    yield strides(1, m, [m * step for step in inner], across + 3, [step + 7 for step in outer], n + 5)
    yield strides(total + 5, 1, windows, -across, [-step for step in outer], -n)
    yield strides(0, 1, inner, 0, [0] * len(outer), n)
    yield strides(-total - 1, 1, [-step for step in inner], across, outer, n + 1)
    yield strides(3 * total, 3, [3 * step for step in inner], 2 * across, [2 * step for step in outer], n)
    yield strides(1, 0, [0] * len(inner), across, outer, n)
    yield strides(1, -m, [m * step for step in inner], across, [0] * len(outer), n)
