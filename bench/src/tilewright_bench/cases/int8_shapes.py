"""The sizes of the products of bytes that `tilewright bench int8` measures."""

from __future__ import annotations

from dataclasses import dataclass

ROWS = (1, 4, 16, 64, 256)
WEIGHTS = ((512, 512), (1024, 1024), (2048, 512), (4096, 1024), (768, 3072))
"""(n, k): square layers, and those of feed-forward networks and vocabularies."""


@dataclass(frozen=True, slots=True)
class Int8Shape:
    """(m, k) bytes x (k, n) bytes to (m, n) integers of 32 bits; all extents in elements."""

    m: int
    n: int
    k: int

    @property
    def name(self) -> str:
        """The extents.

        >>> Int8Shape(64, 768, 3072).name
        '64x768x3072'
        """
        return f"{self.m}x{self.n}x{self.k}"

    @property
    def flops(self) -> int:
        """A multiply and an add of integers count as two."""
        return 2 * self.m * self.n * self.k

    @property
    def moved_bytes(self) -> int:
        """Both inputs and the result, each once."""
        return self.m * self.k + self.k * self.n + 4 * self.m * self.n


SHAPES = tuple(Int8Shape(m, n, k) for m in ROWS for n, k in WEIGHTS)
QUICK = tuple(Int8Shape(m, *WEIGHTS[0]) for m in (1, 64))
"""Enough to see that everybody takes part."""


def int8_shape(name: str) -> Int8Shape:
    """The product of that name; `KeyError` if there is none."""
    return {shape.name: shape for shape in SHAPES}[name]
