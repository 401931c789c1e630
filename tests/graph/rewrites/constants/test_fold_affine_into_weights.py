"""What multiplies a product with constant weights is in the weights afterwards, and the results are the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.graphs import random
from tests.support.halo_chains import convolution_chain
from tilewright.compiler import rewrite
from tilewright.frontend.tracing.trace import TensorSpec, trace
from tilewright.graph.builders.builder import Builder
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.constant_factors import FoldAffineIntoWeights
from tilewright.graph.rewrites.constants.constant_part import split
from tilewright.graph.types import Graph, Operator, Tensor
from tilewright.graph.verifier import verify

W, S, T, ROWS = random(6, 9, seed=1), random(9, seed=2), random(9, seed=3), random(5, 1, seed=4)
MEAN, VARIANCE = random(9, seed=5), random(9, seed=6) ** 2
ROOT = np.sqrt(VARIANCE + np.float32(1e-5))

FOLDED: dict[str, Callable[[Any], Any]] = {
    "gain": lambda x: (x @ W) * S,
    "gain in front": lambda x: S * (x @ W) + T,
    "bias and gain": lambda x: (x @ W + T) * S,
    "batch norm": lambda x: (x @ W - MEAN) / ROOT * S + T,
    "below a function": lambda x: tw.relu((x @ W) * S + T),
    "below a function of many steps": lambda x: tw.silu((x @ W) * S + T),
    "with a residual": lambda x: (x @ W) * S + x[:, :1],
    "weights on the left": lambda x: (tw.einsum("nk,mk->nm", W.T, x) * S[:, None]).T,
    "a gain about 1": lambda x: (x @ W) * (1 + S) + (T - x[:, :1]),
    "left out before": lambda x: tw.where((x @ W) * S > 0, (x @ W) * S, 0.0),
}
KEPT: dict[str, Callable[[Any], Any]] = {
    "a factor of rows": lambda x: (x @ W) * ROWS,
    "a number": lambda x: (x @ W) * 0.5 + T,
    "a factor that is no constant": lambda x: (x @ W) * x[:, :1],
    "a square": lambda x: (x @ W) ** 2 * S,
    "a factor of a part": lambda x: (x @ W)[:, :4] * S[:4],
    "a factor of a row": lambda x: (x @ W)[:, None] * np.tile(S, (2, 1)),
    "read twice": lambda x: tw.relu(x @ W) * S + (x @ W).T.reshape(5, 9),
}


def graph_of(function: Callable[[Any], Any]) -> Graph:
    return trace(function, [TensorSpec((5, 6), name="x")])


def check(graph: Graph, changed: Graph, **inputs: Any) -> None:
    expected, found = (evaluate(one, inputs, dtype="float64") for one in (graph, changed))
    for name in graph.outputs:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", FOLDED)
def test_factors_move_into_weights(name: str) -> None:
    graph = graph_of(FOLDED[name])
    changed = rewrite(graph)
    check(graph, changed, x=random(5, 6))
    constant, other = split(changed)
    assert any(operator.kind == "scale" for operator in constant.operators)
    functions = [function for operator in other.operators if operator.is_map() for function in operator.functions()]
    assert "multiply" not in functions


@pytest.mark.parametrize("name", KEPT)
def test_other_factors_stay(name: str) -> None:
    graph = graph_of(KEPT[name])
    changed = rewrite(graph)
    check(graph, changed, x=random(5, 6))
    assert not split(changed)[0].operators


def test_convolutions_behind_each_other() -> None:
    """Channels last, windows in the second's reads: both norms disappear."""
    chain = convolution_chain(4, 5, (3, 6, 7), (3, 1))
    first, second = chain.operators
    builder = Builder("convolutions")
    x = builder.input("X", chain.tensor("X").shape, "float32")
    for seed, name in enumerate(chain.inputs[1:]):
        builder.constant(random(*chain.tensor(name).shape, seed=seed), name)

    def normed(operator: Operator) -> Tensor:
        builder.operators.append(operator)
        result = builder.declare(chain.tensor(operator.write.tensor))
        return builder.map("multiply", result, builder.constant(random(result.shape[-1], seed=7)))

    between = normed(first)
    image, filters = second.reads
    out = normed(replace(second, reads=(replace(image, tensor=between.name), filters)))
    graph = builder.graph((out.name,))
    verify(graph)
    changed = rewrite(graph)
    check(graph, changed, X=random(*x.shape))
    assert [operator.kind for operator in split(changed)[1].operators] == ["conv", "conv"]


@pytest.mark.needs("avx2", "fma")
def test_a_compiled_batch_norm() -> None:
    function = tw.jit(FOLDED["batch norm"], target="x86-64-v3", threads=1)
    x = random(5, 6)
    np.testing.assert_allclose(function(x), FOLDED["batch norm"](x), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(function(x), function(x, interpret=True), rtol=1e-4, atol=1e-4)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: (x @ W) * S + (y - 1000) * (y - 1000),
        lambda x, y: (x @ W + (y - 1000)) * S,
    ],
    ids=["a square", "a difference in front"],
)
def test_sums_that_cancel_are_not_multiplied_out(function: Callable[[Any, Any], Any]) -> None:
    x, y = random(5, 6), random(5, 9, seed=7) + np.float32(1000)
    expected = function(x.astype("f8"), y.astype("f8"))
    found = tw.jit(function, target="x86-64-v3", threads=1)(x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-5)


def test_short_weights_are_not_rounded_again() -> None:
    builder = Builder("f")
    x, w = builder.input("x", (5, 6), "bfloat16"), builder.cast(builder.constant(W), "bfloat16")
    gained = builder.map("multiply", builder.einsum("mk,kn->mn", x, w, dtype="float32"), builder.constant(S))
    graph = builder.graph((gained.name,))
    assert FoldAffineIntoWeights().run(graph) == graph
