"""A model of a few ONNX nodes, run by ONNX Runtime on the CPU with inputs and output bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright_bench.measurement.contender import Contender

OPSET = 23
"""The first with Attention."""
CONTRIB = "com.microsoft"


@dataclass(frozen=True, slots=True)
class Model:
    """Nodes from `inputs` and `constants` to "out" of the shape `result`."""

    nodes: list[Any]
    inputs: Mapping[str, np.ndarray[Any, Any]]
    constants: Mapping[str, np.ndarray[Any, Any]]
    result: tuple[int, ...]

    def proto(self) -> Any:
        """The ONNX model."""
        from onnx import TensorProto, helper, numpy_helper

        values = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in self.inputs.items()
        ]
        out = helper.make_tensor_value_info("out", TensorProto.FLOAT, self.result)
        initializers = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "case", values, [out], initializer=initializers)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


class RecordedNodes:
    """Nodes that are made on the way; values are names."""

    def __init__(self) -> None:
        self.made: list[Any] = []

    def relu(self, x: str) -> str:
        """Of every element."""
        return self._node("Relu", x)

    def add(self, x: str, y: str) -> str:
        """Elements of both."""
        return self._node("Add", x, y)

    def _node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        name = f"t{len(self.made)}"
        self.made.append(helper.make_node(operator, inputs, [name], **attributes))
        return name


def contender(name: str, model: Model, threads: int) -> Contender:
    """A session of its own, which packs constants when it is made if it can."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.proto().SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for input_name, array in model.inputs.items():
        binding.bind_ortvalue_input(input_name, onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array)))
    out = onnxruntime.OrtValue.ortvalue_from_shape_and_type(model.result, np.float32)
    binding.bind_ortvalue_output("out", out)
    return Contender(name, lambda: session.run_with_iobinding(binding), out.numpy)
