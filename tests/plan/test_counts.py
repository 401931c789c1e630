"""Bounds of what planning does for MLPs, convolutions and attention, in counts, which are the same on every computer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from benchmarks.studies.parts.planning_side import attention, convolutions, mlp
from tests.support.halo_chains import convolution_chain
from tests.support.layers import products
from tilewright import compiler
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.plan.counts import Counted, count, counting
from tilewright.plan.planner import forget_plans, plan_chain

MACHINE = Machine.named("cascadelake-6240")
LAYERS = {20: (10, 900, 22_000), 50: (11, 1300, 29_000)}
"""By number: plans, pricings and candidates at most. They grow with its logarithm: equal layers are priced once."""
GRAPHS: dict[str, tuple[Callable[[], Graph], int, int, int]] = {
    "8 layers of 1024": (partial(mlp, 512, *[1024] * 9), 5, 280, 43_500),
    "8 layers of 4096": (partial(mlp, 512, *[4096] * 9), 5, 280, 200_000),
    "3x3 and 1x1": (partial(convolutions, "C3"), 28, 840, 12_300),
    "1x1 and 3x3": (partial(convolutions, "C6"), 45, 1_240, 11_100),
    "attention": (partial(attention, 12, 512, 512, 64), 5, 115, 1_500),
}
"""The graph; plans, pricings and candidates at most, of convolutions by all algorithms that apply."""


@pytest.mark.parametrize("layers", LAYERS)
def test_a_deep_network_takes_few_plans(layers: int) -> None:
    assert_at_most(mlp(1024, *[128] * (layers + 1)), *LAYERS[layers])


@pytest.mark.parametrize("name", GRAPHS)
def test_planning_does_no_more_than(name: str) -> None:
    make, *most = GRAPHS[name]
    assert_at_most(make(), *most)


def test_most_orders_of_loops_are_ruled_out_by_their_bound() -> None:
    with counting() as counts:
        plan_chain(convolution_chain(28, 28, (128, 256, 64), (3, 3)), MACHINE)
    assert counts[Counted.SEARCHES] == 3, "the chain, and each convolution alone"
    assert counts[Counted.ORDERS_PRICED] <= 15 < 50 < counts[Counted.ORDERS]
    assert counts[Counted.CANDIDATES] <= 33_000


def test_a_network_that_grows_is_searched_for_few_of_its_layers() -> None:
    """Forty layers of one form, the last of them five times as wide as the first."""
    graph = products(0, layers=40)
    with counting() as counts:
        compiler.plan(graph, MACHINE)
    assert counts[Counted.TAKEN_OVER] >= 35
    assert counts[Counted.PLANS] <= 15


def test_nobody_counts_unless_somebody_asks() -> None:
    with counting() as outer:
        with counting() as inner:
            count(Counted.PLANS)
        count(Counted.SEARCHES)
    count(Counted.PLANS)
    assert (outer, inner) == ({Counted.SEARCHES: 1}, {Counted.PLANS: 1})


def assert_at_most(graph: Graph, plans: int, pricings: int, candidates: int) -> None:
    forget_plans()  # tracing a function plans it, too
    with counting() as counts:
        compiler.plan(graph, MACHINE)
    assert counts[Counted.PLANS] <= plans
    assert counts[Counted.PRICINGS] <= pricings
    assert counts[Counted.CANDIDATES] <= candidates
