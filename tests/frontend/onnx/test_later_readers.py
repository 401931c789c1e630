"""Stages know which of their outputs later nodes read where every bit counts."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tilewright.onnx as ort
from tilewright.frontend.onnx.later_readers import read_exactly
from tilewright.frontend.onnx.model import Node


def node(operator: str, reads: str, makes: str) -> Node:
    return Node("", operator, "", None, tuple(reads.split()), tuple(makes.split()))


def test_discontinuous_nodes_read_exactly_through_others() -> None:
    assert read_exactly([node("Relu", "a", "b"), node("NonZero", "b", "c")]) == {"a", "b"}
    assert read_exactly([node("Softmax", "a", "b"), node("Floor", "b", "c")]) == {"b"}
    assert read_exactly([node("ArgMax", "a", "b"), node("Relu", "c", "d")]) == frozenset()


def test_a_division_before_a_node_that_runs_as_numpy_keeps_its_bits() -> None:
    nodes = [helper.make_node("Div", ["x", "c"], ["d"]), helper.make_node("Unique", ["d"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (59,))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.float32(41), "c")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=onnx.IR_VERSION)
    x = (np.arange(1, 60) * 41).astype(np.float32)
    (found,) = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_array_equal(found, np.arange(1, 60))
