"""Names play no role in planning: whatever axes, tensors and operators are called, the plan is the same but for names."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.cases import CASCADE_LAKE, KERNELS, batch_chain, chain_of, contraction, names_between
from tests.replay.planning import graphs_of
from tests.support.halo_chains import convolution_chain
from tilewright.errors import PlanningError
from tilewright.graph.types import Chain, Graph
from tilewright.machine import Machine
from tilewright.plan.binding import bound_plan
from tilewright.plan.chains import Names, canonical_form, names_of, renamed, renamed_graph
from tilewright.plan.counts import Counted, counting
from tilewright.plan.planner import plan_chain
from tilewright.plan.reasons import NoMicroKernel, Unplannable
from tilewright.plan.types import ModelPlan, Plan
from tilewright.plan.whole_model.partition import partition
from tilewright.report.explain import explain_plan

NUMBER = re.compile(r"%(a|t|op)\d")
WORDS = ("k", "by", "m", "t_5", "t_1", "operators", "alone", "slower", "memory", "blocks", "L2", "a0", "z", "n2")
CHAINS = {
    "attention": batch_chain(12, 512, 64, 64, 512, with_softmax=True),
    "long sum": chain_of([contraction("C", "mk,kn->mn", "AB", {"m": 64, "n": 16, "k": 100_000})]),
    "convolutions": convolution_chain(28, 28, (64, 96, 64), (3, 1)),
}
GRAPHS = (
    ("attention", "causal"),
    ("convolutions", "transposed-stride"),
    ("layers", "gated"),
    ("gathers", "embedding-product"),
)


def shuffled(names: Iterable[str], seed: int) -> dict[str, str]:
    """Other names for names, in an order that has nothing to do with theirs."""
    old = list(names)
    new = [*WORDS, *(f"x{number}" for number in range(len(old)))][: max(len(old), len(WORDS))]
    random.Random(seed).shuffle(new)
    return dict(zip(old, new, strict=False))


def other_names(chain: Chain, seed: int) -> Names:
    """Other names for all that a chain names."""
    names = names_of(chain)
    axes, tensors, operators = (shuffled(kind.values(), seed) for kind in (names.axes, names.tensors, names.operators))
    return Names(axes, tensors, operators, "renamed")


def canonical(plan: Plan) -> Plan:
    """The plan in numbers."""
    return bound_plan(plan, canonical_form(plan.chain), names_of(plan.chain).inverse())


@given(st.sampled_from(sorted(CHAINS)), st.integers(0, 1000))
def test_chains_that_differ_in_names_only_are_planned_once(name: str, seed: int) -> None:
    chain = CHAINS[name]
    other = renamed(chain, other_names(chain, seed))
    first = plan_chain(chain, CASCADE_LAKE, kernels=KERNELS)
    with counting() as counts:
        second = plan_chain(other, CASCADE_LAKE, kernels=KERNELS)
    assert counts[Counted.PLANS] == 0
    assert canonical_form(other) == canonical_form(chain)
    assert second == bound_plan(first, other, names_between(chain, other))
    assert second.chain is other


@given(st.sampled_from(sorted(CHAINS)), st.integers(0, 1000))
def test_a_plan_speaks_the_names_of_its_chain(name: str, seed: int) -> None:
    chain = CHAINS[name]
    other = renamed(chain, other_names(chain, seed))
    text = explain_plan(plan_chain(other, CASCADE_LAKE, kernels=KERNELS))
    assert not NUMBER.search(text)
    assert all(operator.name in text for operator in other.operators)


def test_names_that_are_words_of_sentences_change_no_word() -> None:
    """A name may be a word of a reason: `by`, `k`, `slower`."""
    chain = batch_chain(12, 512, 64, 64, 512, with_softmax=True)
    words = iter(("by", "slower", "against", "operators", "alone", "memory", "of", "L2"))
    names = names_of(chain)
    tensors = {tensor: next(words) for tensor in names.tensors.values()}
    identity = [{name: name for name in kind.values()} for kind in (names.axes, names.operators)]
    plans = [plan_chain(each, CASCADE_LAKE) for each in (chain, renamed(chain, Names(identity[0], tensors, identity[1])))]
    rejected = [explain_plan(plan).partition("  rejected ")[2] for plan in plans]
    assert "every operator alone" in rejected[0]
    assert rejected[0] == rejected[1], "no reason of this chain speaks of a tensor"


@pytest.mark.parametrize(("subject", "name"), GRAPHS)
@pytest.mark.parametrize("seed", range(3))
def test_the_plan_of_a_graph_does_not_depend_on_names(subject: str, name: str, seed: int) -> None:
    (model,) = graphs_of(subject)[name]("zen4")
    names = other_names(_as_chain(model.graph), seed)
    other = partition(renamed_graph(model.graph, names), Machine.named("zen4"))
    plain = partition(model.graph, Machine.named("zen4"))
    assert _summary(other) == _summary(plain)
    assert [names.tensors[cut.tensor] for cut in plain.cuts] == [cut.tensor for cut in other.cuts]


def test_a_second_model_with_the_same_layers_plans_nothing() -> None:
    graph = graphs_of("layers")["chain-of-three"]("zen4")[0].graph
    with counting() as counts:
        model = partition(renamed_graph(graph, other_names(_as_chain(graph), 1)), Machine.named("zen4"))
    assert model.plans
    assert counts[Counted.PLANS] == counts[Counted.SEARCHES] == 0


def test_errors_speak_the_names_of_the_chain() -> None:
    with pytest.raises(PlanningError, match="no micro kernel can compute C on") as raised:
        plan_chain(CHAINS["long sum"], CASCADE_LAKE, kernels=())
    assert isinstance(raised.value, Unplannable)
    assert raised.value.reason == NoMicroKernel("C")


def _summary(model: ModelPlan) -> list[object]:
    cuts = [(cut.fused_seconds, cut.unfused_seconds, type(cut.reason), cut.whole) for cut in model.cuts]
    return [*map(canonical, model.plans), *cuts]


def _as_chain(graph: Graph) -> Chain:
    return Chain(graph.name, graph.tensors, graph.operators, tuple(name for name, _ in graph.constants))
