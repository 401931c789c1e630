"""Constants of channels as vectors: where they may be, and where a reader needs them as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.index import axis
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.constants.constant_part import ConstantVectors
from tilewright.graph.types import Graph
from tilewright.graph.verifier import verify

RANDOM = np.random.default_rng(5)
X = RANDOM.standard_normal((1, 3, 2, 4), np.float32)


def biased(shape: tuple[int, ...]) -> Graph:
    """x + bias."""
    builder = Builder("biased")
    x = builder.input("x", X.shape, "float32")
    return builder.graph((builder.map("add", x, builder.constant(RANDOM.standard_normal(shape, np.float32), "bias")).name,))


def shape_of_bias(graph: Graph) -> tuple[int, ...]:
    ((_, constant),) = graph.constants
    return constant.array.shape


@pytest.mark.parametrize(
    ("shape", "shorter"),
    [
        ((1, 3, 1, 1), (1, 3)),
        ((3, 1, 1), (3,)),
        ((2, 1), (2,)),
        ((3, 2, 1), (3, 2, 1)),
        ((4,), (4,)),
        ((1, 1, 1), (1, 1, 1)),
    ],
)
def test_vectors_lose_what_is_behind_them(shape: tuple[int, ...], shorter: tuple[int, ...]) -> None:
    graph = biased(shape)
    after = ConstantVectors().run(graph)
    verify(after)
    assert shape_of_bias(after) == shorter
    np.testing.assert_array_equal(evaluate(after, {"x": X})[after.outputs[0]], evaluate(graph, {"x": X})[graph.outputs[0]])


def test_constants_of_products_and_outputs_stay() -> None:
    builder = Builder("product")
    x, weights = builder.input("x", (2, 3), "float32"), builder.constant(np.ones((3, 1), np.float32))
    product = builder.graph((builder.matmul(x, weights).name,))
    assert ConstantVectors().run(product) == product
    both = biased((1, 3, 1, 1))
    shown = replace(both, outputs=(*both.outputs, both.constants[0][0]))
    assert ConstantVectors().run(shown) == shown


def test_constants_that_are_read_beyond_their_element_stay() -> None:
    graph = biased((3, 1, 1))
    (operator,) = graph.operators
    x, bias = operator.reads
    moved = replace(bias, indices=(bias.indices[0], axis(operator.axes[0].name), bias.indices[2]))
    changed = replace(graph, operators=(replace(operator, reads=(x, moved)),))
    assert ConstantVectors().run(changed) == changed
