"""Lower bounds of prices are below the prices of plans, and partitions are those that prices alone would make."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest

from benchmarks.studies.planning_time import mlp
from tests.plan.cases import CASCADE_LAKE, batch_chain
from tests.support.halo_chains import RELU, conv, convolution_chain, halo_chain, pad
from tests.support.masked_chains import masked_chain, shifted
from tests.support.table_iv import TABLE_IV
from tilewright.coefficients import coefficients_for
from tilewright.graph.types import Chain, Graph
from tilewright.kernels import registry
from tilewright.machine import Machine
from tilewright.plan import memory
from tilewright.plan.chains import make_chain
from tilewright.plan.planner import plan_chain
from tilewright.plan.search.exact_search import least_times_above, planning_problem
from tilewright.plan.whole_model import division
from tilewright.plan.whole_model.partition import partition

MACHINES = ("cascadelake-6240", "zen5", "x86-64-v3")


def chains() -> Iterator[tuple[str, Chain]]:
    for name in ("G1", "G6", "G10"):
        yield name, batch_chain(*TABLE_IV[name], with_softmax=False)
        yield f"{name} softmax", batch_chain(*TABLE_IV[name], with_softmax=True)
    yield "few rows, long keys", batch_chain(1, 4, 64, 64, 4096, with_softmax=True)
    yield "causal", masked_chain({"b": 2, "m": 256, "k": 64, "l": 256, "n": 64}, shifted(256))
    for kernels in ((3, 1), (1, 3), (3, 3), (1, 1)):
        yield f"convolutions {kernels}", convolution_chain(28, 28, (64, 64, 32), kernels)
    yield "padded", halo_chain(28, 28, 32, (pad(1), conv(3, 64), RELU, conv(1, 32)))
    yield "small image", halo_chain(8, 8, 32, (pad(1), conv(3, 32), RELU, conv(1, 32)))
    yield "smaller image", halo_chain(6, 8, 16, (pad(3), conv(7, 16), RELU, conv(1, 64), RELU, conv(1, 16)))
    for rows, widths in ((128, (768, 3072, 768)), (65536, (64,) * 4), (1, (1024, 4096, 1024)), (100_000, (32, 512, 32))):
        graph = mlp(rows, widths)
        yield f"{rows} x {widths}", make_chain(graph, graph.operators)


CHAINS = dict(chains())


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("name", CHAINS)
def test_no_plan_is_cheaper_than_the_bound(name: str, target: str) -> None:
    chain, machine = CHAINS[name], Machine.named(target)
    price = plan_chain(chain, machine).price
    problem = planning_problem(chain, machine, registry.for_machine(machine, element_types=None), coefficients_for(machine))
    least = least_times_above(problem, 0.0)
    assert least is not None
    assert least.seconds <= price.seconds * (1 + 1e-9)
    assert least.cores_s <= price.on(machine.cores) * (1 + 1e-9)
    assert least_times_above(problem, price.on(machine.cores)) is None


GRAPHS = {
    "wide": mlp(128, (768, 3072, 768, 3072)),
    "deep": mlp(1024, (64,) * 7),
    "mixed": mlp(4096, (128, 4096, 128, 64)),
    "few rows": mlp(2, (512, 512, 512)),
}


@pytest.mark.parametrize("target", ["cascadelake-6240", "zen5"])
@pytest.mark.parametrize("name", GRAPHS)
def test_partitions_are_those_of_prices_alone(name: str, target: str) -> None:
    assert parts(GRAPHS[name], target) == _parts_without_bounds(GRAPHS[name], target)


def parts(graph: Graph, target: str) -> list[tuple[str, ...]]:
    return [tuple(operator.name for operator in plan.chain.operators) for plan in partition(graph, Machine.named(target)).plans]


def _parts_without_bounds(graph: Graph, target: str) -> list[tuple[str, ...]]:
    memory.forget_all()
    try:
        with mock.patch.object(division, "least_times_above", return_value=None):
            return parts(graph, target)
    finally:
        memory.forget_all()


def test_what_a_bound_rules_out_is_said_of_its_cut() -> None:
    cuts = partition(mlp(128, (768, 3072, 768)), CASCADE_LAKE).cuts
    assert cuts
    assert all(cut.fused_seconds > 0 for cut in cuts)
