"""Layouts of images between operators: which lie alike, and that every assignment of layouts computes the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tests.support.guarded import in_child
from tests.support.random.networks import Network, check_layouts, every_assignment, groups_of, networks
from tilewright import compiler
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.plan.whole_model import layout_choice
from tilewright.plan.whole_model.known_divisions import known_divisions
from tilewright.plan.whole_model.layout_choice import images_of
from tilewright.plan.whole_model.planning_options import options_for
from tilewright.report.explain import explain

MACHINE = Machine.named("zen5")
MOST_ASSIGNMENTS = 8


def branches() -> Graph:
    """A stem, a residual, a concatenation and a depthwise layer."""
    net = Network(3, (13, 10))
    x = net.pool(net.conv(net.x, 8, 3, 2))
    x = net.builder.map("add", net.conv(net.conv(x, 16, 1), 8), x)
    x = net.concat(net.conv(x, 5, 1), net.conv(x, 7))
    return net.graph(net.conv(x, 12, 3, 1, group=12))


def choice_of(graph: Graph) -> layout_choice._Choice:
    prices = compiler.AlgorithmPrices(graph, compiler._simplified, known_divisions(graph, options_for(MACHINE, None)))
    return layout_choice._Choice(
        graph, prices, layout_choice.Precision.FLOAT32, images_of(graph, prices.constants, MACHINE), layout_choice.DataFlow(graph)
    )


def test_channels_are_carried_through_pools_and_maps() -> None:
    graph = branches()
    images = images_of(graph, frozenset(), MACHINE)
    assert set(images.channels.values()) == {1}
    assert all(len(graph.tensor(name).shape) == 4 for name in images.channels)
    assert not images.channels.keys() & {*graph.inputs, *graph.outputs}


def test_deep_networks_of_no_image_have_plans() -> None:
    """Known times of near layers are scaled by points, of which there are none."""
    filters = [np.ones((3 + (layer + 1) % 4, 3 + layer % 4, 3, 3), np.float32) for layer in range(18)]

    def network(x: Any) -> Any:
        for one in filters:
            x = tw.relu(tw.conv2d(x, one, padding=1))
        return x

    assert tw.jit(network, target="x86-64-v2").lower(tw.spec((0, 3, 9, 9))).model_plan.plans


def test_what_maps_join_lies_alike() -> None:
    graph = branches()
    images = images_of(graph, frozenset(), MACHINE)
    for op in graph.operators:
        if op.is_map():
            joined = {images.groups[access.tensor] for access in (*op.reads, op.write) if access.tensor in images.groups}
            assert len(joined) <= 1


def test_one_point_and_one_channel_are_no_images() -> None:
    net = Network(4, (1, 1))
    assert not images_of(net.graph(net.conv(net.conv(net.x, 8, 1), 8, 1)), frozenset(), MACHINE).channels


@pytest.mark.parametrize("fuse", [None, False])
def test_every_assignment_computes_the_same(fuse: bool | None) -> None:
    graph = branches()
    groups = groups_of(graph)
    assert len(groups) >= 4
    in_child(check_layouts, graph, every_assignment(graph, 4), fuse)


@settings(max_examples=3, deadline=None)
@given(st.data(), networks(most_layers=3))
def test_any_network_in_any_layout(data: st.DataObject, graph: Graph) -> None:
    layouts = {group: data.draw(st.integers(0, 1)) for group in groups_of(graph)}
    in_child(check_layouts, graph, [layouts], data.draw(st.sampled_from([None, False])))


@pytest.mark.parametrize(
    "kind", ["dense", "split", *(pytest.param(kind, marks=pytest.mark.rest) for kind in ("inverted residual", "excitation"))]
)
def test_every_assignment_of_a_block(kind: str) -> None:
    """A block of a published network between two convolutions, in all layouts of its images, one after the other."""
    net = Network(3, (9, 11))
    x = net.layer(kind, net.conv(net.x, 8), 5, 3, 1)
    graph = net.graph(net.conv(x, 6, 1))
    found = every_assignment(graph, MOST_ASSIGNMENTS)
    assert len({tuple(layouts.items()) for layouts in found}) == min(2 ** len(groups_of(graph)), MOST_ASSIGNMENTS)
    in_child(check_layouts, graph, found, None)


def test_small_images_of_many_channels_have_them_last_and_the_plan_says_so() -> None:
    net = Network(256, (14, 14))
    x = net.conv(net.conv(net.conv(net.x, 64, 1), 64), 256, 1)
    plan = compiler.plan(net.graph(net.conv(x, 64, 1)), MACHINE)
    assert plan.images is not None
    assert plan.images.channels_last
    assert "images between operators" in explain(plan)
    assert "with channels last" in explain(plan)


def test_depthwise_filters_of_rows_shorter_than_vectors_have_channels_last() -> None:
    """Without masks, rows of 7 pixels cost two vectors of 8 lanes, while channels fill theirs."""
    net = Network(32, (7, 7))
    x = net.conv(net.conv(net.x, 192, 1), 192, group=192)
    plan = compiler.plan(net.graph(net.conv(x, 32, 1)), Machine.named("x86-64-v3"))
    assert plan.images is not None
    assert not plan.images.as_written


def test_tables_have_every_assignment() -> None:
    choice = choice_of(branches())
    for unit in choice.units():
        table = choice.table(unit)
        assert len(table.costs) == 2 ** len(unit.groups)
        assert all(0 < seconds < 1 for seconds in table.costs.values())
