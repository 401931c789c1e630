"""An ONNX model through the names of onnxruntime: run it, bind outputs, and see where its time goes."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import tilewright.onnx as ort  # in place of: import onnxruntime as ort

random = np.random.default_rng(0)
weights = random.standard_normal((32, 16), np.float32)
nodes = [
    helper.make_node("MatMul", ["x", "w"], ["scores"]),
    helper.make_node("Softmax", ["scores"], ["y"]),
]
graph = helper.make_graph(
    nodes,
    "classifier",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 32])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 16])],
    [numpy_helper.from_array(weights, "w")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)

session = ort.InferenceSession(model)  # a path, bytes, or a model
print("inputs", [(value.name, value.type, value.shape) for value in session.get_inputs()])

# `batch` is a dynamic dimension: one library serves all of its values.
for batch in (1, 7, 20):
    (y,) = session.run(None, {"x": random.standard_normal((batch, 32), np.float32)})
print("output", y.shape, "rows sum up to 1:", np.allclose(y.sum(axis=1), 1, atol=1e-5))
print("libraries compiled:", session.compilation_count, "operators that ran as NumPy:", dict(session.numpy_operators))

# Outputs can be bound to arrays, as in onnxruntime.
binding, feed = session.io_binding(), np.ones((7, 32), np.float32)
binding.bind_cpu_input("x", feed)
binding.bind_output("y")
session.run_with_iobinding(binding)
print("bound output", binding.copy_outputs_to_cpu()[0].shape)

# The plan and its reasons, for a batch of 8; and the time of every chain beside its prediction and its floor.
print("\n".join(session.explain(batch=8).splitlines()[:3]))
print("profiled chains:", len(session.profile({"x": feed}).chains))
