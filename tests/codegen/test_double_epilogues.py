"""Maps of float64 behind products of float64: micro tiles apply them, with the bits of loops of their own."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import compiler
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.plan.types import ModelPlan

SHAPES = ((37, 53, 19), (6, 32, 0), (1, 9, 5), (40, 70, 300))
TARGETS = [
    "x86-64-v2",
    pytest.param("x86-64-v3", marks=pytest.mark.needs("avx2", "fma")),
    pytest.param("x86-64-v4", marks=pytest.mark.needs("avx512bw", "avx512dq")),
]


def layer(m: int, n: int, k: int, *, reads_float32: bool = False) -> Graph:
    """|-(max(a b + c, 1/2) d - e)|: rows, columns, both, and literals. Where it reads float32, a map is in a loop of its own."""
    builder = Builder("layer")
    a, b = builder.input("a", (m, k), "float64"), builder.input("b", (k, n), "float64")
    row, column = builder.input("c", (n,), "float64"), builder.input("e", (m, 1), "float64")
    other = builder.input("d", (m, n), "float32" if reads_float32 else "float64")
    larger = builder.map("maximum", builder.map("add", builder.matmul(a, b), row), 0.5)
    scaled = builder.map("subtract", builder.map("multiply", larger, other), column)
    return builder.graph((builder.map("abs", builder.map("negative", scaled)).name,))


def inputs(m: int, n: int, k: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    values = {name: random.standard_normal(shape) for name, shape in (("a", (m, k)), ("b", (k, n)), ("c", (n,)), ("e", (m, 1)))}
    values["c"][:2] = np.nan, np.inf
    return values | {"d": random.standard_normal((m, n), np.float32).astype(np.float64)}


def run(plan: ModelPlan, given: dict[str, np.ndarray]) -> np.ndarray:
    executable = compiler.build(plan, threads=1)
    values = [given[slot.name].astype(slot.dtype) for slot in executable.signature.inputs]
    outputs = executable.new_outputs(values)
    executable.run(values, outputs)
    return outputs[0]


def followers(plan: ModelPlan) -> list[str]:
    return [part.epilogue_of for chain in plan.plans for part in chain.operators if part.micro_kernel is None]


@pytest.mark.parametrize("target", TARGETS)
def test_maps_behind_products_have_the_bits_of_loops_of_their_own(target: str) -> None:
    machine, in_tiles = Machine.named(target), []
    for shape in SHAPES:
        joined, apart = (compiler.plan(layer(*shape, reads_float32=alone), machine) for alone in (False, True))
        given = inputs(*shape)
        got, expected = run(joined, given), run(apart, given)
        np.testing.assert_array_equal(got.view(np.int64), expected.view(np.int64))
        with np.errstate(invalid="ignore"):
            reference = np.abs(np.maximum(given["a"] @ given["b"] + given["c"], 0.5) * given["d"] - given["e"])
        np.testing.assert_allclose(got, reference, rtol=1e-12, atol=1e-12)
        assert not any(followers(apart))
        in_tiles.append(all(followers(joined)))
    assert any(in_tiles)
