"""Random products of integers and short floats by generated code, against the interpreter."""

from __future__ import annotations

import pytest

from tests.support.random.products import random_products
from tests.support.typed import assert_same, meanings, run
from tilewright import compiler
from tilewright.machine import Machine

TARGETS = ["x86-64-v2", pytest.param("x86-64-v4", marks=pytest.mark.needs("avx512bw", "avx512dq"))]


def check(seed: int, target: str) -> None:
    graphs = random_products(seed)
    graph = graphs.graph()
    for got, expected in zip(run(graph, graphs.values, target), meanings(graph, graphs.values), strict=True):
        assert_same(got, expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(10))
def test_random_products(seed: int, target: str) -> None:
    check(seed, target)


def test_they_draw_products_for_kernels_of_bytes_and_of_bfloat16() -> None:
    plans = [compiler.plan(random_products(seed).graph(), Machine.named("x86-64-v2")) for seed in range(10)]
    kernels = [one.micro_kernel for plan in plans for chain in plan.plans for one in chain.operators if one.micro_kernel]
    assert {"u8s8", "bf16"} <= {part for kernel in kernels for part in kernel.split("_")}
