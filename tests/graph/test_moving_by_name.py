"""ONNX operators that move elements or reduce them: meanings and lowerings against the cases that onnx brings."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.onnx_nodes import arrays, by_meaning, definition_of, feeds, lowered, node_cases
from tilewright.errors import ShapeError, TilewrightError, UnsupportedOperation
from tilewright.graph.builder import Builder, NotKnown
from tilewright.graph.definition import definition
from tilewright.graph.interpreter import evaluate
from tilewright.graph.sums_of_extents import plus
from tilewright.graph.types import SymbolicExtent
from tilewright.graph.verifier import verify

MOVING = (
    "ArgMax ArgMin BitCast Cast CastLike Compress Concat Constant ConstantOfShape CumProd CumSum Dropout Expand EyeLike Flatten "
    "Gather GatherElements GatherND Identity NonMaxSuppression NonZero OneHot Pad Range Reshape ReverseSequence Scatter "
    "ScatterElements ScatterND Shape Size Slice Split Squeeze TensorScatter Tile TopK Transpose Trilu Unique Unsqueeze"
)
REDUCING = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare"
CASES = node_cases(*MOVING.split(), *(f"Reduce{name}" for name in REDUCING.split()))


def known_and_graph(model, operands):
    """The graph of a case, and which of its operands are constants in it because their contents are needed."""
    known: list[int] = []
    while True:
        try:
            return known, lowered(model, operands, known)
        except NotKnown as problem:
            known.append(int(problem.tensor.removeprefix("input_")))


def assert_same(found, expected, case):
    for one, other in zip(found, expected, strict=False):
        if isinstance(other, list) or other is None:
            assert_same(one or [], other or [], case)
            continue
        one, other = np.asarray(one), np.asarray(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if other.dtype.kind not in "biufcOU":
            one, other = one.astype(np.float32), other.astype(np.float32)
        if other.dtype.kind in "OU":
            assert (one == other).all()
        else:
            np.testing.assert_allclose(one, other, case.rtol, case.atol)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_meaning_and_lowering_are_what_onnx_says(case):
    for inputs, outputs in case.data_sets:
        if not all(isinstance(one, np.ndarray) for one in (*inputs, *outputs)):
            continue
        operands = arrays(case.model, inputs)
        assert_same(by_meaning(case.model, operands), outputs, case)
        if definition_of(case.model).lower is None:
            continue
        try:
            known, graph = known_and_graph(case.model, operands)
        except UnsupportedOperation:
            continue
        verify(graph)
        values = {**feeds(graph, operands, known), **{name: one.array for name, one in graph.constants}}
        results = evaluate(graph, values)
        assert_same([results[name] if name in results else values[name] for name in graph.outputs], outputs, case)


def lower(name, version, *operands, **attributes):
    builder = Builder("f")
    tensors = [builder.constant(one) if isinstance(one, np.ndarray) else builder.input("x", *one) for one in operands]
    return definition(name, version).lower(builder, *tensors, **attributes)


IMAGE = ((2, 3), "float32")
BAD = {
    "a pad below nothing": ("Pad", 13, (IMAGE, np.array([0, -5, 0, 0])), {}),
    "pads for other dimensions": ("Pad", 13, (IMAGE, np.array([0, 1, 0])), {}),
    "an unknown mode": ("Pad", 13, (IMAGE, np.array([0, 1, 0, 1])), {"mode": "mirror"}),
    "a huge shape": ("Expand", 13, (IMAGE, np.array([10**12, 1, 1])), {}),
    "a huge tile": ("Tile", 13, (IMAGE, np.array([10**12, 1])), {}),
    "no permutation": ("Transpose", 13, (IMAGE,), {"perm": [0, 0]}),
    "an axis that is not there": ("Concat", 13, (IMAGE,), {"axis": 2}),
    "parts that are too long": ("Split", 13, (IMAGE, np.array([1, 3])), {"axis": 1}),
    "a dimension of two squeezed": ("Squeeze", 13, (IMAGE, np.array([0])), {}),
    "steps of nothing": ("Slice", 13, (IMAGE, *map(np.array, ([0], [1], [0], [0]))), {}),
    "an axis twice": ("ReduceSum", 13, (IMAGE, np.array([1, 1])), {}),
    "a shape that does not fit": ("Reshape", 14, (IMAGE, np.array([4, -1])), {}),
}


@pytest.mark.parametrize("one", BAD)
def test_bad_operands_are_one_clear_error(one):
    name, version, operands, attributes = BAD[one]
    with pytest.raises(TilewrightError):
        lower(name, version, *operands, **attributes)


def test_the_meaning_refuses_positions_outside():
    with pytest.raises(ShapeError, match=r"positions 0..3 in a dimension of extent 3"):
        definition("Gather", 13).meaning(np.zeros(3), np.array([0, 3]))


def test_a_dimension_of_run_time_length_stays():
    length = SymbolicExtent("s", 1, 64, 32)
    x = ((2, length, 8), "float32")
    assert lower("Transpose", 13, x, perm=[1, 0, 2]).shape == (length, 2, 8)
    assert lower("Unsqueeze", 13, x, np.array([0])).shape == (1, 2, length, 8)
    assert lower("ReduceMean", 18, x, np.array([1])).shape == (2, 1, 8)
    assert lower("Slice", 13, x, *map(np.array, ([1], [5], [2]))).shape == (2, length, 4)
    assert lower("Concat", 13, x, x, axis=2).shape == (2, length, 16)
    assert lower("Concat", 13, x, x, axis=1).shape == (2, plus(length, length), 8)


@pytest.mark.parametrize("ids", [0, -1, [2], [1, 2], [3, 1], [2, 1, 0], [0, 0], [0, 1, 3]])
def test_known_positions_are_a_slice_where_they_are_evenly_spaced(ids):
    x, builder, ids = np.arange(12.0).reshape(4, 3), Builder("f"), np.array(ids)
    found = definition("Gather", 13).lower(builder, builder.input("x", x.shape, "float64"), builder.constant(ids))
    graph = builder.graph((found.name,))
    np.testing.assert_array_equal(evaluate(graph, {"x": x})[found.name], x[ids])
    assert bool(graph.operators[0].looked_up()) == (ids.tolist() in ([0, 0], [0, 1, 3]))


def test_padding_takes_infinities_and_refuses_what_floats_do_not_hold():
    pads = np.array([0, 1, 0, 0])
    found = lower("Pad", 13, IMAGE, pads, np.array(-np.inf, np.float32))
    assert found.shape == (2, 4)
    with pytest.raises(UnsupportedOperation, match="no float"):
        lower("Pad", 13, ((2, 3), "int64"), pads, np.array(2**53 + 1))
