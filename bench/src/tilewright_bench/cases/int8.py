"""Products of bytes as cases: operands, the exact reference, and the ONNX model of those that read one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tilewright_bench.cases.case import SEED, DoubleArray, integers, relative_error
from tilewright_bench.cases.int8_shapes import Int8Shape
from tilewright_bench.cases.onnx_model import one_node
from tilewright_bench.cases.required import Required

ZERO = 128
"""Of the left operand; the right one is symmetric."""
SATURATED_ROWS = 4
"""Of the left operand, by which saturation is recognised."""


@dataclass(frozen=True)
class Int8Case:
    """One product c = (a - 128) b of unsigned a with constant signed b."""

    shape: Int8Shape
    weight_bits: int = 8
    """Of 7 bits are weights that tools make for machines whose sums of bytes saturate (`reduce_range`)."""
    prepacked: bool = True
    even: str = ""

    @property
    def table(self) -> str:
        """By the range of the weights, and whether peers know them ahead."""
        lowest, highest = self.weight_range
        weights = "prepacked weights" if self.prepacked else "row-major weights (ours prepacked)"
        return f"u8 x s8 products (M x N x K), zero point of the left operand, {weights} from {lowest} to {highest}"

    @property
    def weight_range(self) -> tuple[int, int]:
        """The least and the largest weight: all of 7 bits, or of 8 as symmetric quantisation makes them."""
        return (-64, 63) if self.weight_bits == 7 else (-127, 127)

    @property
    def required(self) -> Required | None:
        """For few rows reading the weights binds, for many the arithmetic; prepacked weights are what they gain over others."""
        if self.weight_bits != 7:
            return None
        if not self.prepacked:
            return Required(ratio=1.40)
        if self.shape.m == 1:
            return Required(read_share=0.85, ratio=0.97, mean=1.08)
        if self.shape.m == 4:
            return Required(share=0.75, read_share=0.85, either=True, ratio=0.97, mean=1.08)
        return Required(share=0.88, ratio=0.97, mean=1.08)

    @property
    def name(self) -> str:
        """The shape's name."""
        return self.shape.name

    @property
    def flops(self) -> int:
        """Of the product."""
        return self.shape.flops

    @property
    def moved_bytes(self) -> int:
        """Both inputs and the result, each once."""
        return self.shape.moved_bytes

    @cached_property
    def operands(self) -> tuple[np.ndarray[Any, np.dtype[np.uint8]], np.ndarray[Any, np.dtype[np.int8]]]:
        """Bytes of the whole range, weights of theirs, the same in every run."""
        generator = np.random.default_rng(SEED)
        a = integers((self.shape.m, self.shape.k), 0, 255, np.uint8, generator)
        return a, integers((self.shape.k, self.shape.n), *self.weight_range, np.int8, generator)

    @property
    def result_type(self) -> type:
        """32 bits."""
        return np.int32

    @property
    def result_shape(self) -> tuple[int, int]:
        """(m, n)."""
        return self.shape.m, self.shape.n

    @cached_property
    def reference(self) -> DoubleArray:
        """The exact result: all partial sums are integers below 2**53."""
        a, b = (operand.astype(np.float64) for operand in self.operands)
        return (a - ZERO) @ b

    @cached_property
    def model(self) -> bytes:
        """MatMulInteger from "a" to "c", the weights being an initializer."""
        a, b = self.operands
        constants: dict[str, np.ndarray[Any, Any]] = {"b": b, "zero": np.array(ZERO, np.uint8)}
        return one_node("MatMulInteger", a, constants, self.result_shape, np.int32)

    def error(self, result: np.ndarray[Any, Any]) -> float:
        """The largest difference to the reference, relative to its largest magnitude; infinite for another shape or NaN."""
        return relative_error(result, self.reference)

    def saturated_error(self, result: np.ndarray[Any, Any]) -> float:
        """Of the first rows, to sums of two neighbours along k that saturate in 16 bits, as `vpmaddubsw` makes them."""
        a, b = (operand.astype(np.int32) for operand in self.operands)
        expected, rows = saturated_product(a[:SATURATED_ROWS], b) - ZERO * b.sum(0), result[:SATURATED_ROWS]
        if rows.shape != expected.shape:
            return float("inf")
        return float(np.abs(rows - expected).max() / np.abs(self.reference).max())


def saturated_product(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """a @ b of 32-bit integers, where every two products along k, from the first on, are added up in 16 bits with saturation.

    >>> saturated_product(np.array([[255, 255, 1]]), np.array([[127], [127], [5]]))
    array([[32772]])
    """
    limits, total = np.iinfo(np.int16), np.zeros((len(a), b.shape[1]), np.int64)
    for first in range(0, b.shape[0], 2):
        pair = a[:, first : first + 2] @ b[first : first + 2]
        total += np.clip(pair, limits.min, limits.max)
    return total


def int8_cases(shapes: Sequence[Int8Shape], weight_bits: Sequence[int] = (7, 8), *, prepacked: bool = True) -> list[Int8Case]:
    """The cases of these shapes, for weights of so many bits one after the other."""
    return [Int8Case(shape, bits, prepacked) for bits in weight_bits for shape in shapes]
