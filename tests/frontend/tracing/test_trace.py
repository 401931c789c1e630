"""Tracing: NumPy-style code records the operators that it means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

import tilewright as tw
from tests.support.graphs import random
from tilewright.dtypes import dtype_named
from tilewright.errors import DTypeError, ShapeError, UnsupportedOperation
from tilewright.frontend.tracing import functions
from tilewright.frontend.tracing.trace import TensorSpec, trace
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph, SymbolicExtent

S = SymbolicExtent("s", 1, 64, 16)


def traced(function: Any, *shapes: tuple[Any, ...], **options: Any) -> Graph:
    return trace(function, [TensorSpec(shape, name=name) for shape, name in zip(shapes, "xyzw", strict=False)], **options)


def check(function: Any, *arrays: np.ndarray) -> None:
    """The traced function and the function itself on NumPy arrays agree."""
    graph = traced(function, *(array.shape for array in arrays))
    values = dict(zip("xyzw", arrays, strict=False))
    expected = function(*(array.astype(np.float64) for array in arrays))
    actual = evaluate(graph, values, dtype="float64")["out"]
    assert actual.shape == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)


ROW = np.arange(4, dtype=np.float32)
FUNCTIONS: dict[str, Any] = {
    "operators": lambda x, y: -x + y * 2 - x / (y * y + 1.0) + abs(x),
    "numbers on the left": lambda x, y: 1 - x + 2 * y + 1 / (x * x + 3) + np.float32(2) * x,
    "matrix product": lambda x, y: x @ y.T @ x,
    "matrix product with an array on the left": lambda x, y: np.ones((2, 3), np.float32) @ x,
    "comparisons": lambda x, y: np.where((x > y) & (x < 1), x, y) + np.where((x >= 0) | ~(y != 0), 1.0, x),
    "comparisons as numbers": lambda x, y: (x > y) * x + np.sum(x == x, axis=0),
    "where with an array of truth values": lambda x, y: np.where(np.array([True, False, True, False]), x, y),
    "powers": lambda x, y: x**2 + x**3 + x**5 + (x * x) ** 0.5 + (x * x + 1) ** -1 + (x * x + 1) ** -0.5 + x**0 + x**1,
    "ufuncs": lambda x, y: np.exp(x) + np.sqrt(np.abs(y)) * np.maximum(x, 0) - np.minimum(ROW, y) + np.square(x) + np.floor(y),
    "reductions": lambda x, y: (
        np.sum(x, axis=0) + x.max(0) + np.mean(y, axis=0, keepdims=True)[0] + np.prod(y, 0) + y.min(axis=0)
    ),
    "ufunc reductions": lambda x, y: np.add.reduce(x, axis=1) + np.maximum.reduce(y, axis=-1) + np.max(x),
    "einsum": lambda x, y: np.einsum("ij,ij->i", x, y) + np.einsum("ij,kj,k->i", x, y, np.ones(3, np.float32)),
    "diagonals": lambda x, y: np.einsum("ii,ij->j", x[:, :3], y) + np.einsum("ii", y[:, 1:]) * np.einsum("...ii->...", x[:, :3]),
    "closed-over constants": lambda x, y: x * ROW + y @ np.eye(4, dtype=np.float32),
    "index changes": lambda x, y: np.transpose(x.reshape(3, 2, 2), (2, 0, 1)) + np.swapaxes(y[:, ::2], 0, 1)[:, :, None],
    "dimensions": lambda x, y: np.squeeze(np.expand_dims(x, 1), 1) + np.broadcast_to(y[0], (3, 4)) + x.mT.T,
    "clip": lambda x, y: np.clip(x, -0.5, 0.5) + np.clip(y, None, 0.1) + x.clip(0, y * y),
    "iteration": lambda x, y: sum(list(x)) + y[0] + len(x),
    "unpacked shape": lambda x, y: x.reshape(x.shape[0] * x.shape[1]) + float(x.ndim) + x.size,
    "floor division": lambda x, y: x // 2.0 + 1.0 // (y * y + 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_traced_code_means_what_numpy_means(name: str) -> None:
    check(FUNCTIONS[name], random(3, 4), random(3, 4, seed=1))


def test_functions_of_tilewright_work_on_plain_arrays() -> None:
    x = random(3, 4).astype(np.float64)
    np.testing.assert_allclose(tw.softmax(x, axis=0), scipy.special.softmax(x, axis=0))
    np.testing.assert_allclose(tw.sigmoid(x), scipy.special.expit(x))
    np.testing.assert_allclose(tw.silu(x), x * scipy.special.expit(x))
    np.testing.assert_array_equal(tw.relu(x), np.maximum(x, 0))
    np.testing.assert_array_equal(tw.einsum("ij->ji", x), x.T)
    np.testing.assert_array_equal(tw.clip(x, 0, 1), np.clip(x, 0, 1))
    assert tw.astype(x, "float32").dtype == np.float32
    assert tw.group_norm(np.zeros((0, 4, 3)), 2).shape == (0, 4, 3)
    for dtype in ("int8", "bfloat16"):
        assert tw.relu(x.astype(dtype_named(dtype))).dtype == dtype_named(dtype)


@pytest.mark.parametrize(
    "name", ["relu", "sigmoid", "silu", "gelu", "tanh", "erf", "exp", "abs", "square", "negative", "positive", "floor"]
)
def test_elementwise_functions_trace(name: str) -> None:
    check(getattr(tw, name), random(2, 5))


def test_array_api_code_finds_its_namespace() -> None:
    def normalized(x: Any) -> Any:
        xp = x.__array_namespace__()
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        return centred / xp.sqrt(xp.mean(xp.square(centred), axis=-1, keepdims=True)) + xp.asarray(1.0, dtype=xp.float32)

    graph = traced(normalized, (3, 8))
    x = random(3, 8).astype("f8")
    centred = x - x.mean(-1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(-1, keepdims=True)) + 1
    np.testing.assert_allclose(evaluate(graph, {"x": x}, dtype="float64")["out"], expected, rtol=1e-10)


def test_attention_is_two_contractions_around_a_softmax() -> None:
    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = tw.einsum("bmk,bkl->bml", q, k)
        return tw.einsum("bml,bln->bmn", tw.softmax(scores, axis=-1), v)

    graph = traced(attention, (2, S, 8), (2, 8, S), (2, S, 8))
    assert [operator.kind for operator in graph.operators] == ["einsum", "softmax", "einsum"]
    assert [operator.is_contraction() for operator in graph.operators] == [True, False, True]
    assert graph.name == "attention"
    assert graph.tensor("out").shape == (2, S, 8)


def test_types_follow_the_array_api() -> None:
    types = {}

    def function(x: Any) -> Any:
        types["python float"] = (x * 2.5).dtype
        types["numpy scalar"] = (x / np.sqrt(64)).dtype
        types["float64 array"] = (x + np.ones(3)).dtype
        types["comparison"] = (x < 1).dtype
        types["astype"] = tw.astype(x, np.float64).dtype
        return x * 1

    traced(function, (3,))
    assert {name: dtype.name for name, dtype in types.items()} == {
        "python float": "float32",
        "numpy scalar": "float32",
        "float64 array": "float64",
        "comparison": "bool",
        "astype": "float64",
    }


def test_equal_constants_are_one() -> None:
    graph = traced(lambda x: x * np.arange(4, dtype="f4") + np.arange(4, dtype="f4"), (4,))
    assert len(graph.constants) == 1
    assert graph.inputs == ("x",)


def test_a_constant_keeps_the_contents_that_it_had() -> None:
    weights = np.ones(4, np.float32)
    graph = traced(lambda x: x * weights, (4,))
    weights[:] = 5
    assert dict(graph.constants)["constant"].array.tolist() == [1, 1, 1, 1]


def test_outputs_are_written_once_each() -> None:
    graph = traced(lambda x, y: (x, x + y, x + y, np.ones(2, np.float32), y), (2,), (2,))
    assert graph.outputs == ("out_0", "out_1", "out_2", "out_3", "out_4")
    same = traced(lambda x: [z := x * 2, z], (2,))
    assert len(set(same.outputs)) == 2


def test_names_are_unique_identifiers() -> None:
    specs = [TensorSpec((2,), name="params['w']"), TensorSpec((2,), name='params["w"]'), TensorSpec((2,), name="out")]
    graph = trace(lambda a, b, c: a * b * c, specs, name="<lambda>")
    assert graph.inputs == ("params_w", "params_w_2", "out")
    assert graph.name == "lambda"
    names = [tensor.name for tensor in graph.tensors] + [operator.name for operator in graph.operators]
    assert all(name.isidentifier() for name in names)
    assert len(set(names)) == len(names)


def test_element_types_can_be_restricted() -> None:
    with pytest.raises(DTypeError, match="astype of float32 elements has float64 elements") as caught:
        traced(lambda x: x + x.astype("float64"), (3,), element_types=("float32",))
    assert "test_trace.py:" in caught.value.where
    with pytest.raises(DTypeError, match="a constant of the function has dtype float64"):
        traced(lambda x: x + np.ones(3), (3,), element_types=("float32",))


@pytest.mark.parametrize(
    ("function", "message", "hint"),
    [
        (lambda x: x if x.sum() > 0 else -x, "the truth of a traced array", "where(condition"),
        (lambda x: range(x), "the integer value of a traced array", "static_argnames"),
        (lambda x: float(x), "the value of a traced array", "0-d array"),
        (lambda x: np.asarray(x), "the contents of a traced array", "functions of tilewright"),
        (lambda x: np.linalg.norm(x), "numpy.linalg.norm cannot be traced", "sqrt(sum(x * x))"),
        (lambda x: tw.maximums(x), "function 'maximums'", "did you mean maximum"),
        (lambda x: x.rsqrt(), "attribute 'rsqrt'", "x ** -0.5"),
        (lambda x: tw.var(x), "function 'var'", "mean(x, axis=a, keepdims=True)"),
        (lambda x: x << 1, "x << y cannot be traced", "power of two"),
        (lambda x: 1 >> x, "x >> y cannot be traced", "power of two"),
        (lambda x: x ^ x, "x ^ y cannot be traced", "x != y"),
        (lambda x: ~x, "~x cannot be traced", "compare first"),
        (lambda x: x & (x > 0), "x & y cannot be traced", "compare first"),
        (lambda x: np.bitwise_or(x, x), "numpy.bitwise_or cannot be traced", "compare first"),
        (lambda x: tw.sum(x, axis=x[0, 0]), "the integer value of a traced array", "static_argnames"),
        (lambda x: tw.softmax(x, x[0, 0]), "the integer value of a traced array", "static_argnames"),
        (lambda x: x.transpose(x[0, 0], 0), "the integer value of a traced array", "static_argnames"),
        (lambda x: tw.expand_dims(x, x[0, 0]), "the integer value of a traced array", "static_argnames"),
        (lambda x: tw.broadcast_to(x, (x[0, 0], 4, 4)), "the integer value of a traced array", "static_argnames"),
        (lambda x: x[x[0, 0]], "the integer value of a traced array", "static_argnames"),
        (lambda x: tw.sum([x, x]), "a list of traced values was used as an array", "numpy.asarray"),
        (lambda x: x * [x, 1.0], "a list of traced values was used as an array", "numpy.asarray"),
        (lambda x: np.array([x, x]), "the contents of a traced array", "one by one"),
        (lambda x: np.add.accumulate(x), "numpy.add.accumulate cannot be traced", ""),
        (lambda x: np.sum(x, where=np.array([True])), "with where= cannot be traced", ""),
        (lambda x: np.exp(x, out=np.zeros(4)), "numpy.exp with out= cannot be traced", ""),
        (lambda x: tw.sofmax(x), "function 'sofmax'", "did you mean softmax"),
        (lambda x: x.summ(), "attribute 'summ'", "did you mean sum"),
        (lambda x: x[np.array([0, 1])], "indexing by a ndarray", "one-hot"),
        (lambda x: x.__setitem__(0, 1.0), "assignment into a traced array", "where()"),
        (lambda x: tw.einsum(x, [0, 1]), "einsum without a string", ""),
        (lambda x: "text", "returned a str", "return arrays"),
    ],
)
def test_what_cannot_be_traced_says_where_and_what_to_use(function: Any, message: str, hint: str) -> None:
    with pytest.raises(UnsupportedOperation) as caught:
        traced(function, (4, 4))
    assert message in str(caught.value)
    assert hint in caught.value.hint
    if "returned" not in message:
        assert "test_trace.py:" in caught.value.where


@pytest.mark.parametrize("name", ["inv", "concatenated", "fft", "conv2d"])
def test_no_hint_is_better_than_a_wrong_one(name: str) -> None:
    with pytest.raises(UnsupportedOperation) as caught:
        getattr(functions, name)
    assert caught.value.hint == ""


def test_axes_are_whole_numbers_of_any_type() -> None:
    check(lambda x: np.sum(x, axis=np.int64(1)) + x.sum((np.int32(1),)), random(3, 4))
    for function in (lambda x: tw.sum(x, axis=0.5), lambda x: x.reshape(2.0, -1), lambda x: tw.softmax(x, "a")):
        with pytest.raises(ShapeError, match="is not an integer") as caught:
            traced(function, (2, 2))
        assert "test_trace.py:" in caught.value.where


def test_masked_arrays_cannot_be_constants() -> None:
    with pytest.raises(DTypeError, match="a masked array cannot be a constant"):
        traced(lambda x: x * np.ma.masked_array(ROW, ROW > 1), (4,))


@pytest.mark.parametrize("value", [None, {}, slice(1), [[1.0], [1.0, 2.0]], len, "a"])
def test_what_is_no_array_of_numbers_cannot_be_a_constant(value: Any) -> None:
    for function in (lambda x: x + value, lambda x: tw.maximum(value, x), lambda x: tw.where(x > 0, x, value)):
        with pytest.raises((UnsupportedOperation, DTypeError)) as caught:
            traced(function, (4,))
        assert "test_trace.py:" in caught.value.where


def test_shape_errors_say_where_they_happened() -> None:
    with pytest.raises(ShapeError, match="do not broadcast") as caught:
        traced(lambda x, y: x + y, (3,), (4,))
    assert "test_trace.py:" in caught.value.where
    with pytest.raises(ShapeError, match="index 'j' has extents 3 and 4") as caught:
        traced(lambda x, y: tw.einsum("ij,jk->ik", x, y), (2, 3), (4, 5))
    assert "test_trace.py:" in caught.value.where


def test_arrays_of_an_earlier_trace_are_refused() -> None:
    kept: list[Any] = []
    traced(lambda x: kept.append(x) or x * 2, (3,))
    with pytest.raises(UnsupportedOperation, match="different calls"):
        traced(lambda x: x + kept[0], (3,))
    with pytest.raises(UnsupportedOperation, match="an earlier call"):
        traced(lambda x: kept[0], (3,))


def test_a_tracer_is_of_no_use_after_its_trace() -> None:
    kept: list[Any] = []
    traced(lambda x: kept.append(x) or x * 2, (3,))
    for use in (lambda x: x + 1.0, lambda x: x[0], lambda x: tw.sum(x), lambda x: x.reshape(3, 1), tw.jit(lambda x: x * 2)):
        with pytest.raises(UnsupportedOperation, match="used after its trace had ended") as caught:
            use(kept[0])
        assert "test_trace.py:" in caught.value.where


def test_missing_attributes_are_missing_to_python_too() -> None:
    seen = []
    traced(lambda x: seen.append(hasattr(x, "device")) or x * 2, (3,))
    assert seen == [False]
    assert not hasattr(functions, "gamma")
    assert not hasattr(tw, "gamma")


def test_a_symbol_has_one_range() -> None:
    other = SymbolicExtent("s", 1, 99, 16)
    with pytest.raises(tw.TilewrightError, match="two ranges"):
        traced(lambda x, y: x + y, (S,), (other,))
