"""Lowerings round as their operators are defined, bit for bit, where a discontinuous function may follow."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.onnx_operators import lowered

WHOLE = np.arange(-60, 60, dtype=np.float32).reshape(1, 4, 5, 6)


def test_batch_norm_rounds_as_onnxruntime() -> None:
    """Its factor is a reciprocal times the scale, not a quotient."""
    onnxruntime = pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    scale, bias, mean = np.array([[3, 1 / 3, 41, 0.1], [0.3, 1, 2, 7], [41, 3, 0.1, 1 / 3]], np.float32)
    names = {"x": WHOLE, "s": scale, "b": bias, "m": mean, "v": np.array([41, 9, 2, 0.3], np.float32)}
    infos = [onnx.helper.make_tensor_value_info(name, 1, array.shape) for name, array in names.items()]
    node = onnx.helper.make_node("BatchNormalization", list(names), ["y"])
    graph = onnx.helper.make_graph([node], "g", infos, [onnx.helper.make_tensor_value_info("y", 1, WHOLE.shape)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 15)], ir_version=10)
    (wanted,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, names)
    np.testing.assert_array_equal(lowered("BatchNormalization", 15, *names.values()), wanted)


@pytest.mark.parametrize("p", [3, 4, 5])
def test_norms_of_single_elements_are_their_sizes(p: int) -> None:
    """The root of a power of a whole number is that number, and no logarithm takes part."""
    result = lowered("LpPool", 18, np.clip(WHOLE, -20, 20), kernel_shape=[1, 1], p=p)
    np.testing.assert_array_equal(result, np.abs(np.clip(WHOLE, -20, 20)))


def test_celu_divides_by_alpha() -> None:
    x, alpha = -np.arange(1, 200, dtype=np.float32), 41.0
    wanted = np.float32(alpha) * np.expm1(x / np.float32(alpha))
    np.testing.assert_array_equal(lowered("Celu", 12, x, alpha=alpha), wanted)
