"""Maps of integers in the order of what they read."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.scalar import Load, apply
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.index_changes.fold_index_maps import FoldIndexMaps
from tilewright.graph.rewrites.index_changes.reorder_dimensions import IntegersInOrder
from tilewright.graph.rewrites.redundancy import DeadCode
from tilewright.graph.types import Graph
from tilewright.graph.verifier import verify

CENTRED = apply("subtract", Load(0), Load(1))


def zero_points(dtype: str = "int32", *, is_output: bool = False) -> Graph:
    """Sums with filters last, less a total of each filter, and then a map in float32 with pixels last."""
    builder = Builder("f")
    sums, totals = builder.input("sums", (2, 5, 7, 3), dtype), builder.input("totals", (3, 1, 1), dtype)
    turned = builder.body(CENTRED, builder.transpose(sums, (0, 3, 1, 2)), totals, dtype=dtype)
    scaled = builder.body(apply("multiply", Load(0), Load(0)), turned, dtype="float32", accumulator="float32")
    return DeadCode().run(FoldIndexMaps().run(builder.graph((turned.name,) if is_output else (scaled.name,))))


def shapes(graph: Graph) -> list[tuple[object, ...]]:
    return [graph.tensor(operator.write.tensor).shape for operator in graph.operators if operator.reads[0].tensor == "sums"]


def test_the_reader_turns() -> None:
    before = zero_points()
    after = IntegersInOrder().run(before)
    verify(after, before)
    assert shapes(before) == [(2, 3, 5, 7)]
    assert shapes(after) == [(2, 5, 7, 3)]
    sizes = {name: before.tensor(name).shape for name in before.inputs}
    inputs = {name: np.random.default_rng(0).integers(-1000, 1000, shape).astype(np.int32) for name, shape in sizes.items()}
    for name, expected in evaluate(before, inputs).items():
        np.testing.assert_array_equal(evaluate(after, inputs)[name], expected)


@pytest.mark.parametrize("graph", [zero_points(is_output=True), zero_points("float32")])
def test_others_stay(graph: Graph) -> None:
    assert IntegersInOrder().run(graph) == graph


def test_ends_stay() -> None:
    graph = zero_points()
    names = {operator.write.tensor for operator in graph.operators}
    assert IntegersInOrder(names).run(graph) == graph
