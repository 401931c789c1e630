"""The interpreter on what builders do not make yet: guards, strided windows, positions, parameters, large index spaces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.graphs import random, run, single
from tilewright.errors import InvalidModel, ShapeError
from tilewright.graph import interpreter
from tilewright.graph.builders import einsum, elementwise, norms
from tilewright.graph.expressions.index import axis, constant, floordiv, mod
from tilewright.graph.expressions.scalar import AxisValue, Load, Parameter, apply
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import SUM, Access, Axis, AxisKind, Constant, Graph, Guard, Operator, SymbolicExtent, Tensor

IMAGE, WEIGHTS = Tensor("x", (1, 3, 6, 7)), Tensor("w", (4, 3, 3, 3))


def convolution() -> tuple[Operator, Tensor]:
    """Stride 2, padding 1: the padding is a guard on the read of the image."""
    axes = (Axis("n", 1), Axis("o", 4), Axis("y", 3), Axis("x", 4))
    reduced = tuple(Axis(name, 3, AxisKind.REDUCTION) for name in ("c", "r", "s"))
    row, column = axis("y") * 2 + axis("r") - 1, axis("x") * 2 + axis("s") - 1
    guard = Guard((row, constant(5) - row, column, constant(6) - column), 0.0)
    image = Access("x", (axis("n"), axis("c"), row, column), guard)
    weights = Access("w", tuple(axis(name) for name in ("o", "c", "r", "s")))
    write = Access("out", tuple(axis(a.name) for a in axes))
    body = apply("multiply", Load(0), Load(1))
    return Operator("conv", "conv2d", (*axes, *reduced), (image, weights), write, body, SUM), Tensor("out", (1, 4, 3, 4))


def convolution_by_hand(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    out = np.zeros((1, 4, 3, 4))
    for y in range(3):
        for z in range(4):
            window = padded[:, :, 2 * y : 2 * y + 3, 2 * z : 2 * z + 3]
            out[:, :, y, z] = np.tensordot(window, w, ((1, 2, 3), (1, 2, 3)))
    return out


def test_a_padded_strided_convolution() -> None:
    x, w = random(1, 3, 6, 7).astype("f8"), random(4, 3, 3, 3, seed=1).astype("f8")
    actual = run(convolution(), [IMAGE, WEIGHTS], {"x": x, "w": w}, "float64")
    np.testing.assert_allclose(actual, convolution_by_hand(x, w), rtol=1e-12)


def test_cutting_the_index_space_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = random(1, 3, 6, 7).astype("f8"), random(4, 3, 3, 3, seed=1).astype("f8")
    scores = Tensor("s", (5, 6, 7))
    rows = random(5, 6, 7)
    monkeypatch.setattr(interpreter, "GRID_POINTS", 16)
    actual = run(convolution(), [IMAGE, WEIGHTS], {"x": x, "w": w}, "float64")
    np.testing.assert_allclose(actual, convolution_by_hand(x, w), rtol=1e-12)
    actual = run(norms.softmax(scores, 1, name="r", result="out"), [scores], {"s": rows})
    np.testing.assert_allclose(actual, norms.softmax_reference(rows, 1), rtol=1e-6)


def test_a_causal_mask_is_a_guard() -> None:
    size = 5
    axes = (Axis("m", size), Axis("l", size))
    guard = Guard((axis("m") - axis("l"),), float("-inf"))
    read = Access("s", (axis("m"), axis("l")), guard)
    operator = Operator("mask", "mask", axes, (read,), Access("out", (axis("m"), axis("l"))), Load(0))
    scores = random(size, size)
    actual = run((operator, Tensor("out", (size, size))), [Tensor("s", (size, size))], {"s": scores})
    np.testing.assert_array_equal(actual, np.where(np.tri(size, dtype=bool), scores, -np.inf))


def test_divisions_and_remainders_in_accesses() -> None:
    index = axis("j") * 5 + 3
    read = Access("x", (floordiv(mod(index, 12), 4), mod(index, 4)))
    operator = Operator("gather", "gather", (Axis("j", 9),), (read,), Access("out", (axis("j"),)), Load(0))
    x = random(3, 4)
    actual = run((operator, Tensor("out", (9,))), [Tensor("x", (3, 4))], {"x": x})
    np.testing.assert_array_equal(actual, x.reshape(12)[(np.arange(9) * 5 + 3) % 12])


def test_positions_and_parameters_in_the_body() -> None:
    s = SymbolicExtent("s", 1, 100, 10)
    axes = (Axis("m", s), Axis("l", 3))
    body = apply("divide", apply("add", Load(0), apply("subtract", AxisValue("l"), AxisValue("m"))), Parameter("s"))
    indices = (axis("m"), axis("l"))
    operator = Operator("bias", "bias", axes, (Access("x", indices),), Access("out", indices), body)
    graph = single(operator, Tensor("out", (s, 3)), [Tensor("x", (s, 3))])
    x = random(4, 3).astype("f8")
    actual = evaluate(graph, {"x": x}, dtype="float64")["out"]
    np.testing.assert_allclose(actual, (x + (np.arange(3) - np.arange(4)[:, None])) / 4)


def test_constants_and_outputs_that_are_inputs() -> None:
    weights = random(3, 2)
    x, w = Tensor("x", (4, 3)), Tensor("w", (3, 2))
    product, out = einsum.einsum("ij,jk->ik", [x, w], name="p", result="out")
    graph = Graph("g", (x, w, out), (product,), ("x",), ("out", "x"), (("w", Constant(weights)),))
    value = random(4, 3, seed=5)
    results = evaluate(graph, {"x": value})
    np.testing.assert_allclose(results["out"], value @ weights, rtol=1e-5)
    assert results["x"] is value


def test_results_have_the_declared_type_and_float64_overrides_it() -> None:
    x = Tensor("x", (3,))
    built = norms.softmax(x, name="s", result="out")
    assert run(built, [x], {"x": random(3)}).dtype == np.float32
    assert run(built, [x], {"x": random(3)}, "float64").dtype == np.float64


def test_half_precision_accumulates_in_float32() -> None:
    x = Tensor("x", (1, 4096), "float16")
    operator, result = einsum.einsum("ij,ij->i", [x, x], name="p", result="out")
    operator = replace(operator, accumulator="float32")
    assert run((operator, result), [x], {"x": np.ones((1, 4096), np.float16)})[0] == 4096


@pytest.mark.parametrize(("shape", "why"), [((3, 4), "expected (s, 2)"), ((3,), "expected (s, 2)"), ((200, 2), "outside 1..100")])
def test_inputs_of_the_wrong_shape(shape: tuple[int, ...], why: str) -> None:
    x = Tensor("x", (SymbolicExtent("s", 1, 100, 10), 2))
    graph = single(*norms.softmax(x, name="s", result="out"), [x])
    with pytest.raises(ShapeError) as caught:
        evaluate(graph, {"x": np.zeros(shape)})
    assert why in str(caught.value)


def test_an_input_that_is_missing() -> None:
    x = Tensor("x", (2,))
    with pytest.raises(InvalidModel, match="no value for input 'x'"):
        evaluate(single(*norms.softmax(x, name="s", result="out"), [x]), {})


def test_short_integers_accumulate_in_int32() -> None:
    x = Tensor("x", (2, 300), "int8")
    built = einsum.einsum("ij,ij->i", [x, x], name="p", result="out")
    assert built[0].accumulator == "int32"
    values = np.full((2, 300), -128, np.int8)
    wide = Tensor("out", (2,), "int32")
    assert run((built[0], wide), [x], {"x": values}).tolist() == [300 * 128 * 128] * 2


@pytest.mark.parametrize("function", ["max", "min", "sum", "prod"])
def test_integers_reduce_as_integers(function: str) -> None:
    x = Tensor("x", (2, 3), "int32")
    values = np.array([[2**30, -7, 3], [-5, -6, -7]], np.int32)
    actual = run(elementwise.reduce(function, x, 1, name="r", result="out"), [x], {"x": values})
    np.testing.assert_array_equal(actual, getattr(np, function)(values, axis=1).astype(np.int32))


def test_truth_values_reduce_as_numbers() -> None:
    """Read into a maximum of integers, they are none that the least integer is converted to."""
    operator, tensor = elementwise.reduce("max", Tensor("x", (3, 2), "int32"), -1, name="largest", result="out")
    graph = single(operator, tensor, [Tensor("x", (3, 2), "bool")])
    x = np.array([[False, False], [True, False], [True, True]])
    assert evaluate(graph, {"x": x})["out"].tolist() == [0, 1, 1]


@pytest.mark.parametrize(("shape", "axes"), [((100_003, 3), (0,)), ((20_001, 3, 5), (0, 2)), ((20_001, 2), (0, 1))])
def test_sums_along_any_axes_are_made_in_pairs(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = np.full(shape, 0.1, np.float32)
    operator, result = elementwise.reduce("mean", Tensor("x", shape), axes, name="mean", result="y")
    graph = Graph("mean", (Tensor("x", shape), result), (operator,), ("x",), ("y",))
    (mean,) = evaluate(graph, {"x": x}).values()
    np.testing.assert_allclose(mean, x.mean(axis=axes, dtype="f8"), rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "wanted"), [("negative", [-1, 0]), ("floor", [1, 0]), ("sign", [1, 0]), ("subtract", [0, 0])]
)
def test_truth_values_are_numbers_where_functions_take_numbers(function: str, wanted: list[float]) -> None:
    body = apply(function, *(Load(0),) * (2 if function == "subtract" else 1))
    built = elementwise.elementwise(
        body, [Tensor("x", (2,), "bool")], name="f", result="y", dtype="float32", accumulator="float32"
    )
    assert run(built, [Tensor("x", (2,), "bool")], {"x": np.array([True, False])}).tolist() == wanted
