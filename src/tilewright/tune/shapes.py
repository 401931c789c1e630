"""The batch GEMM chains of Chimera's Table IV, by the names that the command line and the benchmarks go by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChainShape:
    """(batch, m, k) x (batch, k, l), then (batch, m, l) x (batch, l, n); all extents in elements."""

    name: str
    batch: int
    m: int
    n: int
    k: int
    l: int  # noqa: E741 the paper's name
    network: str = ""
    """That it is of."""

    @property
    def operands(self) -> tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]]:
        """The shapes of the three inputs."""
        return (self.batch, self.m, self.k), (self.batch, self.k, self.l), (self.batch, self.l, self.n)

    @property
    def flops(self) -> int:
        """Of both products; a multiply and an add count as two.

        >>> chain_shape("G2").flops
        805306368
        """
        return 2 * self.batch * self.m * self.l * (self.k + self.n)

    @property
    def moved_bytes(self) -> int:
        """What has to be read and written at least: the three inputs and the result, in float32."""
        return 4 * self.batch * (self.m * self.k + self.k * self.l + self.l * self.n + self.m * self.n)


TABLE_IV = (
    ChainShape("G1", 8, 512, 64, 64, 512, "BERT"),
    ChainShape("G2", 12, 512, 64, 64, 512, "BERT"),
    ChainShape("G3", 16, 512, 64, 64, 512, "BERT"),
    ChainShape("G4", 12, 256, 64, 64, 256, "ViT"),
    ChainShape("G5", 16, 256, 64, 64, 256, "ViT"),
    ChainShape("G6", 16, 256, 80, 80, 256, "ViT"),
    ChainShape("G7", 12, 208, 64, 64, 208, "ViT"),
    ChainShape("G8", 16, 208, 64, 64, 208, "ViT"),
    ChainShape("G9", 16, 208, 80, 80, 208, "ViT"),
    ChainShape("G10", 1, 512, 64, 64, 256, "MLP-Mixer"),
    ChainShape("G11", 1, 768, 64, 64, 384, "MLP-Mixer"),
    ChainShape("G12", 1, 1024, 64, 64, 512, "MLP-Mixer"),
)
"""Batch GEMM chains of BERT, ViT and MLP-Mixer (Zheng et al., Chimera, HPCA 2023, Table IV)."""


def chain_shape(name: str) -> ChainShape:
    """The row of Table IV with that name; `KeyError` if there is none."""
    return {shape.name: shape for shape in TABLE_IV}[name]
