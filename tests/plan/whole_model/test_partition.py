"""Graphs are cut where fusion is impossible, unwanted, or dearer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import tilewright as tw
from benchmarks.studies.planning_time import mlp
from tests.plan.cases import CASCADE_LAKE, KERNELS, batch_operators, contraction, elementwise
from tests.support.operators import graph_of, softmax
from tilewright.coefficients import coefficients_for
from tilewright.kernels import registry
from tilewright.machine import Machine
from tilewright.plan.chains import canonical_form, make_chain
from tilewright.plan.planner import plan_chain, price_chain
from tilewright.plan.reasons import Barrier, CannotFuse
from tilewright.plan.search.exact_search import can_cost, planning_problem
from tilewright.plan.types import TermKind
from tilewright.plan.whole_model.partition import partition

ATTENTION = batch_operators(12, 512, 64, 64, 512, with_softmax=True)


def chains(graph, **options) -> list[str]:
    return [plan.chain.name for plan in partition(graph, CASCADE_LAKE, kernels=KERNELS, **options).plans]


def test_attention_is_one_chain() -> None:
    model = partition(graph_of(ATTENTION), CASCADE_LAKE, kernels=KERNELS)
    assert [plan.chain.name for plan in model.plans] == ["C_P_E"]
    assert model.cuts == ()
    (plan,) = model.plans
    assert plan.unfused_price.seconds > plan.price.seconds


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4", "cascadelake-6240"])
@pytest.mark.parametrize("batch", [8, 12, 16])
def test_the_choice_is_never_dearer_than_forcing_it(batch: int, target: str) -> None:
    """A first pair that does not pay must not hide that the whole chain does."""
    graph = graph_of(batch_operators(batch, 512, 64, 64, 512, with_softmax=True))
    prices = [partition(graph, Machine.named(target), fuse=fuse).predicted_seconds for fuse in (None, True, False)]
    assert prices[0] <= min(prices[1:]) * 1.001


def test_fusion_can_be_switched_off() -> None:
    model = partition(graph_of(ATTENTION), CASCADE_LAKE, fuse=False, kernels=KERNELS)
    assert [plan.chain.name for plan in model.plans] == ["C", "P", "E"]
    assert [cut.reason for cut in model.cuts] == [CannotFuse(Barrier.SWITCHED_OFF)] * 2


def test_graph_outputs_end_a_chain() -> None:
    graph = replace(graph_of(ATTENTION), outputs=("C", "E"))
    model = partition(graph, CASCADE_LAKE, kernels=KERNELS)
    assert [plan.chain.name for plan in model.plans] == ["C", "P_E"]
    assert model.cuts[0].tensor == "C"
    assert model.cuts[0].reason == CannotFuse(Barrier.GRAPH_OUTPUT)
    assert model.cuts[0].fused_seconds == float("inf")


def test_tensors_with_several_readers_end_a_chain() -> None:
    extents = {"m": 64, "k": 64, "l": 64}
    graph = graph_of(
        (
            contraction("C", "mk,kl->ml", "AB", extents),
            elementwise("R", "ml", [("C", "ml")], extents),
            elementwise("S", "ml", [("C", "ml"), ("R", "ml")], extents),
        )
    )
    model = partition(graph, CASCADE_LAKE, kernels=KERNELS)
    assert [plan.chain.name for plan in model.plans] == ["C", "R_S"]
    assert model.cuts[0].reason == CannotFuse(Barrier.SEVERAL_READERS, ("R", "S"))


def test_branches_join_where_they_meet() -> None:
    extents = {"m": 65536, "k": 64, "l": 64, "n": 64}
    graph = graph_of(
        (
            contraction("P", "mk,kl->ml", "AB", extents),
            contraction("Q", "mk,kl->ml", "XY", extents),
            elementwise("S", "ml", [("P", "ml"), ("Q", "ml")], extents),
        )
    )
    assert chains(graph) == ["P_Q_S"]


def test_what_threads_would_lose_is_not_fused() -> None:
    extents = {"m": 128, "k": 512, "l": 512, "n": 512}
    transposed = graph_of(
        (contraction("C", "mk,kl->ml", "AB", extents), contraction("E", "ml,nl->mn", "CC", {**extents, "n": 128}))
    )
    assert chains(transposed) == ["C", "E"]


@pytest.mark.parametrize("fuse", [None, True, False])
def test_every_operator_is_in_exactly_one_chain_and_chains_are_in_order(fuse: bool | None) -> None:
    extents = {"m": 300, "k": 70, "l": 130, "n": 40}
    operators = (
        contraction("C", "mk,kl->ml", "AB", extents),
        elementwise("R", "ml", [("C", "ml"), ("bias", "l")], extents),
        softmax("P", "R:ml", "P:ml", "l", extents),
        contraction("E", "ml,ln->mn", "PD", extents),
        elementwise("Z", "mn", [("E", "mn"), ("residual", "mn")], extents),
    )
    model = partition(graph_of(operators), CASCADE_LAKE, fuse=fuse, kernels=KERNELS)
    planned = [op.name for plan in model.plans for op in plan.chain.operators]
    assert planned == [op.name for op in operators]
    if fuse is True:
        assert len(model.plans) == 1
    calls_s = (len(model.plans) - 1) * coefficients_for(CASCADE_LAKE).call_s
    assert model.predicted_seconds == pytest.approx(sum(plan.predicted_seconds for plan in model.plans) - calls_s)


@pytest.mark.parametrize("widths", [(64,) * 4, (768, 3072, 768, 3072), (128, 4096, 128)])
@pytest.mark.parametrize("rows", [128, 4096])
def test_a_chain_that_cannot_pay_is_found_without_a_search(rows: int, widths: tuple[int, ...]) -> None:
    """The bound is never above what the search finds, whatever may be prefetched."""
    graph = mlp(rows, widths)
    chain = make_chain(graph, graph.operators)
    plan = plan_chain(chain, CASCADE_LAKE)
    problem = planning_problem(chain, CASCADE_LAKE, registry.for_machine(CASCADE_LAKE), coefficients_for(CASCADE_LAKE))
    assert not any(term.kind is TermKind.SPILLS for term in plan.price.terms)
    assert can_cost(problem, plan.predicted_seconds)
    assert not can_cost(problem, plan.floor.compute_s / 2)


def test_layers_too_wide_for_one_chain_are_not_searched_as_one() -> None:
    graph = mlp(128, (768, 3072, 768, 3072, 768))
    names = [plan.chain.name for plan in partition(graph, CASCADE_LAKE).plans]
    assert len(names) > 1
    assert names == [
        plan.chain.name for plan in partition(graph, CASCADE_LAKE, coefficients=coefficients_for(CASCADE_LAKE)).plans
    ]


def test_layers_that_differ_in_names_only_have_the_plans_that_each_would_have_alone() -> None:
    model = partition(mlp(128, (96, 384, 96, 384, 96)), CASCADE_LAKE)
    assert len({plan.chain.name for plan in model.plans}) == len(model.plans)
    assert all(plan == plan_chain(replace(plan.chain), CASCADE_LAKE) for plan in model.plans)
    for fuse in (True, False):
        plans = partition(mlp(40, (48, 96, 48, 96)), CASCADE_LAKE, fuse=fuse).plans
        assert all(plan == plan_chain(replace(plan.chain), CASCADE_LAKE) for plan in plans)


def test_a_large_whole_is_planned_only_where_joined_neighbours_suggest_it(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[int] = []

    def counted(chain, *arguments):
        planned.append(len(chain.operators))
        return price_chain(chain, *arguments)

    monkeypatch.setattr("tilewright.plan.whole_model.planning_options.price_chain", counted)
    assert len(partition(mlp(128, (768, 3072, 768, 3072, 768)), CASCADE_LAKE).plans) > 1
    assert max(planned) == 2, "a bound rules out every pair of products"
    assert len(partition(mlp(65536, (64,) * 5), CASCADE_LAKE).plans) == 1
    assert max(planned) == 7


def test_names_are_no_part_of_a_structure_but_sizes_and_what_is_read_are() -> None:
    def of(names: str, m: int = 8, right: str = "kl") -> object:
        operators = (contraction(names[0], f"mk,{right}->ml", names[1:], {"m": m, "k": 16, "l": 16}),)
        graph = graph_of(operators)
        return canonical_form(make_chain(graph, graph.operators))

    assert of("CAB") == of("ZXY")
    assert len({of("CAB"), of("CAB", m=9), of("CAA"), of("CAB", right="lk")}) == 4


def test_what_is_read_twice_is_once_in_a_chain() -> None:
    """A product of a tensor with itself along other axes, behind a group that is divided contraction by contraction."""

    def correlation(x: Any) -> Any:
        centred = x - tw.mean(x, axis=-1, keepdims=True)
        scaled = centred / tw.sqrt(tw.mean(centred * centred, axis=-1, keepdims=True) + 0.01)
        twice = tw.broadcast_to(scaled, (2, *scaled.shape)) + 0.5
        squares = tw.einsum("gedfb,gedfb->ebgd", twice, twice) * 0.35
        return tw.einsum("ebgd,hbgd->eh", squares, squares)

    model = tw.jit(correlation, target="x86-64-v3").lower(tw.spec((2, 8, 8, 1))).model_plan
    planned = [operator.name for plan in model.plans for operator in plan.chain.operators]
    assert sorted(planned) == sorted({operator.name for operator in model.graph.operators})
