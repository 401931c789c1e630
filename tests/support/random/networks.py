"""Random convolutional networks with branches, and runs of them in layouts that a test chooses, beside the interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st

from tests.support.graphs import random
from tests.support.onnx_operators import operator
from tilewright import compiler
from tilewright.backends import loading
from tilewright.graph.builders.builder import Builder
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph, Tensor
from tilewright.machine import Machine
from tilewright.plan.whole_model import layout_choice
from tilewright.plan.whole_model.layout_choice import Table, images_of

MACHINE = Machine.named("zen5")
Array = np.ndarray[Any, Any]
Layouts = Mapping[str, int]
"""A layout of `layout_choice` by the first of each group of images."""
KINDS = (
    "conv",
    "wide",
    "depthwise",
    "pool",
    "residual",
    "concat",
    "dense",
    "inverted residual",
    "excitation",
    "shuffle",
    "split",
)


class Network:
    """Layers by name, on a builder."""

    def __init__(self, channels: int, size: tuple[int, int], batch: int = 1) -> None:
        self.builder = Builder("network")
        self.x = self.builder.input("x", (batch, channels, *size), "float32")
        self.count = 0

    def conv(self, x: Tensor, filters: int, kernel: int = 3, stride: int = 1, group: int = 1, activation: str = "relu") -> Tensor:
        """With a bias and an activation: of `Builder.map`, "hard-swish", or none."""
        self.count += 1
        weights = self.builder.constant(random(filters, int(x.shape[1]) // group, kernel, kernel, seed=self.count) / (kernel * 2))
        bias = self.builder.constant(random(filters, seed=self.count))
        pads = [kernel // 2] * 4
        y = operator("Conv", 21, group=group, strides=[stride] * 2, pads=pads).lower(self.builder, x, weights, bias)
        if activation == "hard-swish":
            return operator("HardSwish", 14).lower(self.builder, y)
        return self.builder.map(activation, y) if activation else y

    def pool(self, x: Tensor) -> Tensor:
        """The largest of 3 x 3, by two."""
        return operator("MaxPool", 21, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]).lower(self.builder, x)

    def concat(self, *parts: Tensor) -> Tensor:
        """Along channels."""
        return operator("Concat", 13, axis=1).lower(self.builder, *parts)

    def halves(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The first channels, and the others."""
        middle = int(x.shape[1]) // 2
        return self.builder.slice(x, (slice(None), slice(middle))), self.builder.slice(x, (slice(None), slice(middle, None)))

    def shuffle(self, x: Tensor) -> Tensor:
        """Channels of two halves in turns (ShuffleNet)."""
        batch, channels, *size = x.shape
        split = self.builder.reshape(x, (batch, 2, int(channels) // 2, *size))
        return self.builder.reshape(self.builder.transpose(split, (0, 2, 1, 3, 4)), x.shape)

    def excitation(self, x: Tensor) -> Tensor:
        """Channels scaled by what two filters of one point make of their means (squeeze and excitation)."""
        means = operator("GlobalAveragePool", 1).lower(self.builder, x)
        channels = int(x.shape[1])
        scales = self.conv(self.conv(means, max(1, channels // 2), 1), channels, 1, activation="sigmoid")
        return self.builder.map("multiply", x, scales)

    def inverted_residual(self, x: Tensor, kernel: int) -> Tensor:
        """Wider channels, a filter for each of them, as many channels as before, and the image (MobileNetV2)."""
        channels = int(x.shape[1])
        wide = self.conv(x, 3 * channels, 1, activation="hard-swish")
        filtered = self.conv(wide, 3 * channels, kernel, group=3 * channels)
        return self.builder.map("add", self.conv(filtered, channels, 1, activation=""), x)

    def graph(self, *outputs: Tensor) -> Graph:
        """What computes these, rewritten as before planning."""
        graph = self.builder.graph(tuple(output.name for output in outputs))
        return compiler.rewrite(graph, compiler.rewrites_for(Machine.named("zen5")))

    def layer(self, kind: str, x: Tensor, filters: int, kernel: int, stride: int) -> Tensor:
        """One of `KINDS`; what does not fit the image is a plain convolution."""
        channels = int(x.shape[1])
        match kind:
            case "wide":
                return self.conv(x, 17, kernel)
            case "depthwise":
                return self.conv(x, channels, kernel, stride, group=channels)
            case "pool":
                return self.pool(x)
            case "residual":
                return self.builder.map("add", self.conv(x, channels, kernel), x)
            case "concat":
                return self.concat(self.conv(x, 3, kernel), x)
            case "dense":  # two layers that see all channels before them (DenseNet)
                x = self.concat(x, self.conv(x, 4, kernel))
                return self.concat(x, self.conv(x, 4, 1))
            case "inverted residual":
                return self.inverted_residual(x, kernel)
            case "excitation":
                return self.excitation(x)
            case "shuffle" if channels % 2 == 0:
                return self.shuffle(x)
            case "split" if channels > 1:
                kept, changed = self.halves(x)
                return self.concat(kept, self.conv(changed, filters, kernel))
        return self.conv(x, filters, kernel, stride)


@st.composite
def networks(draw: st.DrawFn, most_layers: int = 5) -> Graph:
    """Two layers at least, of any of `KINDS`, between two convolutions, so that their images are between operators."""
    size = draw(st.tuples(st.integers(3, 12), st.integers(3, 19)))
    net = Network(draw(st.integers(1, 6)), size, draw(st.integers(1, 2)))
    x = net.conv(net.x, draw(st.integers(1, 8)), draw(st.sampled_from([1, 3])))
    for _ in range(draw(st.integers(2, most_layers))):
        kind = draw(st.sampled_from(KINDS))
        x = net.layer(kind, x, draw(st.integers(1, 9)), draw(st.sampled_from([1, 3, 5])), draw(st.integers(1, 2)))
    return net.graph(net.conv(x, draw(st.integers(1, 9)), 1))


def groups_of(graph: Graph) -> list[str]:
    """The first of the images that lie alike, of every group."""
    return sorted(set(images_of(graph, frozenset(), MACHINE).groups.values()))


def every_assignment(graph: Graph, most: int, seed: int = 0) -> list[Layouts]:
    """All layouts of a network, or that many of them: all alike as written, all with channels last, and some at random."""
    groups = groups_of(graph)
    last = 2 ** len(groups) - 1
    between = np.random.default_rng(seed).permutation(np.arange(1, last))[: most - 2]
    return [{group: number >> place & 1 for place, group in enumerate(groups)} for number in (0, last, *map(int, between))]


def assigned(layouts: Layouts):  # type: ignore[no-untyped-def]
    """Inside, groups of images lie so; those that it does not name as they are written."""

    def cheapest(values: Mapping[str, object], tables: list[Table]) -> dict[str, int]:
        return {group: layouts.get(group, 0) for group in values}

    return patch.multiple(layout_choice, cheapest=cheapest, LEAST_GAIN=float("inf"))


def check_layouts(graph: Graph, every: Sequence[Layouts], fuse: bool | None) -> None:
    """The plans by these layouts, compiled: the interpreter's results in float64, and the same bits on two threads.

    What they have in common is planned once.
    """
    x = random(*map(int, graph.tensor("x").shape), seed=7)
    (wanted,) = evaluate(graph, {"x": x.astype(np.float64)}).values()
    for layouts in every:
        try:
            _check(graph, layouts, fuse, x, wanted)
        except Exception as problem:
            problem.add_note(f"layouts: {layouts}")
            raise


def _check(graph: Graph, layouts: Layouts, fuse: bool | None, x: Array, wanted: Array) -> None:
    with assigned(layouts):
        artifact = compiler.generate(compiler.plan(graph, Machine.detect(), fuse=fuse))
    found = []
    for threads in (1, 2):
        executable, constants = loading.load(artifact, graph, Machine.detect(), threads=threads)
        outputs = executable.new_outputs([x, *constants])
        executable.run([x, *constants], outputs)
        found.append(np.asarray(outputs[0]))
    np.testing.assert_allclose(found[0], wanted, rtol=2e-4, atol=2e-4 * float(np.abs(wanted).max()))
    np.testing.assert_array_equal(found[0], found[1])
