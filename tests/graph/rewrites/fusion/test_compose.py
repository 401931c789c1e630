"""Bodies of positions computed by their readers: every quotient and every remainder is the one that is meant."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import compiler
from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.operators.generator.generators import Trilu
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.norms import layer_norm
from tilewright.graph.expressions.index import axis
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.fusion.compose import inlined
from tilewright.graph.types import Access, Axis, Graph, Operator, Tensor
from tilewright.machine import Machine


def places(shape: tuple[int, int], dtype: str, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Row and column in one number, made of nothing that is read."""
    axes = tuple(Axis(f"d{dimension}", extent) for dimension, extent in enumerate(shape))
    body = apply("add", apply("multiply", AxisValue("d0"), Literal(100.0)), AxisValue("d1"))
    write = Access(result, tuple(axis(one.name) for one in axes))
    return Operator(name, "places", axes, (), write, body, accumulator=dtype), Tensor(result, shape, dtype)


def backwards(dtype: str) -> Graph:
    """x plus the places of a transposed matrix, row by row from its end."""
    builder = Builder("backwards")
    x, matrix = builder.input("x", (24,), dtype), builder.record(places, (4, 6), dtype, kind="places")
    row = builder.reshape(builder.transpose(matrix, (1, 0)), (24,))
    return builder.graph((builder.map("add", x, builder.slice(row, (slice(None, None, -1),))).name,))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint32"])
def test_positions_that_run_backwards_are_rounded_down(dtype):
    graph = backwards(dtype)
    assert [one.kind for one in compiler.rewrite(graph).operators] == ["add"]
    x = np.arange(24).astype(dtype)
    executable = compiler.build(compiler.plan(graph, Machine.detect()), threads=1)
    outputs = executable.new_outputs([x])
    executable.run([x], outputs)
    (expected,) = evaluate(graph, {"x": x}).values()
    np.testing.assert_array_equal(outputs[0], expected)


@pytest.mark.parametrize(("columns", "is_inlined"), [(4094, True), (4098, False)])
def test_positions_that_float32_does_not_count_are_read(columns, is_inlined):
    """Place p of 4096 rows in a row is in row p // columns, of which p has to be exact."""
    builder = Builder("long")
    matrix = builder.record(places, (4096, columns), "float32", kind="places")
    row = builder.reshape(matrix, (4096 * columns,))
    made, reading = builder.graph((row.name,)).operators
    assert bool(inlined(reading, {matrix.name: made}).reads) is not is_inlined


def test_positions_along_an_axis_that_float32_cannot_count_are_refused():
    builder = Builder("long")
    with pytest.raises(UnsupportedOperation, match="16777217"):
        Trilu(upper=1).lower(builder, builder.input("x", (2, 2**24 + 1), "float32"))


def test_finishes_of_reductions_follow_reads_that_become_one():
    """Weight and bias of a norm are read by its finish: equal ones are one read, for the finish as for the body."""
    builder = Builder("norm")
    x, weight = builder.input("x", (4, 6), "float32"), builder.input("weight", (6,), "float32")
    operator, _ = layer_norm([x, weight, weight], -1, 1e-5, has_bias=True, name="norm", result="y")
    merged = inlined(operator, {})
    assert len(merged.reads) == 2
    loads = {node.read for node in merged.scalars() if isinstance(node, Load)}
    assert loads == {0, 1}
