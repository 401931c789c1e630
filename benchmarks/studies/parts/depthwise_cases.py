"""Depthwise convolutions with bias and relu: shapes drawn from layers of models, and their peers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw
from tilewright_bench.cases.case import SEED, DoubleArray, FloatArray, aligned
from tilewright_bench.cases.conv import ConvCase, convolved
from tilewright_bench.cases.conv_drawn import layers_in
from tilewright_bench.cases.conv_shapes import ConvShape, conv
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender
from tilewright_bench.peers.onnxruntime import session
from tilewright_bench.peers.openvino import request

LAYERS = Path(__file__).with_name("depthwise_layers.txt")
LAYER = re.compile(r"(\d+) (\d+)@(\d+)( s2)?")
DRAW_SEED, COUNT = 20261123, 30
TABLE = "depthwise convolutions with bias and relu"


@dataclass(frozen=True)
class DepthwiseCase(ConvCase):
    """relu(convolution + bias) of one image."""

    @cached_property
    def bias(self) -> FloatArray:
        """One of each channel."""
        array = aligned((self.shape.filters,))
        return np.random.default_rng(SEED + 2).standard_normal(dtype=np.float32, out=array)

    @cached_property
    def reference(self) -> DoubleArray:
        """In float64."""
        return np.maximum(convolved(self.shape, self.image, self.filters) + self.bias[:, None, None], 0.0)


def depthwise(taps: int, channels: int, points: int, stride: int = 1) -> ConvShape:
    """Of a square image.

    >>> depthwise(3, 96, 112, 2).name
    '3x3_96-96_112_s2_g96'
    """
    return conv(channels, channels, points, taps, stride=stride, groups=channels)


def layer_lists() -> dict[str, tuple[ConvShape, ...]]:
    """The layers of each model, by its name.

    >>> len(layer_lists()), sum(map(len, layer_lists().values()))
    (11, 97)
    """
    return layers_in(LAYERS, lambda text: map(_layer, text.split(", ")))


def drawn(seed: int = DRAW_SEED, count: int = COUNT) -> tuple[ConvShape, ...]:
    """Different shapes: a layer of every model in turn, each model's in random order."""
    generator = random.Random(seed)
    shuffled = [generator.sample(layers, len(layers)) for layers in layer_lists().values()]
    turns = chain.from_iterable(zip_longest(*shuffled))
    return tuple(dict.fromkeys(shape for shape in turns if shape is not None))[:count]


def own(case: DepthwiseCase, threads: int) -> Iterator[Contender]:
    """The kernel that `tw.jit` makes, whose filters and biases are constants."""
    shape, bias, out = case.shape, case.bias.reshape(1, -1, 1, 1), aligned(case.result_shape)

    def layer(image: Any) -> Any:
        return tw.relu(tw.conv2d(image, case.filters, stride=shape.stride, padding=shape.padding, groups=shape.groups) + bias)

    kernel = tw.jit(layer, threads=threads).lower(case.image).compile()
    yield Contender(TILEWRIGHT, lambda: kernel(case.image, out=out), lambda: out)


def onnxruntime(case: DepthwiseCase, threads: int) -> Iterator[Contender]:
    """Conv with a bias, and Relu, which it fuses."""
    from onnx import helper

    shape = case.shape
    attributes = {"kernel_shape": shape.kernel, "strides": shape.stride, "pads": (*shape.padding, *shape.padding)}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["sums"], group=shape.groups, **attributes),
        helper.make_node("Relu", ["sums"], ["out"]),
    ]
    constants = {"w": case.filters, "b": case.bias}
    yield session.contender("onnxruntime", session.Model(nodes, {"x": case.image}, constants, case.result_shape), threads)


def openvino(case: DepthwiseCase, threads: int) -> Iterator[Contender]:
    """GroupConvolution, Add and Relu, which it fuses."""
    from openvino import opset13

    shape = case.shape
    options = list(map(list, (shape.stride, shape.padding, shape.padding, shape.dilation)))
    by_group = case.filters.reshape(shape.groups, -1, *shape.filter_shape[1:])

    def build(x: Any) -> Any:
        sums = opset13.group_convolution(x, opset13.constant(by_group), *options)
        return opset13.relu(opset13.add(sums, opset13.constant(case.bias.reshape(1, -1, 1, 1))))

    yield request.contender("openvino", build, (case.image,), case.result_shape, threads)


Prepare = Callable[[DepthwiseCase, int], Iterator[Contender]]
LIBRARIES: dict[str, Prepare] = {"onnxruntime": onnxruntime, "openvino": openvino}


def _layer(text: str) -> ConvShape:
    found = LAYER.fullmatch(text)
    assert found is not None, text
    return depthwise(int(found[1]), int(found[2]), int(found[3]), 2 if found[4] else 1)
