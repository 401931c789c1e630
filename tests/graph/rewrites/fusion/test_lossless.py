"""Which maps may be computed inside of their readers, by the element types between them; and the conversions around products."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.typed import Graphs, sample
from tilewright.compiler import rewrite
from tilewright.graph.builders.einsum import matmul
from tilewright.graph.builders.elementwise import accumulator_of, body_of, elementwise
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, Scalar, apply
from tilewright.graph.rewrites.element_types import SeparateOutputs
from tilewright.graph.rewrites.fusion.lossless import as_read, in_floats, is_as_read
from tilewright.graph.types import Graph, Tensor
from tilewright.graph.verifier import verify
from tilewright.plan.supported import obstacle

POSITION = AxisValue("d0")
WIDE, OTHER = Load(0), Load(1)
CASES: list[tuple[str, Scalar, str, str, bool]] = [
    ("float32", body_of("square"), "float32", "float32", True),
    ("float16", body_of("square"), "float16", "float16", False),
    ("float16", body_of("maximum"), "float16", "float16", True),
    ("float16", apply("maximum", Load(0), Literal(0.1)), "float16", "float16", False),
    ("float64", Load(0), "float32", "float16", False),
    ("int32", Load(0), "float32", "bfloat16", False),
    ("float32", body_of("add"), "float64", "float16", False),
    ("int64", Load(0), "float64", "float32", False),
    ("int32", Load(0), "float64", "float32", True),
    ("float32", Load(0), "float16", "float16", False),
    ("float32", Load(0), "float16", "float32", False),
    ("float32", Load(0), "int32", "float32", False),
    ("float64", body_of("square"), "float64", "float64", True),
    ("float64", body_of("square"), "float64", "float32", False),
    ("int64", body_of("square"), "int64", "int64", True),
    ("int64", body_of("square"), "int64", "float32", False),
    ("int64", Load(0), "int64", "float32", True),
    ("int64", Load(0), "int32", "float32", False),
    ("int8", body_of("square"), "int8", "int8", True),  # the lowest bits
    ("int8", body_of("square"), "int8", "int32", False),
    ("int8", body_of("maximum"), "int8", "int32", True),
    ("int16", body_of("add"), "int16", "uint8", True),
    ("int16", body_of("add"), "int16", "bool", False),
    ("int64", apply("less", POSITION, WIDE), "bool", "float32", True),
    ("int64", apply("less", POSITION, apply("add", WIDE, Literal(1.0))), "bool", "float32", True),
    ("int32", apply("less", POSITION, apply("add", WIDE, Literal(1.0))), "bool", "float32", False),  # the largest one wraps
    ("uint64", apply("less", POSITION, apply("add", WIDE, Literal(1.0))), "bool", "float32", False),
    ("int64", apply("less", apply("subtract", POSITION, Literal(1.0)), WIDE), "bool", "float32", True),
    ("int8", apply("less", POSITION, apply("add", WIDE, Literal(1.0))), "bool", "float32", True),
    ("int16", apply("equal", apply("multiply", WIDE, OTHER), Literal(3.0)), "bool", "float32", False),
    ("int8", apply("equal", apply("multiply", WIDE, OTHER), Literal(3.0)), "bool", "float32", True),
    ("int8", apply("equal", apply("divide", WIDE, Literal(2.0)), Literal(1.0)), "bool", "float32", False),
    ("uint32", apply("less", apply("subtract", POSITION, Literal(1.0)), WIDE), "bool", "float32", False),
    ("int32", apply("less", WIDE, OTHER), "bool", "float64", True),
    ("int32", apply("less", WIDE, OTHER), "bool", "int64", True),
    ("int32", apply("less", WIDE, OTHER), "bool", "uint32", False),
    ("int64", WIDE, "bool", "float32", False),
    ("int64", apply("equal", WIDE, Literal(3.0)), "bool", "float32", True),
    ("int64", apply("equal", WIDE, Literal(2.0**40)), "bool", "float32", False),
    ("int64", apply("less", WIDE, OTHER), "bool", "float32", False),
    ("int8", apply("less", WIDE, OTHER), "bool", "float32", True),
    ("int64", apply("less", WIDE, OTHER), "bool", "int64", True),
    ("float32", apply("less", WIDE, OTHER), "bool", "float32", True),
    ("float32", apply("less", WIDE, OTHER), "bool", "int64", False),
    ("float32", Load(0), "bool", "float32", False),
]


@pytest.mark.parametrize(("read", "body", "stored", "reader", "expected"), CASES)
def test_a_reader_computes_what_it_would_have_read(read: str, body: Scalar, stored: str, reader: str, expected: bool) -> None:
    x, y = Tensor("x", (9,), read), Tensor("y", (9,), read)
    producer, middle = elementwise(body, [x, y], name="f", result="z", dtype=stored)
    consumer, result = elementwise(Load(0), [middle], name="g", result="out", dtype=reader)
    tensors = {tensor.name: tensor for tensor in (x, y, middle, result)}
    assert is_as_read(producer, consumer, tensors) is expected


@pytest.mark.parametrize(
    ("read", "computed", "reader", "expected"),
    [
        ("int32", "uint32", "float32", False),
        ("int64", "int32", "float32", False),
        ("uint64", "int64", "float32", False),
        ("int8", "uint32", "float32", False),
        ("int8", "int64", "float32", True),
        ("uint8", "uint32", "int32", True),
    ],
)
def test_a_comparison_in_another_type_than_its_operands_have(read: str, computed: str, reader: str, expected: bool) -> None:
    x = Tensor("x", (9,), read)
    producer, middle = elementwise(apply("less", Load(0), Literal(100.0)), [x], name="f", result="z", dtype="bool")
    producer = replace(producer, accumulator=computed)
    consumer, result = elementwise(Load(0), [middle], name="g", result="out", dtype=reader)
    assert is_as_read(producer, consumer, {tensor.name: tensor for tensor in (x, middle, result)}) is expected


def test_a_reader_rounds_the_halves_that_it_computes() -> None:
    x = Tensor("x", (9,), "float16")
    producer, middle = elementwise(body_of("square"), [x], name="f", result="z")
    consumer, result = elementwise(body_of("isinf"), [middle], name="g", result="out", dtype="bool")
    found = as_read(producer, consumer, {tensor.name: tensor for tensor in (x, middle, result)})
    assert found is not None
    assert found.body == apply("as_float16", body_of("square"))


def clipped(low: float, high: float) -> Scalar:
    return apply("minimum", apply("maximum", apply("round", Load(0)), Literal(low)), Literal(high))


@pytest.mark.parametrize(
    ("body", "wide", "accumulator", "expected"),
    [
        (clipped(0, 255), "int16", "float32", True),
        (clipped(3, 200), "uint16", "float32", True),
        (clipped(3, 200), "int32", "float32", False),  # a NaN is no 0 there
        (clipped(-1, 255), "int16", "float32", False),
        (clipped(0, 256), "int16", "float32", False),
        (apply("round", Load(0)), "int16", "float32", False),
        (clipped(0, 255), "int8", "float32", False),
        (clipped(0, 255), "float32", "float32", False),
        (clipped(0, -1), "int16", "float32", False),  # -1 becomes 255
        (clipped(0, 255), "int16", "int32", False),
    ],
)
def test_what_is_held_to_the_range_of_bytes_may_be_stored_in_a_longer_type(
    body: Scalar, wide: str, accumulator: str, expected: bool
) -> None:
    x = Tensor("x", (9,), "float32")
    producer, middle = elementwise(body, [x], name="f", result="z", dtype="uint8")
    consumer, result = elementwise(Load(0), [middle], name="g", result="out", dtype=wide)
    producer, consumer = replace(producer, accumulator="float32"), replace(consumer, accumulator=accumulator)
    tensors = {tensor.name: tensor for tensor in (x, middle, result)}
    assert is_as_read(producer, consumer, tensors) is expected


@pytest.mark.parametrize(
    ("body", "dtype", "expected"),
    [
        (clipped(0, 255), "uint8", "float32"),
        (clipped(-128, 127), "int8", "float32"),
        (clipped(0, 255), "int8", "int32"),  # 200 becomes -56
        (clipped(0, 255), "int32", "int32"),  # NaN becomes the least one
        (apply("round", Load(0)), "uint8", "int32"),
    ],
)
def test_floats_within_the_limits_of_bytes_are_stored_as_these(body: Scalar, dtype: str, expected: str) -> None:
    producer, middle = elementwise(body, [Tensor("x", (9,), "float32")], name="f", result="z")
    consumer, result = elementwise(Load(0), [middle], name="g", result="out", dtype=dtype)
    assert in_floats(consumer, producer, {tensor.name: tensor for tensor in (middle, result)}).accumulator == expected


def kinds(graph: Graph) -> list[str]:
    verify(graph)
    return [operator.kind for operator in rewrite(graph).operators]


def test_products_of_halves_have_conversions_around_them() -> None:
    graphs = Graphs()
    a, b = (graphs.input(sample("float16", 12).reshape(shape)) for shape in ((3, 4), (4, 3)))
    graphs.add(matmul, a, b)
    assert kinds(graphs.graph()) == ["astype", "astype", "matmul", "astype"]


def test_products_of_integers_and_doubles_stay() -> None:
    for dtype in ("int8", "int64", "float64"):
        graphs = Graphs()
        a, b = (graphs.input(sample(dtype, 12).reshape(shape)) for shape in ((3, 4), (4, 3)))
        graphs.add(matmul, a, b)
        assert kinds(graphs.graph()) == ["matmul"]


def test_every_output_has_an_operator() -> None:
    x = Tensor("x", (3,))
    graph = SeparateOutputs().run(Graph("test", (x,), (), ("x",), ("x", "x")))
    verify(graph)
    assert graph.outputs == ("x_copy", "x_copy_")
    assert [operator.write.tensor for operator in graph.operators] == list(graph.outputs)


@pytest.mark.parametrize(
    ("dtype", "body", "accumulator", "reason"),
    [
        ("float32", body_of("tanh"), None, ""),
        ("int64", body_of("sin"), None, ""),
        ("float64", body_of("gelu"), None, ""),
        ("uint8", body_of("bitwise_and"), None, ""),
        ("float32", body_of("bitwise_and"), None, "the function bitwise_and in float32"),
        ("float64", body_of("left_shift"), None, "the function left_shift in float64"),
        ("complex64", body_of("add"), None, "elements of type complex64"),
        ("str", body_of("equal"), "float32", "elements of type str"),
        ("float8_e8m0fnu", body_of("add"), "float32", ""),
        ("float8_e4m3fn", body_of("add"), "float32", ""),
        ("int4", body_of("add"), "int32", "elements of type int4 outside of elementwise operators in float32"),
        ("float32", body_of("add"), "complex128", "arithmetic in complex128"),
    ],
)
def test_obstacles(dtype: str, body: Any, accumulator: str | None, reason: str) -> None:
    x = Tensor("x", (4,))
    operator, _ = elementwise(body, [x, x], name="f", result="y")

    known = replace(operator, accumulator=accumulator or accumulator_of(dtype))
    assert obstacle(known, {name: Tensor(name, (4,), dtype) for name in ("x", "y")}) == reason
