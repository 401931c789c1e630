"""A plan of many chains is told on a page or two: equal chains and equal cuts once."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.support.models import SMALL, Transformer, encoder, exported_encoder, weights
from tilewright import compiler
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.frontend.tracing.trace import TensorSpec, trace
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.plan.chains import canonical_form
from tilewright.plan.types import ModelPlan
from tilewright.plan.whole_model.partition import partition
from tilewright.report.explain import explain
from tilewright.report.model import explain_model, kinds_of

MODEL = Transformer(layers=5, width=SMALL.width, heads=SMALL.heads, hidden=SMALL.hidden, rows=SMALL.rows)


def graph_of(is_exported: bool) -> Graph:
    build = exported_encoder if is_exported else encoder
    specs = [TensorSpec(MODEL.input_shape, name="x"), TensorSpec((1, 1, 1, MODEL.rows), name="mask")]
    return compiler.rewrite(trace(build(MODEL, weights(MODEL)), specs))


@cache
def planned(is_exported: bool = False) -> ModelPlan:
    return partition(graph_of(is_exported), Machine.named("x86-64-v3"))


def test_every_chain_is_counted() -> None:
    kinds = kinds_of(planned())
    assert sum(len(kind.plans) for kind in kinds) == len(planned().plans)
    assert all(len({canonical_form(plan.chain) for plan in kind.plans}) == 1 for kind in kinds)
    assert all(len(kind.plans) % MODEL.layers == 0 for kind in kinds)


def test_five_layers_are_told_as_one() -> None:
    lines = explain(planned()).splitlines()
    assert len(lines) <= 3 + 120
    assert max(map(len, lines)) <= 120
    assert lines[3].startswith(f"whole: {len(planned().plans)} chains of {len(kinds_of(planned()))} kinds, ")
    rows = [line for line in lines if re.match(r"\s+(chains)?\s+(count|\[\d+\]\s+\d+\s+\d)", line)]
    assert len(rows) == 1 + len(kinds_of(planned())), "a head, and a row for each"


def test_every_decision_is_told_once_with_its_chains() -> None:
    decisions = " ".join(explain(planned()).partition("  decisions ")[2].partition("  not fused ")[0].split())
    assert set(re.findall(r"\[\d+\]", decisions)) == {f"[{number}]" for number in range(1, len(kinds_of(planned())) + 1)}
    assert decisions.count("independent accumulators") == decisions.count("share the loops") == 1
    assert re.search(r"independent accumulators hide the latency of combining: .*\[\d+\] softmax", decisions)


def test_the_full_text_has_a_page_for_each_kind() -> None:
    brief, full = explain(planned()), explain(planned(), full=True)
    assert full.startswith(brief)
    for number, kind in enumerate(kinds_of(planned()), 1):
        page = full.partition(f"\n[{number}] {kind.first.chain.name} on ")[2].partition("\n[")[0]
        assert all(f"\n  {label} " in page for label in ("schedule", "kernels", "price", "floor", "fusion"))
        assert page.count(" against ") >= len(kind.first.rejected)


def test_the_arena_is_told() -> None:
    (line,) = [line for line in explain_model(planned()).splitlines() if line.lstrip().startswith("arena")]
    assert "MiB" in line or "KiB" in line


@pytest.mark.parametrize("is_exported", [False, True])
def test_layers_have_the_plans_that_they_have_alone(is_exported: bool) -> None:
    """Plans of equal structure differ in names alone, and so do their reasons."""
    for kind in kinds_of(planned(is_exported)):
        for plan in kind.plans:
            assert plan.predicted_seconds == kind.first.predicted_seconds
            assert [one.operator for one in plan.operators] == [operator.name for operator in plan.chain.operators]
            assert {one.tensor for one in plan.movements} <= {tensor.name for tensor in plan.chain.tensors}


def test_an_exporters_small_steps_are_planned_as_the_operators_themselves() -> None:
    plain, exported = ([len(plan.chain.operators) for plan in planned(form).plans] for form in (False, True))
    assert plain == exported
    assert planned(True).predicted_seconds == pytest.approx(planned().predicted_seconds)


def test_algorithms_that_lost_are_listed() -> None:
    builder = Builder("convolutions")
    y = builder.input("x", (1, 16, 14, 14), "float32")
    for number in range(4):
        window = window_of((14, 14), (3, 3), where="Conv", pads=(1,) * 4)
        w = builder.input(f"w{number}", (16, 16, 3, 3), "float32")
        y = builder.map("relu", builder.record(convolution, y, w, window, 1, kind="conv"))
    text = " ".join(explain(compiler.plan(builder.graph((y.name,)), Machine.named("x86-64-v3"))).split())
    assert re.search(r"algorithms \[\d+\] conv\w* by [A-Za-z0-9(), ]+: .* against .*; [A-Za-z0-9(), ]+ is faster", text)
