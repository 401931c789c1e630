"""ONNX operators that move elements or reduce them: what they refuse, and lengths."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.onnx_operators import operator
from tilewright.errors import PositionError, TilewrightError, UnsupportedOperation
from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.extents import plus
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import SymbolicExtent


def lower(name, version, *operands, **attributes):
    builder = Builder("f")
    tensors = [builder.constant(one) if isinstance(one, np.ndarray) else builder.input("x", *one) for one in operands]
    return operator(name, version, **attributes).lower(builder, *tensors)


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


def test_the_reference_implementation_refuses_positions_outside():
    with pytest.raises(PositionError, match=r"position 3 is out of range"):
        operator("Gather", 13).reference(np.zeros(3), np.array([0, 3]))


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
    found = operator("Gather", 13).lower(builder, builder.input("x", x.shape, "float64"), builder.constant(ids))
    graph = builder.graph((found.name,))
    np.testing.assert_array_equal(evaluate(graph, {"x": x})[found.name], x[ids])
    assert bool(graph.operators[0].looked_up()) == (ids.tolist() in ([0, 0], [0, 1, 3]))


def test_padding_takes_infinities_and_refuses_what_floats_do_not_hold():
    pads = np.array([0, 1, 0, 0])
    found = lower("Pad", 13, IMAGE, pads, np.array(-np.inf, np.float32))
    assert found.shape == (2, 4)
    with pytest.raises(UnsupportedOperation, match="no float"):
        lower("Pad", 13, ((2, 3), "int64"), pads, np.array(2**53 + 1))
