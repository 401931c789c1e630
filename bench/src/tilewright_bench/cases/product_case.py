"""Products with constant right-hand sides as cases: what they have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tilewright_bench.cases.int8_shapes import Int8Shape

Array = np.ndarray[Any, np.dtype[Any]]


class OneNodeCase(Protocol):
    """A case that those who read models compute: "a" to "c"."""

    @property
    def operands(self) -> tuple[Array, Array]:
        """Of which the first is the input."""
        ...

    @property
    def result_shape(self) -> tuple[int, int]:
        """Of "c"."""
        ...

    @property
    def result_type(self) -> type:
        """Of its elements."""
        ...

    @property
    def flops(self) -> int:
        """Of the product."""
        ...

    @property
    def model(self) -> bytes:
        """The model."""
        ...


@dataclass(frozen=True)
class ProductCase:
    """One product of a table."""

    shape: Int8Shape

    @property
    def name(self) -> str:
        """The shape's name."""
        return self.shape.name

    @property
    def prepacked(self) -> bool:
        """The right-hand side is known ahead."""
        return True

    @property
    def even(self) -> str:
        """No counterpart."""
        return ""

    @property
    def flops(self) -> int:
        """Of the product."""
        return self.shape.flops

    @property
    def result_shape(self) -> tuple[int, int]:
        """(m, n)."""
        return self.shape.m, self.shape.n


def beyond(result: Array, reference: Array, allowed: Array | float) -> float:
    """How far a result is from the reference beyond an allowed distance, relative to the reference's largest magnitude.

    Infinite for another shape, or where something is not finite.

    >>> float(beyond(np.array([1.0, 2.5]), np.array([1.1, 2.0]), 0.25))
    0.125
    """
    if result.shape != reference.shape or not np.isfinite(result).all():
        return float("inf")
    return float(np.maximum(np.abs(result - reference) - allowed, 0).max() / np.abs(reference).max())
