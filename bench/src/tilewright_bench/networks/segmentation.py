"""DeepLabv3 on ResNet-50: L.-C. Chen et al., arXiv:1706.05587, with an output stride of 8; K. He et al., arXiv:1512.03385."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright_bench.networks.builder import Builder

STAGES = ((64, 3, 1, 1), (128, 4, 2, 1), (256, 6, 1, 2), (512, 3, 1, 4))
"""Channels, blocks, stride and dilation."""
RATES = (12, 24, 36)


def deeplab(
    *,
    size: int = 520,
    stem: int = 64,
    stages: Sequence[tuple[int, int, int, int]] = STAGES,
    pyramid: int = 256,
    rates: Sequence[int] = RATES,
    classes: int = 21,
) -> bytes:
    """Images [1, 3, size, size] to logits of classes at every pixel."""
    net = Builder()
    x = net.relu(net.conv(net.input("image", 1, 3, size, size), stem, 7, 2))
    x = net.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    before = 1
    for width, blocks, stride, dilation in stages:
        for number in range(blocks):
            x = _bottleneck(net, x, width, stride if number == 0 else 1, dilation if number else before)
        before = dilation
    x = net.relu(net.conv(_pyramid(net, x, pyramid, rates), pyramid, 3))
    logits = net.conv(x, classes, 1)
    return net.model(_resized(net, logits, net.constant([1, classes, size, size])))


def _bottleneck(net: Builder, x: str, width: int, stride: int, dilation: int) -> str:
    hidden = net.relu(net.conv(x, width, 1))
    hidden = net.relu(net.conv(hidden, width, 3, stride, dilation=dilation))
    body = net.conv(hidden, 4 * width, 1, gain=0.5)
    plain = net.channels[x] == 4 * width and stride == 1
    return net.relu(net.add(body, x if plain else net.conv(x, 4 * width, 1, stride, gain=1.0)))


def _pyramid(net: Builder, x: str, width: int, rates: Sequence[int]) -> str:
    """Windows of several dilations, and the mean of the image, beside each other; then a pointwise convolution."""
    parts = [net.relu(net.conv(x, width, 1)), *(net.relu(net.conv(x, width, 3, dilation=rate)) for rate in rates)]
    mean = net.relu(net.conv(net.node("GlobalAveragePool", x), width, 1))
    extents = net.node("Slice", net.node("Shape", x), net.constant([2]), net.constant([4]), net.constant([0]))
    sizes = net.node("Concat", net.constant([1, width]), extents, axis=0)
    parts.append(_resized(net, mean, sizes))
    return net.relu(net.conv(net.concat(*parts), width, 1))


def _resized(net: Builder, x: str, sizes: str) -> str:
    """By linear interpolation."""
    return net.node("Resize", x, "", "", sizes, mode="linear", coordinate_transformation_mode="half_pixel")
