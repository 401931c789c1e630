"""What depends on constants alone is computed ahead: small values in rewriting, large ones when a kernel is loaded."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.recipes import made_of
from tilewright import compiler
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import arange
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.constants.constant_part import FoldConstants, evaluated, split
from tilewright.graph.rewrites.redundancy import CommonSubexpressions
from tilewright.graph.types import Access, Axis, Constant, Graph, Operator, Tensor
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
    values = made_of(executable.origin.artifact.recipe, graph.constants)
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


def filled(builder: Builder, shape: tuple[int, ...], value: float) -> Tensor:
    """A tensor of one number, as ConstantOfShape makes it: the map reads nothing."""
    axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(shape))
    write = tuple(axis_index(one.name) for one in axes)

    def build(*, name: str, result: str) -> tuple[Operator, Tensor]:
        return Operator(name, "full", axes, (), Access(result, write), Literal(value)), Tensor(result, shape)

    return builder.record(build, kind="full")


def rest_of(builder: Builder, y: Tensor) -> list[Operator]:
    """What every call computes, after rewriting."""
    return [*split(compiler.rewrite(builder.graph((y.name,))))[1].operators]


def test_weights_of_one_number_are_constants() -> None:
    builder = Builder("filled")
    x = builder.input("x", X.shape, "float32")
    assert [one.kind for one in rest_of(builder, builder.matmul(x, filled(builder, WEIGHTS.shape, 0.02)))] == ["matmul"]


def test_weights_of_positions_are_constants() -> None:
    builder = Builder("positions")
    x = builder.input("x", X.shape, "float32")
    rows, columns = (builder.record(arange, n, 0, 1, "float32", kind="arange") for n in WEIGHTS.shape)
    angles = builder.map("multiply", builder.reshape(rows, (9, 1)), columns)
    assert [one.kind for one in rest_of(builder, builder.matmul(x, builder.map("sin", angles)))] == ["matmul"]


@pytest.mark.parametrize(
    ("function", "dtype", "stored"),
    [("exp", "float32", True), ("abs", "float32", True), ("exp", "float16", True), ("abs", "float16", False)],
)
def test_maps_of_constants_are_stored_unless_they_lengthen_cheaply(function: str, dtype: str, stored: bool) -> None:
    """A reader that computes them again would do so in every call; cheap ones of short numbers are read short."""
    builder = Builder("beside")
    x = builder.input("x", (9, 11), "float32")
    made = builder.map(function, builder.cast(builder.constant(WEIGHTS.astype(dtype)), "float32"))
    (operator,) = rest_of(builder, builder.map("multiply", x, made))
    assert (operator.functions() == ("multiply",)) == stored


def test_numbers_and_positions_stay_in_their_readers() -> None:
    builder = Builder("mask")
    x = builder.input("x", (70, 80), "float32")
    rows, columns = (builder.record(arange, n, 0, 1, "int64", kind="arange") for n in (70, 80))
    mask = builder.map("greater_equal", builder.reshape(rows, (70, 1)), columns, dtype="bool")
    kept = builder.map("multiply", x, filled(builder, (70, 80), 0.5))
    y = builder.map("where", mask, kept, float("-inf"), dtype="float32")
    (operator,) = rest_of(builder, y)
    assert not [access for access in operator.reads if access.tensor != "x"]


def test_short_ranges_stay_positions() -> None:
    builder = Builder("short")
    y = builder.map("add", builder.input("x", (9,), "float32"), builder.record(arange, 9, 0, 1, "float32", kind="arange"))
    graph = builder.graph((y.name,))
    assert FoldConstants().run(graph) == graph


def test_rows_of_constants_are_no_part_of_formulas_of_inputs() -> None:
    """x * w / |w|: the lengths of rows were computed in every call."""
    builder = Builder("weight_norm")
    x, w = builder.input("x", (9, 11), "float32"), builder.constant(WEIGHTS)
    length = builder.map("sqrt", builder.reduce("sum", builder.map("square", w), (1,), keepdims=True))
    (operator,) = rest_of(builder, builder.map("multiply", x, builder.map("divide", w, length)))
    assert operator.is_map()
    assert operator.functions() == ("multiply",)
