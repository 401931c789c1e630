"""Random graphs in Triton's interpreter: every kind of them, and what a device must not cut or widen."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import tilewright as tw
from tests.support.sweeps import EQUAL
from tests.support.triton_graphs import graph_outcome, row_maxima

SEEDS = {
    "functions": 0,
    "rows": 1,
    "attention of one column": 158,
    "products of bytes that wrap between": 184,
    "minima of integers": 53,
}


@pytest.mark.parametrize("what", SEEDS)
def test_results_are_those_of_the_graph(interpreter: ProcessPoolExecutor, what: str) -> None:
    assert interpreter.submit(graph_outcome, SEEDS[what], "a100").result().kind == EQUAL


@pytest.mark.parametrize("target", ["a100", "h100"])
def test_grouped_attention_of_halves_is_one_kernel(target: str) -> None:
    def attention(q, k, v):
        return tw.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    specs = [tw.spec((1, heads, 64, 32), "float16") for heads in (4, 2, 2)]
    (plan,) = tw.jit(attention, target=target).lower(*specs).model_plan.plans
    assert [operator.kind for operator in plan.chain.operators] == ["einsum", "where", "softmax", "einsum"]
    assert {plan.chain.tensor(name).dtype for name in (*plan.chain.inputs, plan.chain.output)} == {"float16"}


def test_what_wants_float32_keeps_its_operands() -> None:
    def product(x, w):
        return x @ w.astype(np.float32)

    specs = tw.spec((32, 48), "float32"), tw.spec((48, 16), "float16")
    plans = tw.jit(product, target="a100").lower(*specs).model_plan.plans
    products = [operator for plan in plans for operator in plan.chain.operators if operator.is_product_sum()]
    assert len(products) == 1
    source = tw.jit(product, target="a100").lower(*specs).source
    assert 'input_precision="ieee"' in source


def test_extremes_hand_nan_on() -> None:
    def source(function):
        return tw.jit(function, target="a100").lower(tw.spec((8, 40))).source

    assert "float('nan')" in source(lambda x: tw.max(x, axis=-1))
    assert "float('nan')" not in source(lambda x: tw.softmax(x, axis=-1))


def test_nan_comes_out(interpreter: ProcessPoolExecutor) -> None:
    assert interpreter.submit(row_maxima).result() == [float("inf"), 2.0, None]
