"""Chimera's chains of batch GEMMs (Table IV) and of convolutions (Table V), by the names that commands and benchmarks go by."""

from __future__ import annotations

from typing import TypeAlias

from tilewright.records import record

Shape: TypeAlias = tuple[int, ...]


@record
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


@record
class ConvChainShape:
    """Two square convolutions of one image, padded by half a window; all extents in elements."""

    name: str
    image: tuple[int, int, int]
    """(channels, height, width)."""
    channels: tuple[int, int]
    """Of both results; in the paper OC1 and OC2."""
    strides: tuple[int, int]
    kernels: tuple[int, int]

    @property
    def paddings(self) -> tuple[int, int]:
        """Zeros on every side of both images."""
        first, second = self.kernels
        return first // 2, second // 2

    @property
    def filters(self) -> tuple[Shape, Shape]:
        """The shapes of both convolutions' filters: (results, channels, taps, taps).

        >>> conv_chain_shape("C1").filters
        ((192, 64, 3, 3), (128, 192, 1, 1))
        """
        (seen, *_), (middle, last), (first, second) = self.image, self.channels, self.kernels
        return (middle, seen, first, first), (last, middle, second, second)


TABLE_V = (
    ConvChainShape("C1", (64, 112, 112), channels=(192, 128), strides=(2, 1), kernels=(3, 1)),
    ConvChainShape("C2", (32, 147, 147), channels=(64, 80), strides=(2, 1), kernels=(3, 1)),
    ConvChainShape("C3", (64, 56, 56), channels=(128, 64), strides=(1, 1), kernels=(3, 1)),
    ConvChainShape("C4", (128, 28, 28), channels=(256, 128), strides=(1, 1), kernels=(3, 1)),
    ConvChainShape("C5", (16, 227, 227), channels=(64, 16), strides=(4, 1), kernels=(3, 1)),
    ConvChainShape("C6", (64, 56, 56), channels=(64, 64), strides=(1, 1), kernels=(1, 3)),
    ConvChainShape("C7", (64, 56, 56), channels=(64, 64), strides=(1, 1), kernels=(1, 1)),
    ConvChainShape("C8", (256, 56, 56), channels=(256, 64), strides=(1, 1), kernels=(1, 1)),
)
"""Convolution chains of real networks (Zheng et al., Chimera, HPCA 2023, Table V), which names no padding: half a window here."""


def conv_chain_shape(name: str) -> ConvChainShape:
    """The row of Table V with that name; `KeyError` if there is none."""
    return {shape.name: shape for shape in TABLE_V}[name]
