"""HiFi-GAN: J. Kong et al., arXiv:2010.05646, its first configuration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tilewright_bench.networks.builder import Builder

RATES = ((8, 16), (8, 16), (2, 4), (2, 4))
"""Stride and taps of each transposed convolution."""
KERNELS, DILATIONS = (3, 7, 11), (1, 3, 5)


def hifi_gan(*, width: int = 512, frames: int = 32, rates: Sequence[tuple[int, int]] = RATES) -> bytes:
    """Spectra [1, 80, frames] to samples [1, 1, 256 frames]."""
    net = Builder()
    x = net.conv(net.input("spectra", 1, 80, frames), width, 7, rank=1)
    for stride, kernel in rates:
        width //= 2
        x = net.transposed(_leaky(net, x), width, kernel, stride, padding=(kernel - stride) // 2, rank=1)
        x = _mean(net, [_residual(net, x, taps) for taps in KERNELS])
    return net.model(net.node("Tanh", net.conv(_leaky(net, x, 0.01), 1, 7, gain=0.3, rank=1)))


def _residual(net: Builder, x: str, taps: int) -> str:
    conv = partial(net.conv, filters=net.channels[x], kernel=taps, rank=1)
    for dilation in DILATIONS:
        hidden = conv(_leaky(net, x), dilation=dilation)
        x = net.add(x, conv(_leaky(net, hidden), gain=0.7))
    return x


def _mean(net: Builder, parts: Sequence[str]) -> str:
    first, *others = parts
    for other in others:
        first = net.add(first, other)
    return net.node("Div", first, net.constant(float(len(parts))))


def _leaky(net: Builder, x: str, slope: float = 0.1) -> str:
    return net.node("LeakyRelu", x, alpha=slope)
