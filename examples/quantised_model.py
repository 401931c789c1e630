"""A quantised ONNX model (QDQ): DequantizeLinear around a product becomes int8 GEMM, exact on every machine."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import tilewright.onnx as ort

random = np.random.default_rng(0)
weights = random.integers(-127, 128, (64, 32)).astype(np.int8)
constants = {
    "x_scale": np.float32(0.02),
    "x_zero": np.uint8(128),
    "w": weights,
    "w_scale": np.full(32, 0.01, np.float32),  # one scale for each output
    "w_zero": np.zeros(32, np.int8),
    "y_scale": np.float32(0.05),
    "y_zero": np.uint8(128),
}
nodes = [
    helper.make_node("QuantizeLinear", ["x", "x_scale", "x_zero"], ["x_q"]),
    helper.make_node("DequantizeLinear", ["x_q", "x_scale", "x_zero"], ["x_d"]),
    helper.make_node("DequantizeLinear", ["w", "w_scale", "w_zero"], ["w_d"], axis=1),
    helper.make_node("MatMul", ["x_d", "w_d"], ["h"]),
    helper.make_node("QuantizeLinear", ["h", "y_scale", "y_zero"], ["y"]),
]
graph = helper.make_graph(
    nodes,
    "quantised",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [16, 64])],
    [helper.make_tensor_value_info("y", TensorProto.UINT8, [16, 32])],
    [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
)
session = ort.InferenceSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))

x = random.standard_normal((16, 64), np.float32)
(y,) = session.run(None, {"x": x})
print("result", y.shape, y.dtype)

# By hand: an exact sum of integers, scaled once, rounded to even and saturated.
x_q = np.clip(np.rint(x / constants["x_scale"]) + 128, 0, 255).astype(np.int64)
sums = (x_q - 128) @ weights.astype(np.int64)
scaled = sums * np.float32(0.02) * constants["w_scale"] / constants["y_scale"]
expected = np.clip(np.rint(scaled) + 128, 0, 255)
print("steps away from the definition, at most:", int(np.abs(y.astype(int) - expected).max()))

# The plan names the micro kernel of bytes that this machine has.
kernels = {operator.micro_kernel for plan in session.model_plans() for chain in plan.plans for operator in chain.operators}
print("integer micro kernel:", any(kernel for kernel in kernels if kernel and "f32" not in kernel))
