"""Layouts of images between operators: which lie alike, and that every assignment of layouts computes the same."""

from __future__ import annotations

from collections.abc import Mapping
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.graphs import random
from tests.support.guarded import in_child
from tests.support.onnx_operators import operator
from tilewright import compiler
from tilewright.backends import loading
from tilewright.graph.builders.builder import Builder
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph, Tensor
from tilewright.machine import Machine
from tilewright.plan.whole_model import layout_choice
from tilewright.plan.whole_model.elimination import Table
from tilewright.plan.whole_model.images import images_of
from tilewright.report.explain import explain

MACHINE = Machine.named("zen5")


class Network:
    """Layers by name, on a builder."""

    def __init__(self, channels: int, size: tuple[int, int], batch: int = 1) -> None:
        self.builder = Builder("network")
        self.x = self.builder.input("x", (batch, channels, *size), "float32")
        self.count = 0

    def conv(self, x: Tensor, filters: int, kernel: int = 3, stride: int = 1, group: int = 1) -> Tensor:
        """With a bias and a relu."""
        self.count += 1
        weights = self.builder.constant(random(filters, int(x.shape[1]) // group, kernel, kernel, seed=self.count) / (kernel * 2))
        bias = self.builder.constant(random(filters, seed=self.count))
        pads = [kernel // 2] * 4
        y = operator("Conv", 21, group=group, strides=[stride] * 2, pads=pads).lower(self.builder, x, weights, bias)
        return self.builder.map("relu", y)

    def pool(self, x: Tensor) -> Tensor:
        """The largest of 3 x 3, by two."""
        return operator("MaxPool", 21, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]).lower(self.builder, x)

    def concat(self, *parts: Tensor) -> Tensor:
        """Along channels."""
        return operator("Concat", 13, axis=1).lower(self.builder, *parts)

    def graph(self, *outputs: Tensor) -> Graph:
        """What computes these, rewritten as before planning."""
        graph = self.builder.graph(tuple(output.name for output in outputs))
        return compiler.rewrite(graph, compiler.rewrites_for(MACHINE))


def branches() -> Graph:
    """A stem, a residual, a concatenation and a depthwise layer."""
    net = Network(3, (13, 10))
    x = net.pool(net.conv(net.x, 8, 3, 2))
    x = net.builder.map("add", net.conv(net.conv(x, 16, 1), 8), x)
    x = net.concat(net.conv(x, 5, 1), net.conv(x, 7))
    return net.graph(net.conv(x, 12, 3, 1, group=12))


def choice_of(graph: Graph) -> layout_choice._Choice:
    prices = compiler.prices_of(graph, MACHINE)
    return layout_choice._Choice(
        graph, prices, layout_choice.Precision.FLOAT32, images_of(graph, prices.constants), layout_choice.Followers(graph)
    )


def test_channels_are_carried_through_pools_and_maps() -> None:
    graph = branches()
    images = images_of(graph, frozenset())
    assert set(images.channels.values()) == {1}
    assert all(len(graph.tensor(name).shape) == 4 for name in images.channels)
    assert not images.channels.keys() & {*graph.inputs, *graph.outputs}


def test_what_maps_join_lies_alike() -> None:
    graph = branches()
    images = images_of(graph, frozenset())
    for op in graph.operators:
        if op.is_map():
            joined = {images.groups[access.tensor] for access in (*op.reads, op.write) if access.tensor in images.groups}
            assert len(joined) <= 1


def test_one_point_and_one_channel_are_no_images() -> None:
    net = Network(4, (1, 1))
    assert not images_of(net.graph(net.conv(net.conv(net.x, 8, 1), 8, 1)), frozenset()).channels


def assigned(layouts: Mapping[str, int] | int):  # type: ignore[no-untyped-def]
    """Inside, layouts are these: one for every group, or one for all."""

    def cheapest(values: Mapping[str, object], tables: list[Table]) -> dict[str, int]:
        return {group: layouts if isinstance(layouts, int) else layouts.get(group, 0) for group in values}

    return patch.multiple(layout_choice, cheapest=cheapest, LEAST_GAIN=float("inf"))


def check_computed(graph: Graph, layouts: Mapping[str, int] | int, fuse: bool | None) -> None:
    """The plan by these layouts, compiled: the interpreter's results."""
    x = random(*map(int, graph.tensor("x").shape), seed=7)
    (wanted,) = evaluate(graph, {"x": x.astype(np.float64)}).values()
    with assigned(layouts):
        artifact = compiler.generate(compiler.plan(graph, Machine.detect(), fuse=fuse))
    executable, constants = loading.load(artifact, graph, Machine.detect(), threads=1)
    outputs = executable.new_outputs([x, *constants])
    executable.run([x, *constants], outputs)
    np.testing.assert_allclose(outputs[0], wanted, rtol=2e-4, atol=2e-4 * float(np.abs(wanted).max()))


@pytest.mark.parametrize("fuse", [None, False])
@pytest.mark.parametrize("seed", range(4))
def test_every_assignment_computes_the_same(seed: int, fuse: bool | None) -> None:
    graph = branches()
    groups = sorted(set(images_of(graph, frozenset()).groups.values()))
    assert len(groups) >= 4
    layouts = {0: 0, 1: 1}.get(seed, {group: int(np.random.default_rng(seed).integers(2)) for group in groups})
    in_child(check_computed, graph, layouts, fuse)


@st.composite
def networks(draw: st.DrawFn) -> Graph:
    """Convolutions, depthwise ones, pools, residuals and concatenations."""
    net = Network(draw(st.integers(1, 5)), draw(st.tuples(st.integers(3, 12), st.integers(3, 19))), draw(st.integers(1, 2)))
    x, layers = net.x, draw(st.integers(2, 5))
    for _ in range(layers):
        kind = draw(st.sampled_from(["conv", "wide", "depthwise", "pool", "residual", "concat"]))
        channels = int(x.shape[1])
        kernel, stride = draw(st.sampled_from([1, 3, 5])), draw(st.integers(1, 2))
        if kind == "conv":
            x = net.conv(x, draw(st.integers(1, 9)), kernel, stride)
        elif kind == "wide":
            x = net.conv(x, 17, kernel)
        elif kind == "depthwise":
            x = net.conv(x, channels, kernel, stride, group=channels)
        elif kind == "pool":
            x = net.pool(x)
        elif kind == "residual":
            x = net.builder.map("add", net.conv(x, channels, kernel), x)
        else:
            x = net.concat(net.conv(x, 3, kernel), x)
    return net.graph(x)


@settings(max_examples=8, deadline=None)
@given(st.data(), networks())
def test_any_network_in_any_layout(data: st.DataObject, graph: Graph) -> None:
    groups = sorted(set(images_of(graph, frozenset()).groups.values()))
    layouts = {group: data.draw(st.integers(0, 1)) for group in groups}
    in_child(check_computed, graph, layouts, data.draw(st.sampled_from([None, False])))


def test_small_images_of_many_channels_have_them_last_and_the_plan_says_so() -> None:
    net = Network(256, (14, 14))
    x = net.conv(net.conv(net.conv(net.x, 64, 1), 64), 256, 1)
    plan = compiler.plan(net.graph(net.conv(x, 64, 1)), MACHINE)
    assert plan.images is not None
    assert plan.images.channels_last
    assert "images between operators" in explain(plan)
    assert "with channels last" in explain(plan)


def test_tables_have_every_assignment() -> None:
    choice = choice_of(branches())
    for unit in choice.units():
        table = choice.table(unit)
        assert len(table.costs) == 2 ** len(unit.groups)
        assert all(0 < seconds < 1 for seconds in table.costs.values())
