"""R3D-18: D. Tran et al., arXiv:1711.11248."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tilewright_bench.networks.builder import Builder


def r3d(*, width: int = 64, depths: Sequence[int] = (2, 2, 2, 2), images: int = 16, size: int = 112, classes: int = 400) -> bytes:
    """Videos [1, 3, images, size, size] to logits."""
    net = Builder()
    x = net.relu(net.conv(net.input("video", 1, 3, images, size, size), width, (3, 7, 7), (1, 2, 2), rank=3))
    for stage, depth in enumerate(depths):
        for number in range(depth):
            x = _block(net, x, width * 2**stage, 2 if stage and number == 0 else 1)
    return net.model(net.classified(x, classes))


def _block(net: Builder, x: str, filters: int, stride: int) -> str:
    conv = partial(net.conv, filters=filters, rank=3)
    body = conv(net.relu(conv(x, kernel=3, stride=stride)), kernel=3, gain=0.7)
    return net.relu(net.add(body, x if stride == 1 else conv(x, kernel=1, stride=stride, gain=1.0)))
