"""ONNX Runtime on the CPU: MatMul, Softmax, MatMul as a model, and its Attention operator; inputs and outputs are bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tilewright.cli.bench.cases import ChainCase, FloatArray
from tilewright.cli.bench.contender import Contender, Peer

OPSET = 23
"""The first with Attention."""


def prepare(case: ChainCase, threads: int) -> Iterator[Contender]:
    """Each model in a session of its own."""
    a, b, d = case.operands
    yield _contender("onnxruntime", _products(case, {"a": a, "b": b, "d": d}), (a, b, d), case, threads)
    if case.softmax:
        keys = np.ascontiguousarray(b.transpose(0, 2, 1))
        arrays = {"a": a[None], "b": keys[None], "d": d[None]}
        yield _contender("onnxruntime attention", _attention(case, arrays), tuple(arrays.values()), case, threads)


def _products(case: ChainCase, arrays: Mapping[str, FloatArray]) -> Any:
    from onnx import helper

    weights = "p" if case.softmax else "c"
    nodes = [helper.make_node("MatMul", ["a", "b"], ["c"])]
    nodes += [helper.make_node("Softmax", ["c"], ["p"], axis=-1)] if case.softmax else []
    nodes += [helper.make_node("MatMul", [weights, "d"], ["e"])]
    return _model(nodes, arrays, case.result_shape, case.prepacked)


def _attention(case: ChainCase, arrays: Mapping[str, FloatArray]) -> Any:
    from onnx import helper

    node = helper.make_node("Attention", ["a", "b", "d"], ["e"], scale=1.0)
    return _model([node], arrays, (1, *case.result_shape), case.prepacked)


def _model(nodes: list[Any], arrays: Mapping[str, FloatArray], output: tuple[int, ...], prepacked: bool) -> Any:
    """All arrays but the first are initialisers of a prepacked model, inputs of any other."""
    from onnx import TensorProto, helper, numpy_helper

    constants = list(arrays)[1:] if prepacked else []
    initializers = [numpy_helper.from_array(arrays[name], name) for name in constants]
    inputs = {name: array.shape for name, array in arrays.items() if name not in constants}
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    result = helper.make_tensor_value_info("e", TensorProto.FLOAT, output)
    graph = helper.make_graph(nodes, "chain", values, [result], initializer=initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def _contender(name: str, model: Any, arrays: tuple[FloatArray, ...], case: ChainCase, threads: int) -> Contender:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    arrays = arrays[:1] if case.prepacked else arrays
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array)) for array in arrays]
    for declared, value in zip(session.get_inputs(), values, strict=True):
        binding.bind_ortvalue_input(declared.name, value)
    out = onnxruntime.OrtValue.ortvalue_from_shape_and_type(session.get_outputs()[0].shape, np.float32)
    binding.bind_ortvalue_output("e", out)

    def result() -> FloatArray:
        array: FloatArray = out.numpy().reshape(case.result_shape)
        return array

    return Contender(name, lambda: session.run_with_iobinding(binding), result)


PEER = Peer(
    "onnxruntime",
    ("onnxruntime", "onnx"),
    prepare,
    "inputs and outputs bound; for attention the keys are transposed ahead",
    prepacked_note="initializers, which the session packs when it is made if it can",
)
