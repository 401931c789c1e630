"""The Attention operator behind a cache that grows: one library per bucket of lengths."""

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import TensorProto, helper

import tilewright.onnx as ort
from tests.support.onnx_operators import operator

NAMES = ("q", "k", "v", "past_key", "past_value")


def _model():
    """Causal attention of two new tokens in three heads of four, after any number of others."""
    node = helper.make_node("Attention", ["q", "k", "v", "", "past_key", "past_value"], ["y", "key", "value"], is_causal=1)
    shapes = [[1, 3, 2, 4]] * 3 + [[1, 3, "past", 4]] * 2
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in zip(NAMES, shapes, strict=True)]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("y", "key", "value")]
    graph = helper.make_graph([node], "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


@pytest.mark.needs("ssse3", "sse4_1")
def test_attention_behind_a_growing_cache():
    session, generator = ort.InferenceSession(_model()), np.random.default_rng(0)
    key, value = generator.standard_normal((2, 1, 3, 5, 4), np.float32)
    for _ in range(10):
        q, k, v = generator.standard_normal((3, 1, 3, 2, 4), np.float32)
        given = dict(zip(NAMES, (q, k, v, key, value), strict=True))
        expected = operator("Attention", 23, is_causal=1, output_count=3).reference(q, k, v, None, key, value)
        y, key, value = session.run(None, given)
        for found, meant in zip((y, key, value), expected, strict=True):
            np.testing.assert_allclose(found, meant, rtol=0, atol=1e-6)
    assert key.shape == (1, 3, 25, 4)
    assert not session.numpy_operators
    assert session.compilation_count <= 3
