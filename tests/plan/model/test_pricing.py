"""Prices of random graphs: finite, at least their floor, and of every chain that can be planned; bugs of the search say so."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from math import inf, isfinite, nan

import pytest

from tests.plan.cases import contraction, gemm_chain
from tests.plan.regions.test_guarded_regions import reading
from tests.support.random.chains import random_graph
from tilewright import compiler
from tilewright.coefficients import Coefficients
from tilewright.errors import InternalError
from tilewright.graph.expressions.index import axis
from tilewright.graph.expressions.scalar import Load, apply
from tilewright.graph.rewrites.constants.constant_part import split
from tilewright.graph.types import Access, Axis, Graph, Guard, Operator, Tensor
from tilewright.machine import Machine
from tilewright.plan.chains import make_chain
from tilewright.plan.model.needed_work import needed_sizes
from tilewright.plan.model.price_check import ROUNDING, attainable_seconds, check_price
from tilewright.plan.planner import plan_chain
from tilewright.plan.schedule import fused_schedule
from tilewright.plan.space.executability import why_not_executable
from tilewright.plan.space.schedule_space import batch_axes, may_share
from tilewright.plan.types import Plan, Price, PriceTerm, TermKind
from tilewright.plan.whole_model.partition import partition

TARGETS = ("x86-64-v2", "x86-64-v3", "x86-64-v4", "zen5", "cascadelake-6240", "neoverse-v2")


def check(seed: int) -> None:
    """Plan a random graph as the prices want it and with all fused that can be, and look at every price."""
    graph = split(compiler.rewrite(random_graph(seed)))[1]
    machine = Machine.named(TARGETS[seed % len(TARGETS)])
    for fuse in (None, True):
        for plan in partition(graph, machine, fuse=fuse).plans:
            assert_priced(plan, f"seed {seed}")


def assert_priced(plan: Plan, what: str) -> None:
    """At least the floor, which is above 0 where there is anything to do; and every term at least 0 but what is a gain.

    Stores past the caches gain a part of the traffic that shows, so that both together are at least 0.
    """
    price, floor = plan.price.seconds, plan.floor.seconds
    assert isfinite(price), what
    assert price >= floor * (1 - ROUNDING), what
    assert floor > 0, what
    seconds = {term.name: term.seconds for term in plan.price.terms}
    gained = seconds.pop(TermKind.NON_TEMPORAL_STORES, 0.0)
    assert gained <= 0 <= seconds.get("visible traffic", 0.0) + gained, what
    assert all(time >= 0 for name, time in seconds.items() if name != "prefetches"), what


@pytest.mark.parametrize("seed", [*range(60), 1208, 1399, 2194])
def test_prices_of_random_graphs_are_at_least_their_floors(seed: int) -> None:
    check(seed)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1000, 3000))
def test_prices_of_many_random_graphs_are_at_least_their_floors(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("target", ["zen5", "x86-64-v2"])
@pytest.mark.parametrize(
    ("extent", "rows", "step", "offset"), [(64, 900, 8, -500), (64, 2048, 4, 0), (16, 1024, 16, -8000), (2, 8400, 1, -8390)]
)
def test_blocks_that_lie_beside_the_tensor_cost_no_less_than_nothing(
    extent: int, rows: int, step: int, offset: int, target: str
) -> None:
    """Most blocks read what guards replace, as those of the other parts of a concatenation do."""
    chain = reading(extent, rows, [axis("r") * step + offset], other=512)
    first, second = chain.operators
    slow = reduce(lambda body, function: apply(function, body), ("exp", "tanh", "erf") * 2, first.body)
    chain = replace(chain, operators=(replace(first, body=slow), second))
    assert_priced(plan_chain(chain, Machine.named(target)), "beside")


def test_the_floor_counts_no_point_that_nobody_reads() -> None:
    chain = reading(100, 10, [axis("r") * 2 + 30])
    assert needed_sizes(chain)["T"]["p"] == 10
    assert plan_chain(chain, Machine.named("zen5")).floor.compulsory_bytes == 4 * (10 + 10)


def test_a_price_below_its_floor_is_a_bug_with_a_dump() -> None:
    plan = plan_chain(gemm_chain(64, 64, 64, 64), Machine.named("zen5"))
    floor_s = attainable_seconds(plan.floor, Coefficients())
    for seconds in (-1.7e-4, plan.floor.seconds / 2, nan, inf):
        broken = Price((PriceTerm(TermKind.CALL, seconds),))
        with pytest.raises(InternalError, match=f"plan of {plan.chain.name} ") as found:
            check_price(plan.chain, plan.machine, lambda: plan.schedule, broken, floor_s)
        assert "sum over" in found.value.dump
        assert "zen5" in found.value.dump
    check_price(plan.chain, plan.machine, lambda: plan.schedule, plan.price, floor_s)


@pytest.mark.parametrize("value", [nan, -1e9])
def test_a_search_without_a_winner_is_a_bug_with_a_dump(value: float) -> None:
    coefficients = replace(Coefficients(), block_cycles=value)
    with pytest.raises(InternalError, match="found nothing") as found:
        plan_chain(gemm_chain(64, 64, 64, 64), Machine.named("zen5"), coefficients=coefficients)
    assert "zen5" in found.value.dump


def test_batch_loops_that_cannot_run_together_are_no_batch() -> None:
    """A map also reads a neighbour: its operand is computed again by every block, what shares a buffer with that is not."""
    batch, rows = Axis("b", 6), Axis("m", 32)
    b, m, k = (axis(name) for name in "bmk")
    before = Access("U", (b - 1, m, k), Guard((b - 1,), 0.0))
    first = Operator("T", "map", (batch, rows, Axis("k", 32)), (Access("X", (b, m, k)),), Access("T", (b, m, k)), Load(0))
    second = replace(first, name="U", reads=(Access("T", (b, m, k)),), write=Access("U", (b, m, k)))
    body = apply("add", Load(0), Load(1))
    third = replace(first, name="V", reads=(Access("U", (b, m, k)), before), write=Access("V", (b, m, k)), body=body)
    product = contraction("E", "bmk,bkn->bmn", ("V", "W"), {"b": 6, "m": 32, "k": 32, "n": 32})
    operators = (first, second, third, product)
    tensors = tuple(Tensor(name, (6, 32, 32)) for name in "XTUVWE")
    chain = make_chain(Graph("neighbours", tensors, operators, ("X", "W"), ("E",)), operators)
    why = why_not_executable(chain, fused_schedule(chain, "b", {}, {"b": 1}))
    assert why == "T, U share a buffer and must be kept, recomputed or line-buffered together"
    assert not may_share(chain, ("b",))
    assert batch_axes(chain) == ()
    assert_priced(plan_chain(chain, Machine.named("zen5")), "neighbours")
