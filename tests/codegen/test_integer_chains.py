"""Chains of products of integers with what is between them as one kernel: bits of the definition, fused and not."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tilewright import compiler
from tilewright.api.building import Options
from tilewright.api.compiled import Compiled
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.einsum import integer_matmul
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import Graph, Tensor
from tilewright.machine import Machine
from tilewright.plan.types import Plan
from tilewright.report.explain import explain

STEP, MIDDLE, FACTOR = 0.02, 0.05, 0.0004


def quantised(builder: Builder, x: Tensor, steps: Scalar, zero: int, dtype: str = "uint8") -> Tensor:
    """Whole numbers of steps, counted from the zero point, within the range of the type."""
    limits = np.iinfo(dtype)
    shifted = apply("add", apply("round", steps), Literal(float(zero)))
    bounded = apply("minimum", apply("maximum", shifted, Literal(float(limits.min))), Literal(float(limits.max)))
    return builder.body(bounded, x, dtype=dtype, accumulator="float32", kind="quantize")


def scaled(builder: Builder, sums: Tensor, factor: float) -> Tensor:
    """Sums of integers as floats, multiplied."""
    body = apply("multiply", Load(0), Literal(factor))
    return builder.body(body, sums, dtype="float32", accumulator="float32", kind="scale")


def in_numpy(steps: Any, zero: int, dtype: str = "uint8") -> Any:
    limits = np.iinfo(dtype)
    return np.clip(np.rint(steps) + np.float32(zero), limits.min, limits.max).astype(dtype)


def layers(rows: int, extents: tuple[int, ...], bits: int, zero: int) -> tuple[Graph, list[Any]]:
    """Quantised layers with ReLU between them; one zero point of all activations."""
    random = np.random.default_rng(sum(extents) + bits + zero)
    most = 2 ** (bits - 1)
    weights = [random.integers(-most, most, shape).astype(np.int8) for shape in pairwise(extents)]
    builder = Builder("layers")
    value = builder.input("x", (rows, extents[0]), "float32")
    steps: Scalar = apply("divide", Load(0), Literal(STEP))
    point = builder.constant(np.array(zero, np.uint8))
    for weight in weights:
        number = quantised(builder, value, steps, zero)
        value = builder.record(integer_matmul, number, builder.constant(weight), point if zero else None, kind="matmul")
        real = apply("maximum", apply("multiply", Load(0), Literal(FACTOR)), Literal(0.0))
        steps = apply("divide", real, Literal(MIDDLE))
    return builder.graph((scaled(builder, value, FACTOR).name,)), weights


def expected_layers(x: Any, weights: list[Any], zero: int) -> Any:
    steps = x / np.float32(STEP)
    for weight in weights:
        sums = (in_numpy(steps, zero).astype(np.int32) - zero) @ weight.astype(np.int32)
        real = sums.astype(np.float32) * np.float32(FACTOR)
        steps = np.maximum(real, 0) / np.float32(MIDDLE)
    return real


def computed(graph: Graph, fuse: bool | None, *arguments: Any) -> Any:
    """The result on this machine."""
    options = Options(Machine.detect(), fuse, threads=2 if fuse else 1)
    (found,) = Compiled(*options.loaded(*options.generated(graph), copies=True)).run(arguments)
    return found


LAYERS = [
    (1, (64, 96, 32), 7, 131),
    (5, (48, 64, 48), 8, 0),
    (33, (67, 100, 35), 7, 0),
    (33, (67, 100, 35), 8, 131),
    (70, (128, 300, 64, 40), 7, 131),
    (70, (128, 300, 64, 40), 8, 0),
    (33, (801, 1100, 35), 8, 0),
]
"""Rows, extents of layers, bits of weights and the zero point of activations."""


@pytest.mark.parametrize("fuse", [None, True])
@pytest.mark.parametrize(("rows", "extents", "bits", "zero"), LAYERS)
def test_layers_are_those_of_the_definition(rows: int, extents: tuple[int, ...], bits: int, zero: int, fuse: bool | None) -> None:
    graph, weights = layers(rows, extents, bits, zero)
    x = (np.random.default_rng(rows).standard_normal((rows, extents[0])) * 1.5).astype(np.float32)
    found = computed(graph, fuse, x)
    np.testing.assert_array_equal(found, expected_layers(x, weights, zero))


@pytest.mark.parametrize("extents", [(64, 96, 64), (768, 3072, 64)], ids=["short", "long"])
@pytest.mark.parametrize(("machine", "bits"), [("x86-64-v3", 7), ("x86-64-v3", 8), ("zen4", 8), ("sapphirerapids", 8)])
def test_layers_are_one_kernel(machine: str, bits: int, extents: tuple[int, ...]) -> None:
    """Sums are complete in their tiles, however long they are."""
    graph, _ = layers(128, extents, bits, 0)
    (plan,) = compiler.plan(graph, Machine.named(machine), fuse=True).plans
    assert len(products(plan)) == 2


def test_a_product_is_not_cut_into_blocks_for_a_map_before_it() -> None:
    graph, _ = layers(48, (64, 96), 8, 0)
    plan = compiler.plan(graph, Machine.named("zen4"), fuse=True)
    assert [len(products(part)) for part in plan.plans] == [0, 1]
    assert "elementwise operators alone make the integers" in explain(plan)


def products(plan: Plan) -> list[str]:
    """The micro kernels of a chain."""
    return [part.micro_kernel for part in plan.operators if part.micro_kernel]


def attention(heads: int, length: int, width: int) -> Graph:
    """softmax(q k^T) v of bytes, with probabilities as multiples of 1/255."""
    builder = Builder("attention")
    q, k, v = (builder.input(name, (heads, length, width), "int8") for name in "qkv")
    scores = builder.record(integer_matmul, q, builder.transpose(k, (0, 2, 1)), kind="matmul")
    shares = quantised(
        builder, builder.softmax(scaled(builder, scores, 0.001), -1), apply("divide", Load(0), Literal(1 / 255)), 0
    )
    sums = builder.record(integer_matmul, shares, v, kind="matmul")
    return builder.graph((scaled(builder, sums, 0.001).name,))


@pytest.mark.parametrize("fuse", [None, True])
@pytest.mark.parametrize(("heads", "length", "width"), [(1, 1, 8), (2, 33, 16), (3, 70, 64)])
def test_attention_is_at_most_a_step_from_the_definition(heads: int, length: int, width: int, fuse: bool | None) -> None:
    """Where float64 says which step a share is nearest to, it is that."""
    random = np.random.default_rng(length)
    q, k, v = (random.integers(-128, 128, (heads, length, width)).astype(np.int8) for _ in range(3))
    scores = (q.astype(np.int64) @ k.astype(np.int64).transpose(0, 2, 1)) * np.float64(np.float32(0.001))
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares = shares / shares.sum(-1, keepdims=True) * 255
    unsure = np.abs(shares - np.floor(shares) - 0.5) < 1e-3
    most = (unsure.astype(np.int64) @ np.abs(v.astype(np.int64)) + 1e-6) * 0.001 * 1.001
    found = computed(attention(heads, length, width), fuse, q, k, v)
    expected = (np.rint(shares).astype(np.int64) @ v.astype(np.int64)) * np.float64(np.float32(0.001))
    assert (np.abs(found - expected) <= most + 1e-6 * np.abs(expected)).all()
