"""What depends on constants alone is computed ahead: small values in rewriting, large ones when a kernel is loaded."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import compiler
from tilewright.graph.builders.builder import Builder
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.common_subexpressions import CommonSubexpressions
from tilewright.graph.rewrites.constants.constant_part import evaluated, split
from tilewright.graph.rewrites.constants.fold_constants import FoldConstants
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.types import Constant, Graph
from tilewright.graph.verifier import verify
from tilewright.machine import Machine

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((7, 9), np.float32)
WEIGHTS = RANDOM.standard_normal((9, 11), np.float32)
SCALE = RANDOM.standard_normal(11, np.float32)


def scaled_weights() -> Graph:
    """x @ (exp(w) * s) + sum of w along its rows."""
    builder = Builder("scaled")
    x, w, s = builder.input("x", X.shape, "float32"), builder.constant(WEIGHTS), builder.constant(SCALE)
    product = builder.matmul(x, builder.map("multiply", builder.map("exp", w), s))
    y = builder.map("add", product, builder.reduce("sum", w, (0,)))
    return builder.graph((y.name,))


def result(graph: Graph) -> np.ndarray:
    return evaluate(graph, {"x": X})[graph.outputs[0]]


def test_a_split_graph_means_the_same() -> None:
    graph = compiler.rewrite(scaled_weights())
    constant, other = split(graph)
    verify(constant)
    verify(other)
    assert not constant.inputs
    assert {operator.name for operator in other.operators} == {"matmul", "add"}
    values = evaluate(constant, {})
    known = tuple((name, Constant(values.get(name, one.array))) for name, one in other.constants)
    whole = Graph(other.name, other.tensors, other.operators, other.inputs, other.outputs, known)
    np.testing.assert_array_equal(result(whole), result(graph))
    np.testing.assert_allclose(result(graph), X @ (np.exp(WEIGHTS) * SCALE) + WEIGHTS.sum(0), rtol=1e-5, atol=1e-5)


def test_values_of_constants_and_of_what_is_made_of_them() -> None:
    graph = compiler.rewrite(scaled_weights())
    _, other = split(graph)
    values = evaluated(graph, [name for name, _ in other.constants])
    assert {name: value.shape for name, value in values.items()} == {name: one.array.shape for name, one in other.constants}


@pytest.mark.needs("avx2", "fma")
def test_compiled_functions_take_what_is_made_of_constants() -> None:
    graph = scaled_weights()
    executable = compiler.build(compiler.plan(graph, Machine.named("x86-64-v3")), threads=1)
    names = [slot.name for slot in executable.signature.inputs[1:]]
    values = executable.artifact.recipe.values(graph.constants)
    out = np.empty((7, 11), np.float32)
    executable.run([X, *(values[name] for name in names)], [out])
    np.testing.assert_allclose(out, result(graph), rtol=1e-5, atol=1e-5)


def test_an_output_of_constants_alone_stays_an_operator() -> None:
    builder = Builder("outputs")
    y = builder.map("exp", builder.constant(WEIGHTS))
    constant, other = split(builder.graph((y.name,)))
    assert not constant.operators
    assert [operator.name for operator in other.operators] == ["exp"]


def test_small_constants_become_literals() -> None:
    """x * sqrt(64) / [[2]]: the numbers are in the body."""
    builder = Builder("literals")
    x = builder.input("x", X.shape, "float32")
    root = builder.map("sqrt", builder.constant(np.float32(64)))
    y = builder.map("divide", builder.map("multiply", x, root), builder.constant(np.full((1, 1), 2, np.float32)))
    graph = compiler.rewrite(builder.graph((y.name,)))
    (operator,) = graph.operators
    assert not graph.constants
    assert operator.body == apply("multiply", apply("multiply", Load(0), Literal(8.0)), Literal(0.5))


def test_large_constants_are_left_to_loading() -> None:
    builder = Builder("large")
    x, w = builder.input("x", (65,), "float32"), builder.constant(np.ones(65, np.float32))
    y = builder.map("add", x, builder.map("exp", w))
    graph = builder.graph((y.name,))
    assert FoldConstants().run(graph) == graph


def test_what_is_written_twice_is_computed_once() -> None:
    builder = Builder("twice")
    x, w = builder.input("x", X.shape, "float32"), builder.constant(WEIGHTS)
    one, other = (builder.map("exp", builder.matmul(x, w)) for _ in range(2))
    y = builder.map("add", one, builder.reduce("max", other, (0,)))
    graph = builder.graph((y.name,))
    shared = CommonSubexpressions().run(graph)
    verify(shared)
    assert [operator.name for operator in shared.operators] == ["matmul", "exp", "max", "add"]
    np.testing.assert_array_equal(result(shared), result(graph))


def test_equal_outputs_both_stay() -> None:
    builder = Builder("outputs")
    x = builder.input("x", X.shape, "float32")
    names = tuple(builder.map("exp", x).name for _ in range(2))
    shared = CommonSubexpressions().run(builder.graph(names))
    verify(shared)
    assert len(shared.operators) == 2


def test_contents_of_large_constants_are_not_in_the_text_of_a_constant() -> None:
    one, other = (Constant(np.full((9, 9), value, np.float32)) for value in (1, 2))
    assert one != other
    assert repr(one) == repr(other)
    masks = [Constant(np.tri(9, 9, number).astype(bool)) for number in (0, 1)]
    assert repr(masks[0]) != repr(masks[1])
    light = [constant.without_values() for constant in (one, masks[0])]
    assert light[0] != one
    assert light[1] == masks[0]
    assert light[1].array is masks[0].array
