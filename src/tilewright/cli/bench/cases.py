"""What is measured: an operation with its data, and the float64 result that everyone is held against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np

from tilewright.cli.bench.required import Required
from tilewright.cli.shapes import ChainShape, GemmShape

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
DoubleArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
TOLERANCE = 1e-4
"""Of the largest error over the largest result. Sums of up to 512 float32 products differ by some 1e-6 between any two orders."""
SEED = 20240229
LINE_BYTES = 64
REFERENCE_ELEMENTS = 1 << 25
"""At most so many of the left operand are converted to float64 at a time: the largest one has 2 GB in float32."""
PACKINGS = {False: "nothing prepacked", True: "constant right-hand sides, prepacked where a contender can"}


class Case(Protocol):
    """What the harness needs to know."""

    @property
    def name(self) -> str:
        """Its row."""
        ...

    @property
    def table(self) -> str:
        """The title of the table that the row is in."""
        ...

    @property
    def prepacked(self) -> bool:
        """Whether all operands but the first are constants, known when the contenders are prepared."""
        ...

    @property
    def flops(self) -> int:
        """Of one execution; a multiply and an add count as two."""
        ...

    @property
    def moved_bytes(self) -> int:
        """Inputs and result, each once."""
        ...

    @property
    def required(self) -> Required | None:
        """What it must reach; None where that is not the case's to say."""
        ...

    @property
    def even(self) -> str:
        """The name of the case of even sizes whose share must be kept; empty for all others."""
        ...

    def error(self, result: np.ndarray[Any, Any]) -> float:
        """The largest difference to the reference, relative to its largest magnitude; infinite for another shape or NaN."""
        ...


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


def aligned(shape: tuple[int, ...]) -> FloatArray:
    """Uninitialised memory that begins at a multiple of 64 bytes."""
    size_bytes = 4 * int(np.prod(shape))
    room = np.empty(size_bytes + LINE_BYTES, np.uint8)
    skipped = -room.ctypes.data % LINE_BYTES
    return room[skipped : skipped + size_bytes].view(np.float32).reshape(shape)


def relative_error(result: np.ndarray[Any, Any], reference: DoubleArray) -> float:
    """The largest difference, relative to the reference's largest magnitude; infinite for another shape or NaN."""
    if result.shape != reference.shape or not np.isfinite(result).all():
        return float("inf")
    return float(np.abs(result - reference).max() / np.abs(reference).max())


def _parts(extent: int, size: int) -> Iterator[slice]:
    return (slice(begin, begin + size) for begin in range(0, extent, size))
