"""The sizes of the products of integers that `tilewright bench int8` measures."""

from __future__ import annotations

from dataclasses import dataclass

ROWS = (1, 4, 16, 64, 256)
WEIGHTS = ((512, 512), (1024, 1024), (2048, 512), (4096, 1024), (768, 3072))
"""(n, k): square layers, and those of feed-forward networks and vocabularies."""


@dataclass(frozen=True, slots=True)
class Int8Shape:
    """(m, k) x (k, n) to (m, n); all extents in elements. Bytes are counted for bytes, and results of 32 bits."""

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


def shape_named(name: str) -> Int8Shape:
    """The shape of the name `MxNxK`.

    >>> shape_named("64x768x3072")
    Int8Shape(m=64, n=768, k=3072)
    """
    return Int8Shape(*map(int, name.split("x")))


FEW_ROWS = 16
"""Of unpacked calls at most, of 16-bit products at least."""
DECODER_ROWS, DECODER_WEIGHTS = (1, 4, 16), ((2048, 2048), (5632, 2048), (2048, 5632))
"""(n, k) of a small Llama's layers."""
SHAPES = tuple(Int8Shape(m, n, k) for m in ROWS for n, k in WEIGHTS)
DECODER_SHAPES = tuple(Int8Shape(m, n, k) for m in DECODER_ROWS for n, k in DECODER_WEIGHTS)
QUICK = (*(Int8Shape(m, *WEIGHTS[0]) for m in (1, 64)), DECODER_SHAPES[0])
"""Enough to see that everybody takes part."""

CASE_NAMES = tuple(shape.name for shape in (*SHAPES, *DECODER_SHAPES))
QUICK_NAMES = tuple(shape.name for shape in QUICK)
TABLE_NAMES = ("prepacked", "unpacked", "dynamic", "s16", "nbits")
"""Of the report."""
