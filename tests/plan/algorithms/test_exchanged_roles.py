"""Exchanged roles: which products the algorithm takes, what it makes of them, and when its price wins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.graphs import random
from tilewright import compiler
from tilewright.graph.builders.builder import Builder
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph, Tensor
from tilewright.machine import Machine
from tilewright.plan.algorithms.definition import Problem, expanded
from tilewright.plan.algorithms.exchanged_roles import ALGORITHM, MOST_COLUMNS
from tilewright.report.explain import explain

AVX512 = Machine.named("zen5")


def problem(graph: Graph) -> Problem:
    tensors = {tensor.name: tensor for tensor in graph.tensors}
    return Problem(graph.operators[0], tensors, frozenset(name for name, _ in graph.constants), AVX512)


def product(spec: str, left: tuple[int, ...], right: tuple[int, ...], constants: str = "l") -> Graph:
    """A product of two operands, of which some ("l", "r") are constants."""
    builder = Builder("product")

    def operand(name: str, shape: tuple[int, ...]) -> Tensor:
        return builder.constant(random(*shape)) if name in constants else builder.input(name, shape, "float32")

    return builder.graph((builder.einsum(spec, operand("l", left), operand("r", right)).name,))


@pytest.mark.parametrize(
    ("spec", "left", "right"),
    [
        ("mk,kn->mn", (40, 24), (24, 5)),
        ("km,kn->mn", (24, 40), (24, 5)),
        ("bmk,bkn->bmn", (3, 40, 24), (3, 24, 5)),
        ("mk,bkn->bmn", (40, 24), (3, 24, 5)),
        ("mk,nk->mn", (40, 24), (5, 24)),
        ("mk,kn->mn", (40, 24), (24, 81)),
        ("mk,bkn->bmn", (40, 24), (16, 24, 49)),
    ],
)
def test_the_expansion_means_what_the_product_does(spec: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    graph = product(spec, left, right)
    assert ALGORITHM.applies(problem(graph))
    changed = expanded(graph, {graph.operators[0].name: ALGORITHM}, problem(graph).constants, AVX512)
    assert [operator.is_contraction() for operator in changed.operators] == [True, False]
    inputs = {"r": random(*right)}
    (wanted,), (found,) = ([evaluate(one, inputs)[name] for name in graph.outputs] for one in (graph, changed))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        (product("mk,kn->mn", (40, 24), (24, 5), constants=""), "the left operand changes: it would be copied in every call"),
        (product("mk,kn->mn", (40, 24), (24, 5), constants="r"), "the right operand is the constant"),
        (product("mk,kn->mn", (40, 24), (24, MOST_COLUMNS + 16)), "columns fill vectors as they are"),
        (product("mk,bkhw->bmhw", (40, 24), (2, 24, 16, 8)), "all pixels are columns"),
        (product("mk,k->m", (40, 24), (24,)), "there are no columns to exchange with"),
        (product("k,kn->n", (24,), (24, 5)), "there are no rows"),
    ],
)
def test_other_products_stay_as_they_are(graph: Graph, why: str) -> None:
    assert not ALGORITHM.applies(problem(graph)), why


def test_rows_that_share_a_dimension_stay_where_they_are() -> None:
    """A write of b * 40 + m has no dimension that could be put last."""
    graph = product("bmk,bkn->bmn", (3, 40, 24), (3, 24, 5))
    (operator,) = graph.operators
    b, m, n = operator.write.indices
    merged = replace(operator, write=replace(operator.write, indices=(b * 40 + m, n)))
    assert not ALGORITHM.applies(replace(problem(graph), operator=merged))


def test_few_columns_of_a_large_constant_are_computed_exchanged() -> None:
    plan = compiler.plan(product("mk,kn->mn", (3000, 1000), (1000, 4)), AVX512)
    text = explain(plan)
    assert "by as written:" in text
    assert "transposed GEMM is faster" in text
    assert "constant prepacked" in text


def test_a_small_constant_is_multiplied_as_written() -> None:
    text = explain(compiler.plan(product("mk,kn->mn", (768, 48), (48, 48)), AVX512))
    assert "by transposed GEMM:" in text
    assert "as written is faster" in text


def test_a_map_behind_the_product_puts_the_result_into_its_place() -> None:
    builder = Builder("layer")
    x, bias = builder.input("x", (1000, 4), "float32"), builder.constant(random(2000, 1))
    y = builder.map("relu", builder.map("add", builder.matmul(builder.constant(random(2000, 1000)), x), bias))
    (plan,) = compiler.plan(builder.graph((y.name,)), AVX512).plans
    assert [operator.is_contraction() for operator in plan.chain.operators] == [True, False]
    assert plan.schedule.ahead
