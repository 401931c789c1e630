"""Derivatives by the nodes that stand for them, against differences."""

import numpy as np
import pytest
from onnx import helper

import tilewright.onnx as ort
from tests.support.onnx_models import info, model
from tilewright.errors import UnsupportedOperation

A = np.array([[0.5, 1.5, -2.0]], np.float32)
B = np.array([[1.0], [2.0]], np.float32)


def gradient(nodes):
    last = helper.make_node("Gradient", ["a", "b"], ["da", "db"], domain="ai.onnx.preview.training", xs=["a", "b"], y="y")
    proto = model([*nodes, last], [info("a", [1, 3]), info("b", [2, 1])], [info(name, None) for name in ("y", "da", "db")])
    proto.opset_import.append(helper.make_opsetid("ai.onnx.preview.training", 1))
    return ort.InferenceSession(proto)


def test_chains_of_arithmetic():
    nodes = [
        helper.make_node("Mul", ["a", "b"], ["p"]),
        helper.make_node("Exp", ["a"], ["e"]),
        helper.make_node("Sub", ["p", "e"], ["s"]),
        helper.make_node("Neg", ["s"], ["n"]),
        helper.make_node("Div", ["n", "b"], ["q"]),
        helper.make_node("Add", ["q", "a"], ["y"]),
    ]
    y, da, db = gradient(nodes).run(None, {"a": A, "b": B})
    assert np.allclose(y, -(A * B - np.exp(A)) / B + A, rtol=1e-5)
    assert np.allclose(da, (np.exp(A) / B).sum(axis=0, keepdims=True), rtol=1e-5)
    assert np.allclose(db, (-np.exp(A) / B**2).sum(axis=1, keepdims=True), rtol=1e-5)


def test_what_has_no_rule_is_named():
    with pytest.raises(UnsupportedOperation, match="the derivative of Softmax"):
        gradient([helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Softmax", ["s"], ["y"])])
