"""ConvNeXt: Z. Liu et al., arXiv:2201.03545, table 9: the tiny one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright_bench.networks.builder import Builder


def convnext(*, width: int = 96, depths: Sequence[int] = (3, 3, 9, 3), size: int = 224, classes: int = 1000) -> bytes:
    """Images [1, 3, size, size] to logits."""
    net = Builder()
    x = _channel_norm(net, net.conv(net.input("image", 1, 3, size, size), width, 4, 4, padding=0, gain=1.0))
    for stage, depth in enumerate(depths):
        if stage:
            x = net.conv(_channel_norm(net, x), width * 2**stage, 2, 2, padding=0, gain=1.0)
        for _ in range(depth):
            x = _block(net, x)
    mean = net.node("ReduceMean", x, axes=[2, 3], keepdims=0)
    return net.model(net.linear(net.layer_norm(mean), classes))


def _block(net: Builder, x: str) -> str:
    """A 7 x 7 filter of every channel, then a norm and a feed-forward network of channels that come last."""
    width = net.channels[x]
    rows = net.layer_norm(net.turned(net.conv(x, width, 7, groups=width), 0, 2, 3, 1))
    hidden = net.linear(net.gelu(net.linear(rows, 4 * width)), width)
    scaled = net.node("Mul", hidden, net.constant(np.full(width, 0.5, np.float32)))
    return net.add(x, net.turned(scaled, 0, 3, 1, 2))


def _channel_norm(net: Builder, x: str) -> str:
    return net.turned(net.layer_norm(net.turned(x, 0, 2, 3, 1)), 0, 3, 1, 2)
