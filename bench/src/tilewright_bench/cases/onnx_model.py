"""ONNX models of one node, as cases give them to those that read models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

OPSET, IR_VERSION = 17, 8
CONTRIB = "com.microsoft"
"""The domain of onnxruntime's own operators."""
Array = np.ndarray[Any, np.dtype[Any]]


def one_node(
    operator: str,
    a: Array,
    constants: Mapping[str, Array],
    result: tuple[int, ...],
    dtype: type,
    *,
    domain: str = "",
    **attributes: Any,
) -> bytes:
    """The operator on "a", an input, and constants in their order, to "c" of this shape and type."""
    from onnx import helper, numpy_helper

    first = helper.make_tensor_value_info("a", helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
    last = helper.make_tensor_value_info("c", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), result)
    node = helper.make_node(operator, ["a", *constants], ["c"], domain=domain, **attributes)
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph([node], "case", [first], [last], initializers)
    opsets = [helper.make_opsetid("", OPSET), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION).SerializeToString())


def two_inputs(model: bytes) -> bytes:
    """A model of one node whose only constant becomes an input, too."""
    from onnx import ModelProto, helper

    read = ModelProto.FromString(model)
    constant = read.graph.initializer.pop()
    read.graph.input.append(helper.make_tensor_value_info(constant.name, constant.data_type, list(constant.dims)))
    return bytes(read.SerializeToString())
