"""Random networks of neighbouring extents: convolutions and products whose channels and depths differ a little."""

from __future__ import annotations

from random import Random

import numpy as np

from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.types import Graph


def convolutions(seed: int, layers: int = 8) -> Graph:
    """Convolutions of 1x1 and 3x3 windows over one size of image, with a map behind each."""
    draw, builder = Random(seed), Builder(f"convolutions_{seed}")
    size = draw.choice((7, 14, 28))
    x = builder.input("x", (1, draw.choice((32, 48, 64)), size, size), "float32")
    for _ in range(layers):
        window = draw.choice((1, 1, 3))
        shape = (draw.choice((32, 40, 48, 64, 72, 80, 96, 112)), x.shape[1], window, window)
        weights = builder.constant(np.ones(shape, np.float32))
        placed = window_of((size, size), shape[2:], where="Conv", pads=(window // 2,) * 4)
        x = builder.map(draw.choice(("relu", "exp")), builder.record(convolution, x, weights, placed, 1, kind="conv"))
    return builder.graph((x.name,))


def products(seed: int, layers: int = 8) -> Graph:
    """Products of one input with constants of growing width, each an output of its own behind two maps."""
    draw, builder = Random(seed), Builder(f"products_{seed}")
    rows, depth = draw.choice((16, 100, 128, 512)), draw.choice((256, 300, 384))
    x = builder.input("x", (rows, depth), "float32")
    outputs = []
    for number in range(layers):
        width = depth + 32 * number
        weights = builder.constant(np.ones((depth, width), np.float32))
        outputs.append(builder.map("exp", builder.map("relu", builder.matmul(x, weights))).name)
    return builder.graph(tuple(outputs))
