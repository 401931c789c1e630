"""Generated code that gathers, joins, pads and repeats, against NumPy: ragged shapes, and memory that ends where arrays end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.guarded import GuardedMemory, in_child
from tests.support.onnx_operators import operator
from tilewright import compiler
from tilewright.errors import PositionError
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import concatenate, pad
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.expressions.index import axis, constant, floordiv, mod
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Access, Axis, Graph, Guard, Operator, Tensor
from tilewright.lower.iteration_domains import pieces
from tilewright.machine import Machine

VERSION = 21


def by_code(name: str, operands: list[Any], known: tuple[int, ...], **attributes: Any) -> tuple[Any, Any]:
    """The result of an operator by generated code, and by its reference implementation."""
    run, expected = compiled(name, operands, known, **attributes)
    return run(operands), expected


def compiled(name: str, operands: list[Any], known: tuple[int, ...], **attributes: Any) -> Any:
    """A function of operands like these, and the result of the reference implementation for these."""
    one, builder = operator(name, VERSION, **attributes), Builder("moved")
    tensors = [
        builder.constant(value) if number in known else builder.input(f"x{number}", value.shape, value.dtype.name)
        for number, value in enumerate(operands)
    ]
    graph = builder.graph((one.lower(builder, *tensors).name,))
    executable = compiler.build(compiler.plan(graph, Machine.detect()), threads=1)
    names = {tensor.name: number for number, tensor in enumerate(tensors)}

    def run(values: list[Any]) -> Any:
        inputs = [np.asarray(values[names[slot.name]]) for slot in executable.signature.inputs]
        outputs = executable.new_outputs(inputs)
        executable.run(inputs, outputs)
        return outputs[0]

    return run, one.reference(*operands)


def numbers(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-50, 50, shape).astype(dtype)


GATHERS = {
    "rows": ("Gather", (37, 19), (5, 3), {}),
    "columns": ("Gather", (6, 37), (5,), {"axis": 1}),
    "in the middle": ("Gather", (3, 37, 16), (2, 2), {"axis": 1}),
    "one row": ("Gather", (37, 33), (), {}),
    "elements of rows": ("GatherElements", (5, 37), (4, 21), {"axis": 1}),
    "elements of columns": ("GatherElements", (37, 17), (3, 17), {"axis": 0}),
    "points": ("GatherND", (37, 37, 5), (4, 3, 2), {}),
    "points of batches": ("GatherND", (4, 37, 17), (4, 3, 1), {"batch_dims": 1}),
}


@pytest.mark.parametrize(("one", "dtype"), [*((one, "float32") for one in GATHERS), ("rows", "int64"), ("points", "int8")])
def test_elements_are_gathered(one, dtype):
    name, shape, positions, attributes = GATHERS[one]
    ids = numbers(positions, "int64") % 74 - 37
    found, expected = by_code(name, [numbers(shape, dtype), ids], (), **attributes)
    np.testing.assert_array_equal(found, expected)


def check_no_foreign_memory() -> None:
    rows, columns = 21, 19
    run, _ = compiled("Gather", [numbers((rows, columns)), numbers((7,), "int64") % rows], ())
    inside = np.array([0, rows - 1, -rows, 3, -1, 7, 2])
    outside = np.array([0, rows, -rows - 1, 2**62, -(2**62), 2**63 - 1, -(2**63)])
    for at_end in (False, True):
        x = GuardedMemory(rows * columns * 4).place(rows * columns, at_end=at_end).reshape(rows, columns)
        x[:] = numbers((rows, columns))
        positions = GuardedMemory(7 * 8).place(7, at_end=at_end, dtype=np.dtype(np.int64))
        positions[:] = inside
        np.testing.assert_array_equal(run([x, positions]), x[inside])
        positions[:] = outside
        with pytest.raises(PositionError, match=f"position {rows} is out of range"):
            run([x, positions])


def test_no_foreign_memory_is_touched_whatever_the_positions():
    in_child(check_no_foreign_memory)


EXTENT = st.integers(1, 35)


@settings(max_examples=4, deadline=None)
@given(st.lists(EXTENT, min_size=2, max_size=4), EXTENT, st.integers(1, 4), st.integers(0, 2))
def test_arrays_are_joined(lengths, wide, deep, place):
    shapes = [[deep, 2, wide] for _ in lengths]
    for shape, length in zip(shapes, lengths, strict=True):
        shape[place] = length
    parts = [numbers(tuple(shape), seed=number) for number, shape in enumerate(shapes)]
    found, expected = by_code("Concat", parts, (), axis=place)
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=4, deadline=None)
@given(st.sampled_from(["constant", "edge", "reflect", "wrap"]), st.tuples(EXTENT, EXTENT), st.data())
def test_arrays_are_padded(mode, shape, data):
    pads = data.draw(st.tuples(*(st.integers(-(extent // 3), max(extent - 1, 0) // 2) for extent in (*shape, *shape))))
    found, expected = by_code("Pad", [numbers(shape), np.array(pads)], (1,), mode=mode)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("shape", "counts"), [((3, 5), (2, 3)), ((1, 17), (4, 1)), ((2, 1, 33), (1, 3, 2))])
def test_arrays_are_repeated(shape, counts):
    found, expected = by_code("Tile", [numbers(shape), np.array(counts)], (1,))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_divisions_of_what_runs_backwards_round_down(dtype):
    """Element i of the reversed row is in row (3 - i) // 4 + 11: what is divided becomes negative."""
    builder = Builder("backwards")
    x = builder.input("x", (12, 10), dtype)
    row = builder.reshape(builder.slice(x, (slice(None), slice(3, 7))), (48,))
    graph = builder.graph((builder.slice(row, (slice(None, None, -1),)).name,))
    values = numbers((12, 10), dtype)
    np.testing.assert_array_equal(ran(graph, values), values[:, 3:7].reshape(-1)[::-1])


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_guards_that_divide_round_down(dtype):
    """Elements from the last one on in every other place; behind the first one negative places are divided, too."""
    place = constant(13) - axis("d0")
    row, rest = floordiv(place, 2), mod(place, 2)
    read = Access("x", (row,), Guard((row, constant(4) - row, rest * -1), 7.0))
    write = Access("y", (axis("d0"),))
    spread = Operator("spread", "spread", (Axis("d0", 17),), (read,), write, Load(0), accumulator=accumulator_of(dtype))
    graph = Graph("spread", (Tensor("x", (5,), dtype), Tensor("y", (17,), dtype)), (spread,), ("x",), ("y",))
    values = numbers((5,), dtype)
    expected = np.full(17, 7, dtype)
    expected[5:14:2] = values[::-1]
    np.testing.assert_array_equal(evaluate(graph, {"x": values})["y"], expected)
    np.testing.assert_array_equal(ran(graph, values), expected)


def ran(graph: Graph, values: Any) -> Any:
    """The result of generated code for one argument."""
    executable = compiler.build(compiler.plan(graph, Machine.detect()), threads=1)
    outputs = executable.new_outputs([values])
    executable.run([values], outputs)
    return outputs[0]


@pytest.mark.parametrize("name", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize(("axis", "last"), [(0, 0), (1, 0), (1, 1)])
def test_positions_of_extremes(name, axis, last):
    x = numbers((13, 35)) % 7
    found, expected = by_code(name, [x], (), axis=axis, select_last_index=last)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("name", "dtype"), [("ArgMax", "int64"), ("ArgMin", "float64"), ("LogSoftmax", "float64")])
def test_rows_of_one_element(name, dtype):
    """Each pass over a row without loops has its own variables."""
    for shape, place in (((1,), 0), ((1, 8), 0), ((3, 1, 2), 1)):
        found, expected = by_code(name, [numbers(shape, dtype)], (), axis=place)
        np.testing.assert_array_equal(found, expected)


def test_a_concatenation_is_cut_into_plain_copies():
    parts = [Tensor("a", (2, 3)), Tensor("b", (2, 4)), Tensor("c", (2, 1))]
    found = pieces(concatenate(parts, 1, name="concat", result="y")[0])
    assert [piece.bounds["d1"] for piece in found] == [(0, 3), (3, 7), (7, 8)]
    assert [piece.operator.reads[0].tensor for piece in found] == ["a", "b", "c"]
    assert all(piece.operator.reads[0].is_affine() and piece.operator.body == Load(0) for piece in found)


def test_many_parts_are_cut_in_their_order():
    """Cuts begin in the middle where there are many."""
    lengths = [1 + number % 3 for number in range(40)]
    parts = [Tensor(f"part{number}", (length, 5)) for number, length in enumerate(lengths)]
    found = pieces(concatenate(parts, 0, name="concat", result="y")[0])
    ends = np.cumsum(lengths)
    assert [piece.bounds["d0"] for piece in found] == list(zip(ends - lengths, ends, strict=True))
    assert [[read.tensor for read in piece.operator.reads] for piece in found] == [[part.name] for part in parts]
    assert not any(piece.operator.reads[0].guard for piece in found)


def test_padding_is_cut_into_fills_and_one_copy():
    found = pieces(pad(Tensor("x", (4, 5)), ((1, 1), (2, 0)), 0.0, name="pad", result="y")[0])
    assert [len(piece.operator.reads) for piece in found] == [0, 0, 1, 0]
    assert found[2].bounds == {"d0": (1, 5), "d1": (2, 7)}


def test_a_guard_of_two_axes_stays():
    axes, triangle = (Axis("m", 4), Axis("n", 4)), Guard((axis("m") - axis("n"), constant(2) - axis("n")), 0.0)
    read, write = Access("x", (axis("m"), axis("n")), triangle), Access("y", (axis("m"), axis("n")))
    found = pieces(Operator("f", "copy", axes, (read,), write, Load(0), accumulator=accumulator_of("float32")))
    assert [piece.bounds["n"] for piece in found] == [(0, 3), (3, 4)]
    assert [piece.operator.reads[0].guard for piece in found[:1]] == [Guard(triangle.constraints[:1], 0.0)]
    assert not found[1].operator.reads
