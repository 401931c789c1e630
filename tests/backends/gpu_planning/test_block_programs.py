"""Plans of chains for GPUs as block programs: results, and bytes against a literal walk over all blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.gpu_chains import GROUPED, PROGRAMS, computed, counted_bytes, expected, graph_of, inputs_of
from tilewright.backends.triton_gpu.planner import GpuPlanner, chosen_of, kernels_of
from tilewright.machine import Machine
from tilewright.plan.chains import make_chain
from tilewright.plan.types import Plan

A100 = Machine.named("a100")
KINDS = {**PROGRAMS, "grouped attention": GROUPED}


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    """Of all elements together, relative to what is wanted."""
    wanted = wanted.astype(np.float64)
    return float(np.linalg.norm(found.astype(np.float64) - wanted) / np.linalg.norm(wanted))


@pytest.mark.parametrize("name", KINDS)
def test_results_and_bytes(name: str) -> None:
    function, shapes = KINDS[name]
    graph = graph_of(function, *shapes)
    chain = make_chain(graph, graph.operators)
    plan = GpuPlanner().plan(chain, A100)
    inputs = inputs_of(graph, chain)
    assert error(computed(plan, inputs), expected(graph, inputs)) < 1e-6
    assert counted_bytes(plan) == {moved.tensor: moved.size_bytes for moved in plan.movements}


def plans_of_any_tiles(name: str, count: int) -> list[Plan]:
    """Plans with tiles that are not the best."""
    function, shapes = KINDS[name]
    graph = graph_of(function, *shapes)
    chain = make_chain(graph, graph.operators)
    plan = GpuPlanner().plan(chain, A100)
    ranked = chosen_of(kernels_of(chain, A100))
    others = ranked[1 :: max(len(ranked) // count, 1)][:count]
    return [replace(plan, schedule=one.kernel.skeleton.with_tiles(one.tiles)) for one in others]


@pytest.mark.parametrize("name", ["gemm, bias, relu", "attention", "chain, long depth", "1x1, convolution"])
def test_any_tiles_give_the_same(name: str) -> None:
    function, shapes = KINDS[name]
    graph = graph_of(function, *shapes)
    for plan in plans_of_any_tiles(name, 3):
        inputs = inputs_of(graph, plan.chain)
        assert error(computed(plan, inputs), expected(graph, inputs)) < 1e-6


@pytest.mark.parametrize("extents", [(16, 16, 16), (17, 31, 1), (15, 33, 64), (127, 128, 129), (2, 3, 5)])
@pytest.mark.parametrize("kind", ["gemm", "softmax chain"])
def test_extents_at_the_edges_of_tiles(kind: str, extents: tuple[int, int, int]) -> None:
    m, n, k = extents
    gemm = PROGRAMS["gemm, bias, relu"][0], ((m, k), (k, n), (n,))
    attention = PROGRAMS["attention"][0], ((1, m, k), (1, n, k), (1, n, m))
    function, shapes = gemm if kind == "gemm" else attention
    graph = graph_of(function, *shapes, dtype="float16")
    chain = make_chain(graph, graph.operators)
    plan = GpuPlanner().plan(chain, A100)
    inputs = inputs_of(graph, chain)
    assert error(computed(plan, inputs), expected(graph, inputs)) < 2e-3
    assert counted_bytes(plan) == {moved.tensor: moved.size_bytes for moved in plan.movements}


@pytest.mark.parametrize("shapes", [((1, 1), (1, 1)), ((1, 40), (40, 1)), ((3, 40), (40, 1)), ((1, 40), (40, 3))])
def test_products_without_rows_or_columns(shapes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    graph = graph_of(lambda a, b: a @ b, *shapes)
    chain = make_chain(graph, graph.operators)
    plan = GpuPlanner().plan(chain, A100)
    inputs = inputs_of(graph, chain)
    assert error(computed(plan, inputs), expected(graph, inputs)) < 1e-6
    assert counted_bytes(plan) == {moved.tensor: moved.size_bytes for moved in plan.movements}


def test_attention_of_one_query() -> None:
    graph = graph_of(PROGRAMS["attention"][0], (1, 1, 8), (1, 50, 8), (1, 50, 8), dtype="float16")
    chain = make_chain(graph, graph.operators)
    plan = GpuPlanner().plan(chain, A100)
    inputs = inputs_of(graph, chain)
    assert error(computed(plan, inputs), expected(graph, inputs)) < 2e-3
    assert counted_bytes(plan) == {moved.tensor: moved.size_bytes for moved in plan.movements}
