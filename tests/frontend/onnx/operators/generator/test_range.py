"""Range of short floating-point numbers, which are computed in the type that `stash_type` names."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

import tilewright.onnx as ort
from tests.support.onnx_operators import operator
from tilewright.errors import UnsupportedOperation

RANGES = [(0.1, 2.0, 0.3), (2048, 2060, 1), (0, 3000, 1), (1, -200, -0.25)]


@pytest.mark.parametrize("stash", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("bounds", RANGES)
def test_numbers_are_computed_in_the_stash_type_and_rounded(bounds, dtype, stash) -> None:
    kind = {np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE}[stash]
    start, limit, delta = (np.array(bound, dtype) for bound in bounds)
    wide_start, wide_limit, wide_delta = (stash(operand) for operand in (start, limit, delta))
    count = int(np.ceil((float(wide_limit) - float(wide_start)) / float(wide_delta)))
    expected = (wide_start + np.arange(count, dtype=stash) * wide_delta).astype(dtype)
    assert np.array_equal(operator("Range", 27, stash_type=kind).reference(start, limit, delta), expected)


def test_a_model_may_set_the_stash_type() -> None:
    node = helper.make_node("Range", ["start", "limit", "delta"], ["y"], stash_type=TensorProto.FLOAT)
    names = ("start", "limit", "delta")
    scalars = [helper.make_tensor_value_info(name, TensorProto.FLOAT16, []) for name in names]
    graph = helper.make_graph([node], "g", scalars, [helper.make_tensor_value_info("y", TensorProto.FLOAT16, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 27)], ir_version=10)
    feeds = dict(zip(names, np.array([0, 3000, 1], np.float16), strict=True))
    (y,) = ort.InferenceSession(model).run(None, {name: np.asarray(number) for name, number in feeds.items()})
    assert np.array_equal(y, np.arange(3000).astype(np.float16))


def test_another_stash_type_is_refused() -> None:
    operands = [np.array(number, np.float16) for number in (0, 3, 1)]
    with pytest.raises(UnsupportedOperation, match="Range with stash_type float16"):
        operator("Range", 27, stash_type=TensorProto.FLOAT16).reference(*operands)


@pytest.mark.parametrize(
    ("dtype", "start", "limit", "delta"),
    [
        (np.int64, 2**60 + 1, 2**60 + 5, 1),
        (np.int64, 2**53 + 1, 2**53 + 4, 1),
        (np.int64, 2**63 - 6, 2**63 - 1, 2),
        (np.int64, -(2**63) + 5, -(2**63), -2),
        (np.uint64, 2**64 - 6, 2**64 - 1, 2),
        (np.int16, -32768, 32767, 1),
    ],
)
def test_integers_are_counted_as_integers(dtype: type, start: int, limit: int, delta: int) -> None:
    found = operator("Range", 11).reference(*(np.array(number, dtype) for number in (start, limit, delta)))
    assert found.dtype == dtype
    assert found.tolist() == list(range(start, limit, delta))
