"""The sizes of the single products that `tilewright bench gemm` measures."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GemmShape:
    """(m, k) x (k, n); all extents in elements."""

    m: int
    n: int
    k: int

    @property
    def name(self) -> str:
        """The extents in the order of the source's table.

        >>> GemmShape(2048, 1, 128).name
        '2048x1x128'
        """
        return f"{self.m}x{self.n}x{self.k}"

    @property
    def is_square(self) -> bool:
        """Whether it is one of the small squares, whose time is that of the kernel alone."""
        return self in SQUARES

    @property
    def operands(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The shapes of the two inputs."""
        return (self.m, self.k), (self.k, self.n)

    @property
    def flops(self) -> int:
        """A multiply and an add count as two."""
        return 2 * self.m * self.n * self.k

    @property
    def moved_bytes(self) -> int:
        """What has to be read and written at least: both inputs and the result, in float32."""
        return 4 * (self.m * self.k + self.k * self.n + self.m * self.n)


TABLE_1 = (
    GemmShape(128, 2048, 4096),
    GemmShape(320, 3072, 4096),
    GemmShape(1632, 36548, 1024),
    GemmShape(2048, 4096, 32),
    GemmShape(1024, 16, 500000),
    GemmShape(35, 8457, 2560),
    GemmShape(31999, 1024, 84),
    GemmShape(84, 1024, 4096),
    GemmShape(2048, 1, 128),
    GemmShape(256, 256, 2048),
)
"""M N K of deep learning (Tavarageri et al., AI Powered Compiler Techniques for DL Code Optimization, 2021, Table 1)."""

SQUARES = tuple(GemmShape(extent, extent, extent) for extent in (16, 32, 48, 64, 96, 128))


SEED, DRAWN_COUNT, LEAST, MOST = 46, 8, 8, 2048


def _drawn() -> Iterator[GemmShape]:
    """Extents whose logarithms are evenly distributed."""
    generator = random.Random(SEED)
    for _ in range(DRAWN_COUNT):
        m, n, k = (round(LEAST * (MOST / LEAST) ** generator.random()) for _ in range(3))
        yield GemmShape(m, n, k)


DRAWN = tuple(_drawn())
"""What fills the list up to 24 products for the other element types."""


def gemm_shape(name: str) -> GemmShape:
    """The GEMM of that name; `KeyError` if there is none."""
    return {shape.name: shape for shape in (*TABLE_1, *SQUARES, *DRAWN)}[name]
