"""Small ONNX models, written as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSET, IR_VERSION = 21, 10

Shape = tuple[int, ...]


def model(
    body: str,
    inputs: Mapping[str, Shape | tuple[Shape, str]],
    constants: Mapping[str, Shape | np.ndarray] | None = None,
    outputs: Sequence[str] = ("y",),
    output_type: str = "float32",
) -> onnx.ModelProto:
    """A node a line, as in `y = Conv <strides = [2, 2]> (x, w)`; inputs are shapes of float32, or shapes and element types.

    Constants are arrays, or shapes that are filled with random numbers.
    """
    nodes = [onnx.parser.parse_node(line) for line in body.strip().splitlines()]
    given = [_declared(name, one) for name, one in inputs.items()]
    results = [helper.make_tensor_value_info(name, _type(output_type), None) for name in outputs]
    values = [numpy_helper.from_array(_array(one), name) for name, one in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", given, results, values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def _declared(name: str, one: Any) -> onnx.ValueInfoProto:
    shape, dtype = one if one and isinstance(one[0], tuple) else (one, "float32")
    return helper.make_tensor_value_info(name, _type(dtype), shape)


def _type(dtype: str) -> int:
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _array(one: Shape | np.ndarray) -> np.ndarray:
    return one if isinstance(one, np.ndarray) else np.random.default_rng(3).standard_normal(one, np.float32)
