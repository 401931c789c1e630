"""Maps of bytes in the sums behind them: what they give, and where they stay maps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.algorithms import computed_by
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.fusion.fuse_maps import StartWeightedSums, byte_of
from tilewright.graph.types import Graph, Tensor
from tilewright.graph.verifier import verify

LESS_7: Scalar = apply("subtract", Load(0), Literal(7.0))
SCALED = apply("multiply", LESS_7, Literal(0.3))


def sums(body: Scalar, dtype: str = "uint8", pads: int = 1, also: Callable[[Builder, Tensor], Tensor] | None = None) -> Graph:
    """Filters of one channel over what a map makes of bytes, which another operator may read, too."""
    builder = Builder("f")
    x, w = builder.input("x", (1, 2, 5, 6), dtype), builder.input("w", (2, 1, 3, 3), "float32")
    image = builder.body(body, x, dtype="float32", kind="map")
    window = window_of((5, 6), (3, 3), where="Conv", pads=(pads,) * 4)
    y = builder.record(convolution, image, w, window, 2, kind="conv")
    return computed_by(builder.graph((y.name, *([also(builder, image).name] if also else []))), "sliding sums")


@pytest.mark.parametrize(
    ("graph", "is_started"),
    [
        (sums(Load(0)), True),
        (sums(LESS_7), True),
        (sums(SCALED), True),
        (sums(LESS_7, "int8"), True),
        (sums(apply("add", LESS_7, Literal(0.5)), pads=0), True),
        (sums(apply("add", LESS_7, Literal(0.5))), False),  # no byte is padding
        (sums(apply("subtract", Load(0), Literal(256.0))), False),  # nor is 256
        (sums(apply("multiply", LESS_7, Literal(-0.3))), False),  # the byte of padding gives -0
        (sums(apply("add", SCALED, Literal(0.0))), False),  # long for a step that is taken again by every window
        (sums(apply("multiply", Load(0), Load(0))), False),
        (sums(LESS_7, "int16"), False),
        (sums(LESS_7, "float32"), False),
        (sums(LESS_7, also=lambda builder, image: image), False),
        (sums(LESS_7, also=lambda builder, image: builder.map("relu", image)), False),
    ],
)
def test_where_it_is_legal(graph: Graph, is_started: bool) -> None:
    after = StartWeightedSums().run(graph)
    verify(after, graph)
    assert (len(after.operators) < len(graph.operators)) == is_started
    random = np.random.default_rng(0)
    inputs = {"x": random.integers(0, 100, (1, 2, 5, 6)).astype(graph.tensor("x").dtype)}
    inputs["w"] = random.standard_normal((2, 1, 3, 3)).astype(np.float32)
    for got, expected in zip(evaluate(after, inputs).values(), evaluate(graph, inputs).values(), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_bytes_of_padding_are_found_bit_for_bit() -> None:
    assert byte_of(SCALED, 0.0, "uint8") == 7.0
    assert byte_of(apply("multiply", Load(0), Literal(-2.0)), 0.0, "uint8") is None
    assert byte_of(apply("multiply", Load(0), Literal(-2.0)), 256.0, "int8") == -128.0
