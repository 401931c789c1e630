"""Damaged scales and zero points of onnxruntime's operators: one clear error each, compiled and as NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tests.frontend.onnx.operators.contrib.peers import DOMAIN, node_model
from tests.support.onnx_operators import operator
from tilewright.errors import InvalidModel
from tilewright.onnx import InferenceSession

X, ONE, ZERO, SIGNED = np.ones((2, 3, 4, 4), np.uint8), np.float32(1), np.uint8(0), np.int8(0)
A, B = np.ones((2, 3), np.uint8), np.ones((3, 4), np.int8)
OF_X = {"x": X, "x_scale": ONE, "x_zero": ZERO}
OF_Y = {"y_scale": ONE, "y_zero": ZERO}
OF_A = {"a_scale": ONE, "a_zero": ZERO}
OF_B = {"b_scale": ONE, "b_zero": SIGNED}
BINARY = {"x": X, "x_scale": ONE, "x_zero": ZERO, "b": X, "b_scale": ONE, "b_zero": ZERO, **OF_Y}


@dataclass(frozen=True)
class Node:
    """An operator with operands that fit: which scale and zero point belong to a quantised operand, and which to the result."""

    values: dict[str, Any]
    scale: str
    zero: str
    result_scale: str = ""
    result: str = "uint8"
    attributes: dict[str, Any] = field(default_factory=dict)


FUNCTION = Node({**OF_X, **OF_Y}, "x_scale", "x_zero", "y_scale")
OF_FLOATS = {"a": A, "b": B, "a_scale": ONE, "b_scale": ONE, "a_zero": ZERO, "b_zero": SIGNED}
GEMM = {"a": A, **OF_A, "b": B, **OF_B, "c": np.zeros(4, np.int32), **OF_Y}
WEIGHT = {"weight": np.ones((3, 12), np.int8), "bias": np.zeros(12, np.float32)}
OF_ATTENTION = {"x": X[:1, 0, :2, :3], **WEIGHT, "x_scale": ONE, "w_scale": ONE, "mask": None, "x_zero": ZERO, "w_zero": SIGNED}
EVERY = {
    "QLinearAdd": Node(BINARY, "b_scale", "b_zero", "y_scale"),
    "QLinearMul": Node(BINARY, "b_scale", "b_zero", "y_scale"),
    "QLinearSigmoid": FUNCTION,
    "QLinearLeakyRelu": FUNCTION,
    "QLinearAveragePool": Node(FUNCTION.values, "x_scale", "x_zero", "y_scale", attributes={"kernel_shape": [2, 2]}),
    "QLinearGlobalAveragePool": FUNCTION,
    "QLinearSoftmax": Node(FUNCTION.values, "x_scale", "x_zero", "y_scale", attributes={"opset": 13}),
    "QLinearConcat": Node({**OF_Y, **OF_X}, "x_scale", "x_zero", "y_scale", attributes={"axis": 1}),
    "QGemm": Node(GEMM, "b_scale", "a_zero", "y_scale"),
    "MatMulIntegerToFloat": Node(OF_FLOATS, "b_scale", "a_zero", result="float"),
    "DynamicQuantizeMatMul": Node({"a": A.astype(np.float32), "b": B, **OF_B}, "b_scale", "b_zero", result="float"),
    "QAttention": Node(
        {"x": X[:1, 0, :2, :3], **WEIGHT, **OF_ATTENTION}, "w_scale", "x_zero", result="float", attributes={"num_heads": 2}
    ),
}


def assert_told(op_type: str, changed: dict[str, Any], *texts: str) -> None:
    """By a session, with the node, and by the reference implementation."""
    node = EVERY[op_type]
    values = {**node.values, **changed}
    constants = [name for name in values if "_" in name or name in ("b", "weight", "bias", "c")]
    data = node_model(op_type, values, node.result, constants, **node.attributes).SerializeToString()
    given = {name: value for name, value in values.items() if name not in constants and value is not None}
    with pytest.raises(InvalidModel) as problem:
        InferenceSession(data).run(None, given)
    for text in (*texts, op_type):
        assert text in str(problem.value)
    with pytest.raises(InvalidModel) as problem:
        operator(op_type, 1, DOMAIN, **node.attributes).reference(*values.values())
    for text in texts:
        assert text in str(problem.value)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("op_type", [name for name, node in EVERY.items() if node.result_scale])
def test_scales_of_results(op_type: str, value: float) -> None:
    changed = {EVERY[op_type].result_scale: np.float32(value)}
    assert_told(op_type, changed, f"is {value}", "a scale is positive and finite: numbers are divided by it")


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("op_type", list(EVERY))
def test_scales_of_operands(op_type: str, value: float) -> None:
    changed = {EVERY[op_type].scale: np.float32(value)}
    assert_told(op_type, changed, f"is {value}", "a scale is positive and finite: numbers are multiplied by it")


@pytest.mark.parametrize("op_type", list(EVERY))
def test_zero_points_of_another_type(op_type: str) -> None:
    name = EVERY[op_type].zero
    wanted, wrong = (np.int8, np.uint8) if EVERY[op_type].values[name].dtype == np.int8 else (np.uint8, np.int8)
    assert_told(op_type, {name: wrong(0)}, f"is {np.dtype(wrong)}, and", f"make the zero point {np.dtype(wanted)}")


@pytest.mark.parametrize("op_type", list(EVERY))
def test_parameters_of_another_length(op_type: str) -> None:
    assert_told(op_type, {EVERY[op_type].scale: np.ones(7, np.float32)}, "has the shape (7,)", "it is one number")


def test_columns_without_weights_have_scales_of_0() -> None:
    """As dynamic quantisation by columns may write them; what is multiplied by 0 is 0."""
    scale = np.array([1, 0, 1, 1], np.float32)
    values = {**OF_FLOATS, "b_scale": scale, "b_zero": np.zeros(4, np.int8)}
    constants = [name for name in values if name != "a"]
    data = node_model("MatMulIntegerToFloat", values, "float", constants).SerializeToString()
    np.testing.assert_array_equal(InferenceSession(data).run(None, {"a": A})[0], [[3, 0, 3, 3]] * 2)
