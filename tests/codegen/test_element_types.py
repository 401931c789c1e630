"""Every element type as input, between operators and as output: conversions, exact arithmetic, halves, and extents of 0 and 1."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.support.random.types import random_graph
from tests.support.typed import FLOATS, INTEGERS, TYPES, Graphs, assert_same, meanings, run, sample
from tilewright import compiler
from tilewright.graph.builders.einsum import matmul
from tilewright.graph.builders.elementwise import body_of, elementwise, reduce
from tilewright.graph.builders.norms import softmax
from tilewright.graph.builders.reshape import transpose
from tilewright.graph.expressions.index import axis, constant, floordiv
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.types import Access, Axis, Constant, Graph, Guard, Operator, Tensor
from tilewright.machine import Machine

TARGETS = [
    "x86-64-v2",
    pytest.param("x86-64-v3", marks=pytest.mark.needs("avx2", "fma")),
    pytest.param("x86-64-v4", marks=pytest.mark.needs("avx512f", "avx512dq")),
]
needs_avx2 = pytest.mark.needs("avx2", "fma")


def is_undefined(source: np.ndarray, target: str) -> np.ndarray:
    """Where a float has no element of an unsigned type: NumPy's own conversions differ there from build to build."""
    if target not in ("uint32", "uint64") or not source.dtype.name.endswith(("float16", "float32", "float64")):
        return np.zeros(source.shape, bool)
    wide = source.astype("f8")
    return ~((wide > -(2.0**31)) & (wide < 2.0 ** int(target[4:])))


@pytest.mark.parametrize("target", TARGETS[::2])
def test_every_type_becomes_every_other(target: str) -> None:
    graphs = Graphs()
    inputs = [graphs.input(sample(dtype, 67)) for dtype in TYPES]
    for x, dtype in product(inputs, TYPES):
        graphs.add(elementwise, Load(0), [x], dtype=dtype, kind="astype")
    got = run(graphs.graph(), graphs.values, target)
    for (x, dtype), result in zip(product(inputs, TYPES), got, strict=True):
        value = graphs.values[x.name]
        with np.errstate(all="ignore"):
            defined = ~is_undefined(value, dtype)
            assert_same(result[defined], value.astype(dtype)[defined])


@pytest.mark.parametrize("target", TARGETS)
def test_maps_in_float32_store_integers(target: str) -> None:
    graphs = Graphs()
    x = graphs.input(np.concatenate([sample("float32", 67), np.float32([np.nan, np.inf, -np.inf, 2.0**31, -(2.0**31), 127.5])]))
    types = ("int8", "uint8", "int16", "uint16", "int32")
    for dtype in types:
        graphs.add(elementwise, apply("multiply", Load(0), Literal(1.5)), [x], dtype=dtype, accumulator="float32")
    results = run(graphs.graph(), graphs.values, target)
    with np.errstate(all="ignore"):
        scaled = (graphs.values[x.name] * np.float32(1.5)).astype(np.int32)
    for dtype, result in zip(types, results, strict=True):
        assert_same(result, scaled.astype(dtype))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("extents", [(3, 67), (1, 16), (2, 1), (70, 5)])
def test_maps_of_integers_wrap_in_vectors(target: str, extents: tuple[int, int]) -> None:
    graphs = Graphs()
    rows, columns = extents
    sums = graphs.input(sample("int32", rows * columns, 1).reshape(extents))
    short = graphs.input(sample("int8", rows * columns, 2).reshape(extents))
    totals, zeros = graphs.input(sample("int32", columns, 3)), graphs.input(sample("uint8", rows, 4).reshape(rows, 1))
    centred = apply("subtract", Load(0), apply("multiply", Load(1), Load(2)))
    for dtype in ("int32", "int8", "uint16"):
        graphs.add(elementwise, centred, [sums, zeros, totals], dtype=dtype, accumulator="int32")
    graphs.add(elementwise, apply("negative", apply("add", Load(0), Literal(-3.0))), [short], accumulator="int32")
    graph = graphs.graph()
    for operator, got, expected in zip(
        graph.operators, run(graph, graphs.values, target), meanings(graph, graphs.values), strict=True
    ):
        assert_same_named(operator, got, expected)


WHOLE = (
    *(("add", 2), ("subtract", 2), ("multiply", 2), ("maximum", 2), ("minimum", 2), ("floor_divide", 2), ("mod", 2), ("fmod", 2)),
    *(("bitwise_and", 2), ("bitwise_or", 2), ("bitwise_xor", 2), ("bitwise_not", 1), ("left_shift", 2), ("right_shift", 2)),
    *(("negative", 1), ("abs", 1), ("square", 1), ("sign", 1), ("floor", 1), ("round", 1), ("pow", 2)),
)
CONDITIONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")


def test_integers_are_exact() -> None:
    graphs = Graphs()
    for dtype in ("int8", "int32", "int64", "uint64"):
        x, y = graphs.input(sample(dtype, 99, 1).reshape(3, 33)), graphs.input(sample(dtype, 33, 2))
        for function, arity in WHOLE:
            graphs.add(elementwise, body_of(function), [x, y][:arity])
        for function in CONDITIONS:
            graphs.add(elementwise, body_of(function), [x, y], dtype="bool")
        graphs.add(elementwise, apply("where", apply("less", Load(0), Literal(3.0)), Load(1), Literal(5.0)), [x, y])
        for function in ("sum", "prod", "max", "min"):
            graphs.add(reduce, function, x, 0)
            graphs.add(reduce, function, x, 1, True)
    graph = graphs.graph()
    for operator, got, expected in zip(
        graph.operators, run(graph, graphs.values, "x86-64-v2"), meanings(graph, graphs.values), strict=True
    ):
        assert_same_named(operator, got, expected)


def assert_same_named(operator: Operator, got: np.ndarray, expected: np.ndarray) -> None:
    try:
        assert_same(got, expected)
    except AssertionError as problem:
        raise AssertionError(f"{operator.kind} {operator.body}: {problem}") from None


REAL = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "expm1", "log1p")
ROUNDINGS = ("floor", "ceil", "round", "trunc", "sign", "negative", "abs")
OF_TWO = ("pow", "mod", "fmod", "floor_divide")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_floats(target: str, dtype: str) -> None:
    graphs = Graphs()
    values = np.concatenate([sample(dtype, 500, 3), np.linspace(-3, 3, 301).astype(dtype)])
    x, y = graphs.input(values), graphs.input(np.roll(values, 7))
    for function in (*REAL, *ROUNDINGS):
        graphs.add(elementwise, body_of(function), [x])
    for function in OF_TWO:
        graphs.add(elementwise, body_of(function), [x, y])
    for function in ("isnan", "isinf"):
        graphs.add(elementwise, body_of(function), [x], dtype="bool")
    graphs.add(elementwise, apply("logical_xor", apply("less", Load(0), Load(1)), apply("isnan", Load(0))), [x, y], dtype="bool")
    graph = graphs.graph()
    precise = {name: value.astype(np.longdouble) for name, value in graphs.values.items()}
    for operator, got in zip(graph.operators, run(graph, graphs.values, target), strict=True):
        expected = meanings(single(graph, operator), precise)[0]
        assert_close(operator, got, expected)


def single(graph: Graph, operator: Operator) -> Graph:
    """One operator in long doubles."""
    names = tuple(dict.fromkeys(access.tensor for access in operator.reads))
    inputs = tuple(replace(graph.tensor(name), dtype="longdouble") for name in names)
    result = graph.tensor(operator.write.tensor)
    written = result if result.dtype == "bool" else replace(result, dtype="longdouble")
    return Graph("one", (*inputs, written), (replace(operator, accumulator="longdouble"),), names, (result.name,))


def assert_close(operator: Operator, got: np.ndarray, expected: np.ndarray) -> None:
    if got.dtype == np.bool_:
        np.testing.assert_array_equal(got, expected)
        return
    with np.errstate(all="ignore"):
        rounded = expected.astype(got.dtype)
        spacing = np.spacing(np.abs(rounded)).astype(np.longdouble)
        error = np.where(np.isfinite(rounded) & np.isfinite(got), np.abs(got - expected) / spacing, 0)
    allowed = 4.0 if got.dtype == np.float32 else 40.0
    assert error.max() <= allowed, f"{operator.body}: {error.max()} units in the last place"
    np.testing.assert_array_equal(np.isnan(got), np.isnan(rounded), err_msg=str(operator.body))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(rounded), err_msg=str(operator.body))


@pytest.mark.parametrize(
    ("dtype", "target"),
    [
        ("float16", "x86-64-v2"),
        pytest.param("bfloat16", "x86-64-v3", marks=pytest.mark.needs("avx2", "fma")),
        pytest.param("float16", "x86-64-v4", marks=pytest.mark.needs("avx512f", "avx512dq")),
    ],
)
def test_halves_are_computed_in_float32(dtype: str, target: str) -> None:
    """One rounding where a half is stored: the results are those of float32, within the spacing of halves."""
    graphs = Graphs()
    generator = np.random.default_rng(0)
    a = graphs.input((generator.standard_normal((3, 37, 65)) / 4).astype(dtype))
    b = graphs.input((generator.standard_normal((65, 50)) / 4).astype(dtype))
    product_ = graphs.add(matmul, a, b)
    shares = graphs.add(softmax, product_, -1)
    total, top = graphs.add(reduce, "sum", shares, 0), graphs.add(reduce, "max", a, 1)
    mean = graphs.add(reduce, "mean", a, (1, 2), True)
    x, y = (graphs.values[tensor.name].astype(np.float32) for tensor in (a, b))
    powers = np.exp(x @ y - (x @ y).max(-1, keepdims=True))
    expected = powers / powers.sum(-1, keepdims=True)
    wanted = (expected, expected.sum(0), x.max(1), x.mean((1, 2), keepdims=True))
    step = {"float16": 2.0**-10, "bfloat16": 2.0**-7}[dtype]
    for got, exact in zip(run(graphs.graph(shares, total, top, mean), graphs.values, target), wanted, strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got.astype("f4"), exact, rtol=6 * step, atol=step / 50)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint64", "float64"])
def test_products_of_sums_are_exact(dtype: str) -> None:
    graphs = Graphs()
    generator = np.random.default_rng(0)
    a, b = ((generator.standard_normal(shape) * 2**20).astype("i8").astype(dtype) for shape in ((2, 13, 31), (31, 17)))
    graphs.add(matmul, graphs.input(a), graphs.input(b))
    np.testing.assert_array_equal(run(graphs.graph(), graphs.values, "x86-64-v2")[0], a @ b)


def test_rounding_between_operators_is_kept() -> None:
    graphs = Graphs()
    x = graphs.input(sample("float32", 99)[16:])
    n, m = (graphs.input(sample("int64", 83, seed)) for seed in (1, 2))
    for through in ("float16", "bfloat16", "int32", "int8", "bool"):
        narrow = graphs.add(elementwise, Load(0), [x], dtype=through, kind="astype")
        wide = graphs.add(elementwise, Load(0), [narrow], dtype="float32", kind="astype")
        graphs.add(elementwise, body_of("add"), [wide, x])
    total = graphs.add(elementwise, body_of("add"), [n, m])
    same = graphs.add(elementwise, apply("equal", apply("subtract", Load(0), Load(1)), Load(2)), [total, m, n], dtype="bool")
    graphs.add(elementwise, body_of("where"), [same, x, x])
    large = graphs.add(elementwise, apply("less", Load(0), Load(1)), [n, m], dtype="bool")
    graphs.add(elementwise, apply("where", Load(0), Load(1), Literal(0.0)), [large, x])
    graph = graphs.graph()
    for got, expected in zip(run(graph, graphs.values, "x86-64-v2"), meanings(graph, graphs.values), strict=True):
        assert_same(got, expected)


@needs_avx2
@pytest.mark.parametrize("dtype", TYPES)
def test_any_strides_and_alignment(dtype: str) -> None:
    graphs = Graphs()
    values = sample(dtype, 4 * 7 * 33)
    unaligned = np.frombuffer(b"x" + values.tobytes(), np.uint8)[1:].view(values.dtype).reshape(2, 14, 33)
    inputs = [graphs.input(unaligned[0, ::2, ::-1]), graphs.input(np.asarray(values.reshape(33, 28)).T[:7])]
    for x, permuted in product(inputs, (False, True)):
        graphs.add(*((transpose, x, (1, 0)) if permuted else (elementwise, Load(0), [x])))
    graph = graphs.graph()
    executable = compiler.build(compiler.plan(graph, Machine.named("x86-64-v3")), threads=1)
    arrays = [graphs.values[name] for name in graph.inputs]
    expected = meanings(graph, graphs.values)
    outputs = [np.empty((one.shape[0], one.shape[1] * 2 + 1), one.dtype)[:, 1::2] for one in expected]
    executable.run(arrays, outputs)
    for got, wanted in zip(outputs, expected, strict=True):
        assert_same(got, wanted)


SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (0,), (0, 3), (3, 0), (1, 1, 1), (2, 0, 3), (5, 1, 2))


@needs_avx2
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int64", "uint8"])
def test_extents_of_0_and_1(dtype: str) -> None:
    graphs = Graphs()
    for shape in SHAPES:
        x = graphs.input(np.ones(shape, dtype))
        graphs.add(elementwise, body_of("square"), [x])
        for function, dims in product(("sum", "prod"), (None, *range(len(shape)))):
            graphs.add(reduce, function, x, dims)
    for left, right in (((0, 3), (3, 4)), ((2, 0), (0, 4)), ((2, 3), (3, 0)), ((1, 1), (1, 1)), ((3,), (3,)), ((0,), (0,))):
        y = graphs.add(matmul, graphs.input(np.ones(left, dtype)), graphs.input(np.ones(right, dtype)))
        graphs.add(elementwise, body_of("relu"), [y])
    graph = graphs.graph()
    for got, expected in zip(run(graph, graphs.values, "x86-64-v3"), meanings(graph, graphs.values), strict=True):
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got, expected)


def test_outputs_that_are_inputs_constants_or_each_other() -> None:
    x, k, y = Tensor("x", (3, 4)), Tensor("k", (2,), "int16"), Tensor("y", (4, 3))
    operator, _ = transpose(x, (1, 0), name="f", result="y")
    table = Constant(np.array([3, -4], np.int16))
    graph = Graph("test", (x, k, y), (operator,), ("x",), ("y", "x", "k", "y", "x"), (("k", table),))
    value = np.arange(12, dtype=np.float32).reshape(3, 4)
    executable = compiler.build(compiler.plan(graph, Machine.named("x86-64-v2")), threads=1)
    outputs = [
        np.empty(shape, dtype) for shape, dtype in (((4, 3), "f4"), ((3, 4), "f4"), ((2,), "i2"), ((4, 3), "f4"), ((3, 4), "f4"))
    ]
    executable.run([value, table.array], outputs)
    for got, expected in zip(outputs, (value.T, value, table.array, value.T, value), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", ["int64", "float64", "float16", "bool"])
def test_guarded_and_divided_reads(dtype: str) -> None:
    """Padding, and each element twice."""
    axes = (Axis("m", 5), Axis("n", 9))
    inside = Guard((axis("n") - 2, constant(6) - axis("n")), 1.0)
    reads = (Access("x0", (axis("m"), axis("n") - 2), inside), Access("x0", (axis("m"), floordiv(axis("n"), 2))))
    body = apply("where", apply("equal", Load(0), Load(1)), Load(0), Load(1))
    graphs = Graphs()
    x = graphs.input(sample(dtype, 25, 5).reshape(5, 5))
    write = Access("y", (axis("m"), axis("n")))
    accumulator = "float32" if dtype == "bool" else dtype
    operator = Operator("f", "map", axes, reads, write, body, accumulator=accumulator)
    graph = Graph("test", (x, Tensor("y", (5, 9), dtype)), (operator,), (x.name,), ("y",))
    assert_same(run(graph, graphs.values, "x86-64-v2")[0], meanings(graph, graphs.values)[0])


def test_positions_in_every_type() -> None:
    graphs = Graphs()
    x = graphs.input(np.zeros((3, 40), np.int8))
    for dtype in (*INTEGERS, *FLOATS):
        operator_body = apply("add", apply("multiply", AxisValue("d1"), Literal(3.0)), AxisValue("d0"))
        graphs.add(elementwise, apply("add", operator_body, Load(0)), [x], dtype=dtype)
    expected = np.arange(40) * 3 + np.arange(3)[:, None]
    for got in run(graphs.graph(), graphs.values, "x86-64-v2"):
        np.testing.assert_array_equal(got.astype("f8"), expected.astype(got.dtype).astype("f8"))


def test_many_threads_give_the_same() -> None:
    graphs = Graphs()
    x = graphs.input(np.random.default_rng(0).standard_normal((257, 300)))
    graphs.add(reduce, "sum", x, 1)
    graphs.add(elementwise, body_of("multiply"), [x, x])
    once, often = (run(graphs.graph(), graphs.values, "x86-64-v2", threads) for threads in (1, 4))
    for one, other in zip(once, often, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(once[0], graphs.values["x0"].sum(1), rtol=1e-12, atol=1e-12)


@needs_avx2
@pytest.mark.parametrize("seed", range(8))
def test_random_graphs_of_many_types(seed: int) -> None:
    graphs = random_graph(seed)
    graph = graphs.graph()
    for got, expected in zip(run(graph, graphs.values, "x86-64-v3"), meanings(graph, graphs.values), strict=True):
        assert got.dtype == expected.dtype
        if not got.dtype.name.startswith("uint"):  # negative floats may have become these
            assert_same(got, expected)
