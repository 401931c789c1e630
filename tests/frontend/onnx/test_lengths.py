"""Concatenations and ranges whose extents are known at run time, beside NumPy."""

import itertools

import numpy as np
import pytest

from tests.support.onnx_operators import operator
from tests.support.typed import run
from tilewright.errors import DTypeError, ShapeError, Undecided
from tilewright.frontend.onnx.definition import definition
from tilewright.frontend.onnx.extents import fold
from tilewright.frontend.onnx.model import Node
from tilewright.frontend.onnx.operators.tensor.shapes import Concat
from tilewright.frontend.onnx.symbolic import Symbolic
from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.extents import maximum, minimum, minus, plus, quotient, remainder, times
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import SymbolicExtent

S, T = SymbolicExtent("s0", 2, 9, 9), SymbolicExtent("s1", 1, 5, 5)


def _joined(extents, dtype="float32"):
    """A graph that joins parts along the middle dimension."""
    builder = Builder("joined")
    parts = [builder.input(f"x{number}", (2, extent, 3), dtype) for number, extent in enumerate(extents)]
    result = Concat(axis=-2).lower(builder, *parts)
    return builder.graph((result.name,))


def _values(lengths, dtype="float32"):
    generator = np.random.default_rng(0)
    return {f"x{n}": generator.integers(0, 99, (2, length, 3)).astype(dtype) for n, length in enumerate(lengths)}


@pytest.mark.parametrize("extents", [(S, 1), (1, S), (S, T), (S, 2, T)], ids=str)
def test_parts_of_any_length_stand_behind_each_other(extents):
    graph = _joined(extents)
    for s, t in itertools.product((2, 3, 9), (1, 5)):
        parts = _values([{"s0": s, "s1": t}[one.name] if isinstance(one, SymbolicExtent) else one for one in extents])
        (found,) = evaluate(graph, parts).values()
        assert np.array_equal(found, np.concatenate(list(parts.values()), axis=1))


@pytest.mark.needs("ssse3", "sse4_1")
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_generated_code_joins_a_cache_and_its_rows(dtype):
    graph = _joined((S, 1, T), dtype)
    for s, t in ((2, 1), (5, 3), (9, 5)):
        parts = _values((s, 1, t), dtype)
        (found,) = run(graph, parts, "x86-64-v2")
        assert np.array_equal(found, np.concatenate(list(parts.values()), axis=1))


def test_parts_that_do_not_fit_are_refused():
    builder = Builder("joined")
    x = builder.input("x", (2, S), "float32")
    with pytest.raises(ShapeError, match="differ in other dimensions"):
        Concat(axis=1).lower(builder, x, builder.input("y", (3, S), "float32"))
    with pytest.raises(DTypeError, match="types float32, int64"):
        Concat(axis=1).lower(builder, x, builder.input("z", (2, S), "int64"))


def test_ranges_between_lengths():
    builder = Builder("range")
    first, last = S, plus(S, T)
    operands = [builder.input(name, (), "int64") for name in ("first", "last", "step")]
    for operand, value in zip(operands, (first, last, 1), strict=True):
        builder.known[operand.name] = np.array(value, object)
    result = operator("Range", 11).lower(builder, *operands)
    builder.inputs = []
    builder.input("s", (S, T), "float32")
    graph = builder.graph((result.name,))
    (found,) = evaluate(graph, {"s": np.zeros((4, 3), np.float32)}).values()
    assert found.tolist() == [4, 5, 6]


@pytest.mark.parametrize(
    ("operator", "operands", "expected"),
    [
        ("Add", (S, 1), plus(S, 1)),
        ("Add", (S, T), plus(T, S)),
        ("Sub", (plus(S, 1), 1), S),
        ("Sub", (plus(S, T), S), T),
        ("Sub", (plus(S, 3), S), 3),
        ("Less", (S, plus(S, 1)), True),
        ("GreaterOrEqual", (S, plus(S, 1)), False),
        ("Equal", (plus(S, 1), S), False),
        ("Max", (plus(S, 1), S), plus(S, 1)),
        ("Min", (S, plus(S, 1)), S),
        ("Sub", (1, S), minus(1, S)),
        ("Less", (S, plus(T, 1)), None),
        ("Equal", (S, T), None),
        ("Mul", (S, 2), times(S, 2)),
        ("Mul", (S, plus(T, 1)), plus(times(S, T), S)),
        ("Div", (times(S, 4), 2), times(S, 2)),
        ("Div", (S, 2), quotient(S, 2)),
        ("Div", (minus(1, S), 2), None),
        ("Div", (S, minus(S, 2)), None),
        ("Mod", (S, 2), remainder(S, 2)),
        ("Max", (S, T), maximum(S, T)),
        ("Min", (S, 4), minimum(S, 4)),
    ],
)
def test_arithmetic_of_lengths(operator, operands, expected):
    node = Node("n", operator, "", definition(operator, 13), ("a", "b"), ("y",))
    inputs = [Symbolic(np.array(one, object)) if isinstance(one, SymbolicExtent) else np.array(one) for one in operands]
    if expected is None:
        with pytest.raises(Undecided):
            fold(node, inputs)
        return
    result = fold(node, inputs)
    assert result is not None
    if isinstance(result, Symbolic):
        assert result.array.item() == expected
    else:
        assert result.item() == expected
