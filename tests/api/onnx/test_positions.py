"""Positions out of range in models: what onnxruntime refuses is refused, with the node, the tensor and the position."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import tilewright.onnx as ort
from tests.support.onnx_models import info, model
from tilewright.errors import PositionError

X = np.arange(10, dtype=np.float32).reshape(5, 2)
IMAGE, POOLED = np.ones((2, 1, 4, 4), np.float32), np.ones((1, 1, 1, 1), np.float32)
SCORES = np.random.default_rng(0).random((3, 4), np.float32)
REGIONS = np.array([[0, 0, 2, 2]], np.float32)
POOL = {"kernel_shape": [2, 2], "strides": [2, 2]}
LOSS = {"reduction": "none", "ignore_index": -1}


def whole(*values: Any) -> Any:
    return np.array(values, np.int64)


CASES: dict[str, tuple[str, list[Any], list[Any], dict[str, Any]]] = {
    "Gather": ("Gather", [X, whole(4, -5)], [X, whole(4, -6)], {}),
    "GatherElements": ("GatherElements", [X, whole([4, -5])], [X, whole([0, 5])], {}),
    "GatherND": ("GatherND", [X, whole([4, -2])], [X, whole([4, 2])], {}),
    "ScatterElements": ("ScatterElements", [X, whole([4, -5]), X[:1]], [X, whole([4, 5]), X[:1]], {}),
    "ScatterND": ("ScatterND", [X, whole([4], [-5]), X[:2]], [X, whole([4], [-6]), X[:2]], {}),
    "ReverseSequence": ("ReverseSequence", [X, whole(0, 5)], [X, whole(0, 6)], {}),
    "a length below 0": ("ReverseSequence", [X, whole(1, 5)], [X, whole(-1, 5)], {}),
    "a loss": ("NegativeLogLikelihoodLoss", [SCORES, whole(0, -1, 3)], [SCORES, whole(0, -1, 4)], LOSS),
    "a loss of scores": ("SoftmaxCrossEntropyLoss", [SCORES, whole(0, -1, 3)], [SCORES, whole(0, -1, 4)], LOSS),
    "MaxUnpool": ("MaxUnpool", [POOLED, whole([[[3]]])], [POOLED, whole([[[4]]])], POOL),
    "RoiAlign": ("RoiAlign", [IMAGE, REGIONS, whole(1)], [IMAGE, REGIONS, whole(2)], {}),
    "an image below 0": ("RoiAlign", [IMAGE, REGIONS, whole(1)], [IMAGE, REGIONS, whole(-1)], {}),
}


def model_of(case: str, *, known: bool = False) -> Any:
    """A model of one node; the last operands of those that look something up are constants where they are known."""
    operator, inside, outside, attributes = CASES[case]
    names = [f"x{number}" for number in range(len(inside))]
    constants = {"x1": outside[1]} if known else {}
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in zip(names, inside, strict=True)
        if name not in constants
    ]
    return model([helper.make_node(operator, names, ["y"], name="it", **attributes)], infos, [info("y", None)], constants)


def feeds(values: list[Any]) -> dict[str, Any]:
    return {f"x{number}": value for number, value in enumerate(values)}


@pytest.mark.parametrize("case", CASES)
def test_what_onnxruntime_refuses_is_refused(case):
    _, inside, outside, _ = CASES[case]
    proto = model_of(case)
    own, other = ort.InferenceSession(proto), onnxruntime.InferenceSession(proto.SerializeToString())
    np.testing.assert_allclose(own.run(None, feeds(inside))[0], other.run(None, feeds(inside))[0], rtol=1e-6, atol=1e-7)
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        other.run(None, feeds(outside))
    with pytest.raises(PositionError) as caught:
        own.run(None, feeds(outside))
    assert caught.value.where.startswith(f"{CASES[case][0]} node 'it'")


@pytest.mark.parametrize(("lengths", "outside"), [((0, 6), 6), ((-1, 5), -1)], ids=["above the extent", "below 0"])
@pytest.mark.parametrize("is_known", [False, True], ids=["given", "constant"])
def test_lengths_out_of_range_are_called_lengths(lengths, outside, is_known):
    nodes = [helper.make_node("ReverseSequence", ["x", "lengths"], ["r"], name="it"), helper.make_node("Neg", ["r"], ["y"])]
    given = {"x": X, "lengths": whole(*lengths)}
    constants = {"lengths": given.pop("lengths")} if is_known else {}
    infos = [info("x", X.shape), helper.make_tensor_value_info("lengths", TensorProto.INT64, (2,))][: len(given)]
    with pytest.raises(PositionError) as caught:
        ort.InferenceSession(model(nodes, infos, [info("y", None)], constants)).run(None, given)
    assert caught.value.message == f"length {outside} is out of range"
    assert caught.value.where.startswith("ReverseSequence node 'it'")
    assert caught.value.why.endswith(" has 5 elements")
    assert caught.value.hint == "lengths lie between 0 and 5"


@pytest.mark.parametrize("case", ["Gather", "GatherElements", "GatherND"])
def test_known_positions_are_refused_when_the_session_is_made(case):
    with pytest.raises(PositionError, match="node 'it'"):
        ort.InferenceSession(model_of(case, known=True))


def test_positions_that_name_nothing_stay_allowed_where_the_operator_says_so():
    """OneHot: no position is hot."""
    ids, depth, values = whole(4, -5, 5, -6), np.array(5), np.array([0, 1], np.float32)
    node = helper.make_node("OneHot", ["x0", "depth", "values"], ["y"])
    given = helper.make_tensor_value_info("x0", helper.np_dtype_to_tensor_dtype(ids.dtype), ids.shape)
    session = ort.InferenceSession(model([node], [given], [info("y", None)], {"depth": depth, "values": values}))
    np.testing.assert_array_equal(session.run(None, {"x0": ids})[0].sum(axis=1), [1, 1, 0, 0])
