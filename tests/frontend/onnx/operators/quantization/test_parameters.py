"""Damaged scales and zero points: one clear error each, whether a node is compiled or runs as NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tilewright.errors import InvalidModel
from tilewright.onnx import InferenceSession

ONE, ZERO = np.float32(1), np.uint8(0)
X = np.ones((2, 4, 8), np.float32)
BYTES = np.ones((2, 4, 8), np.uint8)
A, B = np.ones((3, 4), np.uint8), np.ones((4, 5), np.uint8)
IMAGE, FILTERS = np.ones((1, 3, 8, 8), np.uint8), np.ones((4, 3, 3, 3), np.uint8)
MATMUL = {"as": ONE, "az": ZERO, "b": B, "bs": ONE, "bz": ZERO, "ys": ONE, "yz": ZERO}
CONV = {"xs": ONE, "xz": ZERO, "w": FILTERS, "ws": ONE, "wz": ZERO, "ys": ONE, "yz": ZERO}


def result(name: str, x: np.ndarray, constants: dict[str, Any], **attributes: Any) -> np.ndarray:
    """Of a model of one node; the constants are its operands behind the first."""
    node = helper.make_node(name, ["x", *constants], ["y"], **attributes)
    given = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    made = helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)
    weights = [numpy_helper.from_array(np.asarray(value), key) for key, value in constants.items()]
    graph = helper.make_graph([node], "graph", [given], [made], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    (found,) = InferenceSession(model.SerializeToString()).run(None, {"x": x})
    return found


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize(
    ("name", "x", "constants", "scale"),
    [
        ("QuantizeLinear", X, {"s": ONE, "z": ZERO}, "s"),
        ("QLinearMatMul", A, MATMUL, "ys"),
        ("QLinearConv", IMAGE, CONV, "ys"),
    ],
)
def test_scales_that_numbers_are_divided_by(name, x, constants, scale, value):
    with pytest.raises(InvalidModel, match=f"the scale of y is {value}") as refused:
        result(name, x, {**constants, scale: np.float32(value)})
    assert "a scale is positive and finite: numbers are divided by it" in str(refused.value)
    assert name in refused.value.where


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize(
    ("name", "x", "constants", "scale"),
    [
        ("DequantizeLinear", BYTES, {"s": ONE, "z": ZERO}, "s"),
        ("QLinearMatMul", A, MATMUL, "as"),
        ("QLinearMatMul", A, MATMUL, "bs"),
        ("QLinearConv", IMAGE, CONV, "ws"),
    ],
)
def test_scales_that_numbers_are_multiplied_by(name, x, constants, scale, value):
    with pytest.raises(InvalidModel, match=f"is {value}"):
        result(name, x, {**constants, scale: np.float32(value)})


def test_the_place_of_a_wrong_scale_is_told():
    scales = np.array([1, 2, np.nan, 4], np.float32)
    with pytest.raises(InvalidModel, match=r"the scale of y at \[2\] is nan"):
        result("QuantizeLinear", X, {"s": scales, "z": np.zeros(4, np.uint8)}, axis=1)


def test_channels_without_weights_have_scales_of_0():
    scales = np.array([1, 0, 2, 1], np.float32)
    found = result("DequantizeLinear", BYTES, {"s": scales, "z": np.zeros(4, np.uint8)}, axis=1)
    np.testing.assert_array_equal(found[0, :, 0], scales)


@pytest.mark.parametrize(
    ("name", "x", "constants", "what"),
    [
        ("DequantizeLinear", BYTES, {"s": ONE, "z": np.int8(0)}, "x"),
        ("MatMulInteger", A, {"b": B, "az": np.int8(0), "bz": ZERO}, "a"),
        ("MatMulInteger", A, {"b": B, "az": ZERO, "bz": np.int8(0)}, "b"),
        ("QLinearMatMul", A, {**MATMUL, "az": np.int8(0)}, "a"),
        ("QLinearMatMul", A, {**MATMUL, "bz": np.int8(0)}, "b"),
        ("ConvInteger", IMAGE, {"w": FILTERS, "xz": np.int8(0), "wz": ZERO}, "x"),
        ("QLinearConv", IMAGE, {**CONV, "wz": np.int8(0)}, "w"),
    ],
)
def test_zero_points_have_the_type_of_what_is_counted_from_them(name, x, constants, what):
    with pytest.raises(InvalidModel, match=f"the zero point of {what} is int8, and {what} is uint8") as refused:
        result(name, x, constants)
    assert "make the zero point uint8" in str(refused.value)


@pytest.mark.parametrize("zero", [np.float32(3), np.int32(3)])
def test_nothing_is_quantised_to_wide_types(zero):
    with pytest.raises(InvalidModel, match=f"the zero point of y is {zero.dtype}"):
        result("QuantizeLinear", X, {"s": ONE, "z": zero})


def test_a_declared_type_is_that_of_the_zero_point():
    with pytest.raises(InvalidModel, match="is uint8, and output_dtype is int8"):
        result("QuantizeLinear", X, {"s": ONE, "z": ZERO}, output_dtype=TensorProto.INT8)


def test_scales_are_floating_point_numbers():
    with pytest.raises(InvalidModel, match="the scale of y is int32"):
        result("QuantizeLinear", X, {"s": np.int32(1), "z": ZERO})


@pytest.mark.parametrize(
    ("name", "x", "constants", "attributes", "message"),
    [
        ("QuantizeLinear", X, {"s": np.ones(5, np.float32), "z": np.zeros(5, np.uint8)}, {"axis": 1}, r"\(5,\) for an array of"),
        ("QuantizeLinear", X, {"s": np.ones(4, np.float32), "z": np.zeros(3, np.uint8)}, {"axis": 1}, r"\(3,\) for an array of"),
        ("QuantizeLinear", X, {"s": np.ones(4, np.float32), "z": np.zeros(4, np.uint8)}, {"axis": 7}, "axis 7 does not exist"),
        (
            "DequantizeLinear",
            BYTES,
            {"s": np.ones(5, np.float32), "z": np.zeros(5, np.uint8)},
            {"axis": 1},
            r"\(5,\) for an array",
        ),
        ("MatMulInteger", A, {"b": B, "az": ZERO, "bz": np.zeros(3, np.uint8)}, {}, r"zero point of shape \(3,\)"),
        ("ConvInteger", IMAGE, {"w": FILTERS, "xz": ZERO, "wz": np.zeros(3, np.uint8)}, {}, r"\(3,\) for 4 filters"),
        ("QLinearConv", IMAGE, {**CONV, "ws": np.ones(3, np.float32), "wz": np.zeros(3, np.uint8)}, {}, r"\(3,\) for 4 filters"),
    ],
)
def test_parameters_along_an_axis_have_its_length(name, x, constants, attributes, message):
    with pytest.raises(InvalidModel, match=message) as refused:
        result(name, x, constants, **attributes)
    assert name in refused.value.where


@pytest.mark.parametrize("shape", [(2, 4, 2), (2, 4, 4), (2, 2, 8)])
def test_blocks_cover_the_axis(shape):
    blocks = {"s": np.ones(shape, np.float32), "z": np.zeros(shape, np.uint8)}
    with pytest.raises(InvalidModel, match="scales or zero points of shape") as refused:
        result("QuantizeLinear", X, blocks, axis=2, block_size=3)
    assert "there is one for every 3 along axis 2" in str(refused.value)
