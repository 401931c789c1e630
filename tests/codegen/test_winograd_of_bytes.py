"""Winograd's algorithm on 16-bit numbers, compiled, and shifts of whole numbers in vectors: the bits of the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.codegen.test_convolutions import run
from tests.plan.algorithms.test_integer_product import extremes
from tests.plan.algorithms.test_short_product import convolved
from tests.support.algorithms import forced
from tests.support.guarded import in_child
from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.interpreter import evaluate
from tilewright.machine import Machine
from tilewright.plan.algorithms.of_bytes.short_product import WINOGRAD

IS_OFFERED = "avx2" in Machine.detect().features


def check(image: tuple[int, ...], filters: int, attributes: dict[str, Any], zeros: tuple[Any, Any]) -> None:
    graph = convolved(image, (filters, image[1], 3, 3), attributes, zeros)
    x = extremes(np.random.default_rng(2), image, "uint8")
    (wanted,) = evaluate(graph, {"x": x}).values()
    for algorithm in WINOGRAD:
        with forced(algorithm.name):
            found = run(graph, [x])
        np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.skipif(not IS_OFFERED, reason="needs products of 16-bit numbers")
@pytest.mark.parametrize(
    ("image", "filters", "attributes"),
    [((2, 17, 6, 7), 5, {"pads": (1, 1, 1, 1)}), ((1, 32, 13, 9), 24, {"pads": (0, 1, 1, 0)}), ((1, 3, 3, 4), 1, {})],
)
def test_sums_are_those_of_the_operator(image: tuple[int, ...], filters: int, attributes: dict[str, Any]) -> None:
    in_child(check, image, filters, attributes, (np.array(255, np.uint8), np.array(-128, np.int8)))


@pytest.mark.parametrize("bits", [0, 2, 31])
@pytest.mark.parametrize("dtype", ["int32", "int16"])
def test_shifts_keep_signs(bits: int, dtype: str) -> None:
    x = extremes(np.random.default_rng(3), (5, 37), dtype)
    builder = Builder("shifted")
    body = apply("right_shift", apply("subtract", Load(0), Literal(1.0)), Literal(float(bits)))
    found = builder.body(body, builder.input("x", x.shape, dtype), dtype="int32", accumulator="int32")
    (result,) = (run(builder.graph((found.name,)), [x]),)
    np.testing.assert_array_equal(result, (x.astype(np.int32) - 1) >> bits)
