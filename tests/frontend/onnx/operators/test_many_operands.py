"""Operators of hundreds of operands: bodies and maps have a few, and results are those of the reference."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.onnx_operators import operator
from tilewright.errors import UnsupportedOperation
from tilewright.graph.builders.builder import MOST_NESTED, Builder
from tilewright.graph.builders.concatenate import MOST_PARTS
from tilewright.graph.expressions.scalar import Load, Scalar, apply, nesting
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import SymbolicExtent


@pytest.mark.parametrize("name", ["Sum", "Max", "Min", "Mean", "Concat"])
@pytest.mark.parametrize("count", [2, 31, 32, 33, 160, 1000])
def test_as_many_operands_as_a_model_has(name: str, count: int) -> None:
    node = operator(name, 13, **({"axis": 1} if name == "Concat" else {}))
    arrays = [np.random.default_rng(number).standard_normal((2, 3)).astype(np.float32) for number in range(count)]
    builder = Builder("many")
    result = node.lower(builder, *(builder.input(f"x{number}", (2, 3), "float32") for number in range(count)))
    graph = builder.graph((result.name,))
    assert max(nesting(one.body) for one in graph.operators) <= MOST_PARTS
    found = evaluate(graph, {f"x{number}": array for number, array in enumerate(arrays)})[result.name]
    np.testing.assert_allclose(found, node.reference(*arrays), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["Max", "Min"])
def test_extremes_of_many_operands_are_nested_flatly(name: str) -> None:
    """C of one inside the other 31 times takes compilers seconds, and of 63 times minutes."""
    builder = Builder("many")
    operator(name, 13).lower(builder, *(builder.input(f"x{number}", (2,), "float32") for number in range(160)))
    assert max(nesting(one.body) for one in builder.operators) == 5


def test_parts_of_run_time_extents() -> None:
    extent = SymbolicExtent("s", 1, 8, 2)
    builder = Builder("many")
    parts = [builder.input(f"x{number}", (extent, 2), "float32") for number in range(80)]
    result = operator("Concat", 13, axis=0).lower(builder, *parts)
    arrays = [np.full((3, 2), number, np.float32) for number in range(80)]
    found = evaluate(builder.graph((result.name,)), {f"x{number}": array for number, array in enumerate(arrays)})
    assert np.array_equal(found[result.name], np.concatenate(arrays))


def test_bodies_that_are_nested_too_deeply_are_refused() -> None:
    builder = Builder("deep")
    x = builder.input("x", (2,), "float32")
    body: Scalar = Load(0)
    for _ in range(MOST_NESTED):
        body = apply("exp", body)
    builder.body(body, x)
    with pytest.raises(UnsupportedOperation, match="in one expression"):
        builder.body(apply("exp", body), x)
