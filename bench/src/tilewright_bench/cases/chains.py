"""Chains of Table IV as cases: operands, and the float64 reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tilewright.tune.shapes import ChainShape, chain_shape
from tilewright_bench.cases.case import PACKINGS, SEED, DoubleArray, FloatArray, aligned, relative_error
from tilewright_bench.cases.required import Required

KINDS = {"plain": (False,), "softmax": (True,), "both": (False, True)}


@dataclass(frozen=True)
class ChainCase:
    """One chain of Table IV, plain or with a softmax over l between the products, and its operands."""

    shape: ChainShape
    softmax: bool
    prepacked: bool = False
    required: Required | None = None
    even: str = ""

    @property
    def name(self) -> str:
        """The shape's name; the table says whether there is a softmax."""
        return self.shape.name

    @property
    def table(self) -> str:
        """By softmax and packing."""
        return f"{'chains with softmax' if self.softmax else 'plain chains'}, {PACKINGS[self.prepacked]}"

    @property
    def flops(self) -> int:
        """Of both products."""
        return self.shape.flops

    @property
    def moved_bytes(self) -> int:
        """The three inputs and the result, each once."""
        return self.shape.moved_bytes

    @cached_property
    def operands(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Standard normal data, the first operand scaled by 1/sqrt(k) as attention does; the same in every run."""
        generator = np.random.default_rng(SEED)
        a, b, d = (aligned(shape) for shape in self.shape.operands)
        for operand in (a, b, d):
            generator.standard_normal(dtype=np.float32, out=operand)
        a /= np.float32(np.sqrt(self.shape.k))
        return a, b, d

    @property
    def result_shape(self) -> tuple[int, int, int]:
        """(batch, m, n)."""
        return self.shape.batch, self.shape.m, self.shape.n

    @cached_property
    def reference(self) -> DoubleArray:
        """The result in float64."""
        a, b, d = (operand.astype(np.float64) for operand in self.operands)
        scores = a @ b
        if self.softmax:
            np.exp(scores - scores.max(axis=-1, keepdims=True), out=scores)
            scores /= scores.sum(axis=-1, keepdims=True)
        return scores @ d

    def error(self, result: np.ndarray[Any, Any]) -> float:
        """The largest difference to the reference, relative to its largest magnitude; infinite for another shape or NaN."""
        return relative_error(result, self.reference)


def chain_cases(names: Sequence[str], kind: str, packings: Sequence[bool]) -> list[ChainCase]:
    """Every case in the order of measurement: the plain ones first, of each kind those without prepacking first."""
    return [
        ChainCase(chain_shape(name), softmax, prepacked) for softmax in KINDS[kind] for prepacked in packings for name in names
    ]
