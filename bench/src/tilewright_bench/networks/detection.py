"""YOLOv8: G. Jocher et al., Ultralytics, 2023, the figure of its architecture in the project's documentation; n and s."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright_bench.networks.builder import Builder

BINS = 16
STRIDES = (8, 16, 32)


def yolo(*, width: int = 16, depths: Sequence[int] = (1, 2, 2, 1), size: int = 640, classes: int = 80) -> bytes:
    """Images [1, 3, size, size] to [1, 4 + classes, places], places of three scales: boxes in pixels, and probabilities."""
    net = Builder()
    x, kept = _conv(net, net.input("image", 1, 3, size, size), width, 3, 2), []
    for number, depth in enumerate(depths):
        x = _split(net, _conv(net, x, width * 2 ** (number + 1), 3, 2), width * 2 ** (number + 1), depth)
        kept.append(x)
    scales = _pyramid(net, kept[1], kept[2], _pooled(net, x), depths[0])
    hidden = max(4 * width, classes), max(4 * width, 4 * BINS)
    results = [_places(net, one, hidden, classes, size // stride, stride) for one, stride in zip(scales, STRIDES, strict=True)]
    return net.model(net.node("Concat", *results, axis=2))


def _pyramid(net: Builder, fine: str, middle: str, coarse: str, depth: int) -> list[str]:
    """What goes from coarse to fine, and back."""
    channels = {name: net.channels[name] for name in (fine, middle, coarse)}
    down = _split(net, net.concat(net.enlarged(coarse), middle), channels[middle], depth, is_residual=False)
    first = _split(net, net.concat(net.enlarged(down), fine), channels[fine], depth, is_residual=False)
    joined = net.concat(_conv(net, first, channels[fine], 3, 2), down)
    second = _split(net, joined, channels[middle], depth, is_residual=False)
    joined = net.concat(_conv(net, second, channels[middle], 3, 2), coarse)
    return [first, second, _split(net, joined, channels[coarse], depth, is_residual=False)]


def _conv(net: Builder, x: str, filters: int, kernel: int = 1, stride: int = 1) -> str:
    return net.silu(net.conv(x, filters, kernel, stride, gain=1.5))


def _split(net: Builder, x: str, filters: int, depth: int, *, is_residual: bool = True) -> str:
    """Half of the channels through blocks of two convolutions; all results are joined."""
    half = filters // 2
    parts = net.nodes_of("Split", 2, _conv(net, x, filters), channels=half, axis=1)
    for _ in range(depth):
        body = _conv(net, _conv(net, parts[-1], half, 3), half, 3)
        parts.append(net.add(parts[-1], body) if is_residual else body)
    return _conv(net, net.concat(*parts), filters)


def _pooled(net: Builder, x: str) -> str:
    """The image beside its maxima in growing windows."""
    parts = [_conv(net, x, net.channels[x] // 2)]
    for _ in range(3):
        parts.append(net.node("MaxPool", parts[-1], kernel_shape=[5, 5], strides=[1, 1], pads=[2, 2, 2, 2]))
    return _conv(net, net.concat(*parts), net.channels[x])


def _places(net: Builder, x: str, hidden: tuple[int, int], classes: int, size: int, stride: int) -> str:
    """Boxes and probabilities of a scale of size x size places."""
    of_classes, of_boxes = hidden
    scores = net.conv(_conv(net, _conv(net, x, of_classes, 3), of_classes, 3), classes, 1)
    boxes = net.conv(_conv(net, _conv(net, x, of_boxes, 3), of_boxes, 3), 4 * BINS, 1)
    shares = net.node("Softmax", net.reshaped(boxes, 1, 4, BINS, size * size), axis=2)
    steps = net.constant(np.arange(BINS, dtype=np.float32).reshape(1, 1, BINS, 1))
    distances = net.node("ReduceSum", net.node("Mul", shares, steps), net.constant([2]), keepdims=0)
    before, behind = net.nodes_of("Split", 2, distances, axis=1)
    rows, columns = np.meshgrid(np.arange(size) + 0.5, np.arange(size) + 0.5, indexing="ij")
    places = net.constant(np.stack([columns.ravel(), rows.ravel()])[None].astype(np.float32))
    start, end = net.node("Sub", places, before), net.node("Add", places, behind)
    centre = net.node("Mul", net.node("Add", start, end), net.constant(stride / 2))
    extents = net.node("Mul", net.node("Sub", end, start), net.constant(float(stride)))
    probabilities = net.node("Sigmoid", net.reshaped(scores, 1, classes, size * size))
    return net.node("Concat", centre, extents, probabilities, axis=1)
