"""Products of few rows with weights of bytes read the bytes; what is rounded otherwise, or lies otherwise, stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.nbits_matmul import MOST_ROWS
from tilewright.graph.interpreter import evaluate
from tilewright.graph.licences import with_marks
from tilewright.graph.rewrites.constants.constant_part import split
from tilewright.graph.rewrites.weights_of_bytes import WeightsOfBytes
from tilewright.graph.types import Graph, Tensor
from tilewright.graph.verifier import verify

K, N = 96, 40
RANDOM = np.random.default_rng(0)
SCALES = RANDOM.uniform(0.01, 0.02, (N, 3)).astype(np.float32)
ZEROS = RANDOM.integers(-5, 6, (N, 3)).astype(np.int8)
Make = Callable[[Builder, Tensor], Tensor]
"""A weight (N, K) in float32 or a half, made of bytes (N, K)."""


def whole(builder: Builder, q: Tensor) -> Tensor:
    return builder.cast(q, "float32")


def by_column(builder: Builder, q: Tensor) -> Tensor:
    return builder.map("multiply", whole(builder, q), builder.constant(SCALES[:, :1]))


def by_number(builder: Builder, q: Tensor) -> Tensor:
    return builder.map("multiply", builder.map("subtract", whole(builder, q), 3.0), 0.02)


def by_group(builder: Builder, q: Tensor) -> Tensor:
    """Groups of 32 steps, as a dimension of their own."""
    scales, zeros = (builder.constant(array[:, :, None]) for array in (SCALES, ZEROS))
    centred = builder.map("subtract", whole(builder, builder.reshape(q, (N, 3, 32))), builder.cast(zeros, "float32"))
    return builder.reshape(builder.map("multiply", centred, scales), (N, K))


def halves(builder: Builder, q: Tensor) -> Tensor:
    """bfloat16 holds all bytes, and their differences."""
    zeros = builder.cast(builder.constant(np.abs(ZEROS[:, :1]).astype(q.dtype)), "bfloat16")
    return builder.map("subtract", builder.cast(q, "bfloat16"), zeros)


def graph_of(make: Make, dtype: str = "int8", rows: int = 3, *, is_turned: bool = False, steps: int = K) -> Graph:
    builder, limits = Builder("f"), np.iinfo(dtype)
    q = builder.constant(RANDOM.integers(limits.min, limits.max + 1, (steps, N) if is_turned else (N, steps)).astype(dtype), "q")
    weight = make(builder, builder.transpose(q, (1, 0)) if is_turned else q)
    product = builder.einsum("mk,nk->mn", builder.input("x", (rows, steps), weight.dtype), weight)
    return builder.graph((product.name,))


def read_types(graph: Graph) -> set[str]:
    """Of what is left to do in a call."""
    _, rest = split(graph)
    return {rest.tensor(read.tensor).dtype for operator in rest.operators for read in operator.reads}


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("make", [whole, by_column, by_number, by_group, halves])
def test_bytes_are_read_in_their_place(make: Make, dtype: str, is_turned: bool) -> None:
    graph = graph_of(make, dtype, is_turned=is_turned)
    changed = WeightsOfBytes().run(graph)
    verify(changed, graph)
    assert "uint8" in read_types(changed)
    x = RANDOM.standard_normal((3, K)).astype(graph.tensor("x").dtype)
    (expected,), (found,) = (evaluate(one, {"x": x}).values() for one in (graph, changed))
    assert found.dtype == expected.dtype
    expected, found = (array.astype(np.float32) for array in (expected, found))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def rounded(builder: Builder, q: Tensor) -> Tensor:
    return builder.cast(by_column(builder, q), "bfloat16")


def by_step(builder: Builder, q: Tensor) -> Tensor:
    return builder.map("multiply", whole(builder, q), builder.constant(np.ones(q.shape[1:], np.float32) * np.float32(0.3)))


STAYS: dict[str, Any] = {
    "weights that are rounded": graph_of(rounded),
    "a scale for every step": graph_of(by_step),
    "many rows": graph_of(by_column, rows=MOST_ROWS + 1),
    "steps that are no blocks": graph_of(by_column, steps=70),
    "sums of which every bit counts": (lambda graph: with_marks(graph, set(graph.outputs)))(graph_of(by_column)),
}


@pytest.mark.parametrize("why", STAYS)
def test_others_stay(why: str) -> None:
    assert WeightsOfBytes().run(STAYS[why]) == STAYS[why]
