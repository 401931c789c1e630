from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.frontend.tracing.trace import TensorSpec, trace
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.element_types import ElementTypes
from tilewright.graph.rewrites.index_changes.fold_index_maps import FoldIndexMaps
from tilewright.graph.rewrites.short_operands import ShortOperands
from tilewright.graph.types import Graph, Operator
from tilewright.graph.verifier import verify

WIDE = np.int32


def traced(function: Callable[..., Any], *shapes: tuple[tuple[int, ...], str]) -> Graph:
    return FoldIndexMaps().run(trace(function, [TensorSpec(shape, dtype) for shape, dtype in shapes]))


def product_of(graph: Graph) -> Operator:
    return next(operator for operator in graph.operators if operator.is_product_sum())


def read_types(graph: Graph) -> list[str]:
    return [graph.tensor(read.tensor).dtype for read in product_of(graph).reads]


BYTES = {
    "plain": (lambda a, b: a.astype(WIDE) @ b.astype(WIDE), (7, 300), (300, 5)),
    "transposed": (lambda a, b: a.astype(WIDE).T @ b.T.astype(WIDE), (300, 7), (5, 300)),
    "slices": (lambda a, b: a[1:, ::2].astype(WIDE) @ b.astype(WIDE)[2:], (7, 20), (12, 5)),
    "padded": (lambda a, b: tw.conv2d(a.astype(WIDE), b.astype(WIDE), padding=1), (1, 3, 6, 6), (4, 3, 3, 3)),
}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("name", BYTES)
def test_sums_of_bytes_are_those_of_widened_bytes(name: str, dtype: str) -> None:
    function, *shapes = BYTES[name]
    graph = traced(function, *((shape, dtype) for shape in shapes))
    short = ShortOperands().run(graph)
    verify(short, graph)
    assert read_types(short) == [dtype, dtype]
    limits, random = np.iinfo(dtype), np.random.default_rng(1)
    given = {f"x{place}": random.integers(limits.min, limits.max + 1, shape).astype(dtype) for place, shape in enumerate(shapes)}
    before, after = (evaluate(one, given)[one.outputs[0]] for one in (graph, short))
    assert after.dtype == np.int32
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize(
    ("function", "types"),
    [
        (lambda a, b: a.astype(WIDE) @ b.astype(WIDE), ("int8", "uint8")),
        (lambda a, b: a.astype(WIDE) @ b, ("int8", "int32")),
        (lambda a, b: (a.astype(WIDE) + 1) @ b.astype(WIDE), ("int8", "int8")),
        (lambda a, b: a.astype(np.float32) @ b.astype(np.float32), ("int8", "int8")),
        (lambda a, b: a.astype(np.int64) @ b.astype(np.int64), ("int8", "int8")),
        (lambda a, b: a.astype(WIDE) @ b.astype(WIDE), ("int16", "int16")),
    ],
)
def test_other_products_stay(function: Callable[..., Any], types: tuple[str, str]) -> None:
    graph = traced(function, ((4, 4), types[0]), ((4, 4), types[1]))
    assert ShortOperands().run(graph) == graph


@pytest.mark.parametrize("types", [("int8", "uint8"), ("uint8", "int8"), ("int16", "int16"), ("uint8", "uint8")])
def test_products_that_a_machine_has_are_short(types: tuple[str, str]) -> None:
    graph = traced(lambda a, b: a.astype(WIDE) @ b.astype(WIDE), ((4, 4), types[0]), ((4, 4), types[1]))
    short = ShortOperands(frozenset((("uint8", "int8"), ("int16", "int16")))).run(graph)
    verify(short, graph)
    assert read_types(short) == (["int32"] * 2 if types == ("uint8", "uint8") else [*types])


HALVES = frozenset((("float16", "float16"),))


@pytest.mark.parametrize(
    ("function", "types", "stay"),
    [
        (lambda a, b: a @ b, ("float16", "float16"), True),
        (lambda a, b: a @ b, ("bfloat16", "bfloat16"), False),
        (lambda a, b: tw.softmax(a * b, axis=-1), ("float16", "float16"), True),
        (lambda a, b: tw.softmax(a * b, axis=-1), ("bfloat16", "bfloat16"), True),
        (lambda a, b: tw.sum(a * b, axis=-1), ("float16", "float16"), True),
    ],
)
def test_halves_stay_where_a_device_stores_them(function: Callable[..., Any], types: tuple[str, str], stay: bool) -> None:
    graph = traced(function, ((4, 4), types[0]), ((4, 4), types[1]))
    kept = ElementTypes(HALVES, stores_halves=True).run(graph)
    verify(kept, graph)
    assert (len(kept.operators) == len(graph.operators)) is stay
    assert all(operator.accumulator == "float32" for operator in kept.operators if operator.reduction is not None)
    assert len(ElementTypes().run(graph).operators) > len(graph.operators)
