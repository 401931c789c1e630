"""Sums of bytes in float32 that would become int32 on their way to readers in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.builders.convolutions.windows import Window
from tilewright.graph.expressions.scalar import Load, apply
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.integer_products import WholeSums
from tilewright.graph.rewrites.redundancy import DeadCode
from tilewright.graph.types import Graph, Tensor
from tilewright.graph.verifier import verify

CENTRED = apply("subtract", Load(0), Load(1))
MOST_TAPS = 258
"""The most for which 255 * 255 each are within 2^24."""


def depthwise(builder: Builder, taps: int, types: tuple[str, str] = ("uint8", "int8"), body: Any = CENTRED) -> Tensor:
    """Sums over so many neighbours of two channels, in float32."""
    x, w = builder.input("x", (1, 2, 6), types[0]), builder.input("w", (2, 1, taps), types[1])
    zeros = builder.input("x_zero", (), types[0]), builder.input("w_zero", (), types[1])
    numbers = [builder.body(body, one, zero, dtype="float32") for one, zero in zip((x, w), zeros, strict=True)]
    window = Window((taps,), extents=(6,), strides=(1,), dilations=(1,), begins=(taps - 1,), ends=(0,), outputs=(6,))
    return builder.record(convolution, *numbers, window, 2, kind="conv")


def scaled(taps: int = 3, **options: Any) -> Graph:
    """Such sums as int32, of which a map in float32 makes a half."""
    builder = Builder("f")
    sums = builder.cast(depthwise(builder, taps, **options), "int32")
    result = builder.map("multiply", builder.cast(sums, "float32"), 0.5)
    return builder.graph((result.name,))


def rewritten(graph: Graph) -> Graph:
    after = DeadCode().run(WholeSums().run(graph))
    verify(after)
    return after


def has_int32(graph: Graph) -> bool:
    return any(tensor.dtype == "int32" for tensor in graph.tensors)


def extremes(graph: Graph, seed: int) -> dict[str, Any]:
    rng, found = np.random.default_rng(seed), {}
    for name in graph.inputs:
        tensor = graph.tensor(name)
        limits = np.iinfo(tensor.dtype)
        found[name] = rng.choice([limits.min, limits.max], [extent for extent in tensor.shape if isinstance(extent, int)]).astype(
            tensor.dtype
        )
    return found


@pytest.mark.parametrize("taps", [1, 3, MOST_TAPS])
def test_the_sums_are_those_that_int32_would_have(taps: int) -> None:
    graph = scaled(taps)
    after = rewritten(graph)
    assert not has_int32(after)
    for seed in range(4):
        values = extremes(graph, seed)
        for was, now in zip(evaluate(graph, values), evaluate(after, values), strict=True):
            np.testing.assert_array_equal(was, now)


def test_more_taps_than_float32_counts_stay_as_they_are() -> None:
    assert has_int32(rewritten(scaled(MOST_TAPS + 1)))


@pytest.mark.parametrize(
    "options",
    [
        {"types": ("int16", "int8")},
        {"types": ("uint8", "int32")},
        {"body": apply("multiply", CENTRED, Load(0))},
        {"body": apply("divide", Load(0), Load(1))},
    ],
    ids=["wider image", "wider filters", "products", "quotients"],
)
def test_sums_of_other_numbers_stay_as_they_are(options: dict[str, Any]) -> None:
    assert has_int32(rewritten(scaled(**options)))


def test_readers_of_integers_keep_them() -> None:
    builder = Builder("f")
    sums = builder.cast(depthwise(builder, 3), "int32")
    wide = builder.map("add", sums, sums)
    assert wide.dtype == "int32"
    graph = builder.graph((wide.name,))
    assert rewritten(graph) == graph


def test_an_output_stays_an_output() -> None:
    builder = Builder("f")
    sums = builder.cast(depthwise(builder, 3), "int32")
    half = builder.map("multiply", builder.cast(sums, "float32"), 0.5)
    after = rewritten(builder.graph((sums.name, half.name)))
    assert after.tensor(sums.name).dtype == "int32"
    assert len(after.operators) == len(builder.operators)
