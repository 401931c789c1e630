"""The convolutions of CRNN: B. Shi et al., arXiv:1507.05717, table 1."""

from __future__ import annotations

from tilewright_bench.networks.builder import Builder


def crnn(*, width: int = 64, columns: int = 100) -> bytes:
    """Grey images of lines [1, 1, 32, columns] to features [1, 8 width, 1, columns / 4 + 1]."""
    net = Builder()
    x = net.relu(net.conv(net.input("line", 1, 1, 32, columns), width, 3))
    x = net.relu(net.conv(_halved(net, x), 2 * width, 3))
    x = net.relu(net.conv(_halved(net, x), 4 * width, 3))
    x = net.relu(net.conv(x, 4 * width, 3))
    x = net.relu(net.conv(_lower(net, x), 8 * width, 3))
    x = net.relu(net.conv(x, 8 * width, 3))
    return net.model(net.relu(net.conv(_lower(net, x), 8 * width, 2, padding=0)))


def _halved(net: Builder, x: str) -> str:
    return net.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])


def _lower(net: Builder, x: str) -> str:
    """Half as many rows, and as many columns."""
    return net.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 1], pads=[0, 1, 0, 1])
