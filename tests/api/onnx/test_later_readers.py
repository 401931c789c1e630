"""What operators of later stages compare, look up or count is not rounded otherwise by the stage before them."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import tilewright.onnx as ort  # noqa: E402

WHOLE = np.arange(1, 61, dtype=np.float32)
ML = "ai.onnx.ml"


def test_tables_thresholds_and_lengths_of_quotients() -> None:
    """21 * (1 / 7) is above 3 in float32: NumPy compares, looks up and counts what the compiled division makes."""
    constants = {"seven": np.float32(7), "zero": np.float32(0), "one": np.float32(1), "third": np.int64(2)}
    nodes = [
        helper.make_node("Div", ["x", "seven"], ["q"]),
        helper.make_node("Gather", ["q", "third"], ["limit"]),
        helper.make_node("Range", ["zero", "limit", "one"], ["range"]),
        helper.make_node("Binarizer", ["q"], ["above"], domain=ML, threshold=3.0),
        helper.make_node("OneHotEncoder", ["q"], ["hot"], domain=ML, cats_int64s=WHOLE.astype(int).tolist()),
        helper.make_node("Imputer", ["q"], ["filled"], domain=ML, replaced_value_float=3.0, imputed_value_floats=[99.0]),
    ]
    names = ("range", "above", "hot", "filled")
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, WHOLE.shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(ML, 3)]
    session = ort.InferenceSession(helper.make_model(graph, opset_imports=opsets, ir_version=10))
    lengths, above, hot, filled = session.run(None, {"x": WHOLE * 7})
    np.testing.assert_array_equal(lengths, [0, 1, 2])
    np.testing.assert_array_equal(above, WHOLE > 3)
    np.testing.assert_array_equal(hot, np.eye(60))
    np.testing.assert_array_equal(filled, np.where(WHOLE == 3, 99, WHOLE))
