"""The chains of convolutions that `tilewright bench conv-chains` measures."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal, TypeAlias

from tilewright.tune.shapes import TABLE_V, ConvChainShape
from tilewright_bench.cases.conv_shapes import ConvShape, conv

Activation: TypeAlias = Literal["", "relu", "relu6"]


@dataclass(frozen=True, slots=True)
class ConvChain:
    """Convolutions of one image in NCHW, each padded by half a window, with an activation behind each of them."""

    name: str
    convolutions: tuple[ConvShape, ...]
    activations: tuple[Activation, ...]
    biased: bool = True
    residual: bool = False
    """Whether the image is added to the last result, which has its shape."""

    @property
    def image_shape(self) -> tuple[int, ...]:
        """(1, channels, height, width)."""
        return self.convolutions[0].image_shape

    @property
    def result_shape(self) -> tuple[int, ...]:
        """(1, filters, height, width) of the last convolution."""
        return self.convolutions[-1].result_shape

    @property
    def flops(self) -> int:
        """Of the convolutions, taps on padding included; a multiply and an add count as two.

        >>> conv_chain("C3").flops
        513802240
        """
        return sum(convolution.flops for convolution in self.convolutions)

    @property
    def moved_bytes(self) -> int:
        """Image, filters, biases and the last result, each once, in float32."""
        weights = sum(prod(one.filter_shape) + one.filters * self.biased for one in self.convolutions)
        return 4 * (prod(self.image_shape) + weights + prod(self.result_shape))


def of_table_v(shape: ConvChainShape, *, with_relu: bool) -> ConvChain:
    """A row of Chimera's Table V: no biases, and relu in between or nothing."""
    (channels, *_), (middle, last) = shape.image, shape.channels
    (first_kernel, second_kernel), (first_stride, second_stride) = shape.kernels, shape.strides
    first = conv(channels, middle, shape.image[1:], first_kernel, stride=first_stride)
    second = conv(middle, last, first.output, second_kernel, stride=second_stride)
    name = f"{shape.name}_relu" if with_relu else shape.name
    return ConvChain(name, (first, second), ("relu" if with_relu else "", ""), biased=False)


def inverted_residual(channels: int, image: int, hidden: int, *, out: int | None = None, stride: int = 1) -> ConvChain:
    """A block of MobileNetV2 (Sandler et al., MobileNetV2, section 3.3): the image is expanded, filtered by depth and
    projected, and added where the shape stays."""
    expanding = conv(channels, hidden, image, 1)
    filtering = conv(hidden, hidden, image, 3, stride=stride, groups=hidden)
    projecting = conv(hidden, out or channels, filtering.output, 1)
    activations: tuple[Activation, ...] = ("relu6", "relu6", "")
    return ConvChain(f"residual_{channels}_{image}", (expanding, filtering, projecting), activations, residual=out is None)


CHIMERA = tuple(of_table_v(shape, with_relu=with_relu) for with_relu in (False, True) for shape in TABLE_V)
RESIDUALS = (
    inverted_residual(16, 112, 96, out=24, stride=2),
    inverted_residual(24, 56, 144),
    inverted_residual(32, 28, 192),
    inverted_residual(64, 14, 384),
    inverted_residual(96, 14, 576),
    inverted_residual(160, 7, 960),
)
LARGE_IMAGE = (540, 960)
LARGE = (
    ConvChain("conv1x1_pair", (conv(64, 64, LARGE_IMAGE, 1),) * 2, ("relu", "relu")),
    ConvChain("conv3x3_1x1", (conv(16, 32, LARGE_IMAGE, 3), conv(32, 16, LARGE_IMAGE, 1)), ("relu", "relu")),
)
TABLES = {
    "convolution chains of Chimera's Table V, plain and with relu": CHIMERA,
    "inverted residuals of MobileNetV2": RESIDUALS,
    "chains of an image of 540 x 960": LARGE,
}
SHAPES = tuple(shape for shapes in TABLES.values() for shape in shapes)


def conv_chain(name: str) -> ConvChain:
    """The one of that name; `KeyError` if there is none."""
    return {shape.name: shape for shape in SHAPES}[name]
