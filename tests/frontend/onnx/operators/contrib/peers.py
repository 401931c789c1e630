"""One node of onnxruntime's domain, computed by onnxruntime, by a session here, and by its reference implementation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from tests.support.targets import onnxruntime_saturates
from tilewright.frontend.onnx.definition import definition
from tilewright.onnx import InferenceSession

DOMAIN = "com.microsoft"


def node_model(
    op_type: str, values: Mapping[str, Any], result: str, constants: Collection[str] = (), **attributes: Any
) -> onnx.ModelProto:
    """A model of one node: operands by name in their order, None for one that is left out, some of them constants."""
    present = {name: np.asarray(value) for name, value in values.items() if value is not None}
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in present.items()
        if name not in constants
    ]
    names = [name if name in present else "" for name in values]
    node = helper.make_node(op_type, names, ["y"], domain=DOMAIN, **attributes)
    output = helper.make_tensor_value_info("y", getattr(TensorProto, result.upper()), None)
    weights = [numpy_helper.from_array(present[name], name) for name in present if name in constants]
    graph = helper.make_graph([node], "test", inputs, [output], weights)
    imports = [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def three_results(
    op_type: str,
    values: Mapping[str, Any],
    result: str,
    constants: Collection[str] = (),
    *,
    has_peer: bool = True,
    is_compiled: bool = True,
    **attributes: Any,
) -> tuple[Any, Any, Any]:
    """What onnxruntime, a session here (all of it compiled) and the reference implementation compute.

    Without `has_peer`, for what onnxruntime refuses, the reference implementation stands in its place. Without `is_compiled` the
    session runs it as NumPy.
    """
    data = node_model(op_type, values, result, constants, **attributes).SerializeToString()
    feeds = {name: np.asarray(value) for name, value in values.items() if value is not None and name not in constants}
    session = InferenceSession(data)
    (compiled,) = session.run(None, feeds)
    assert ("run as NumPy" in session.explain()) != is_compiled
    found = definition(op_type, 1, DOMAIN)
    assert found is not None
    operands = [value if value is None else np.asarray(value) for value in values.values()]
    reference = found.operator(**attributes).reference(*operands)
    reference = reference[0] if isinstance(reference, tuple) else reference
    if not has_peer:
        return reference, compiled, reference
    return onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, feeds)[0], compiled, reference


def drawn(random: np.random.Generator, shape: Any, dtype: str) -> Any:
    """Numbers over the whole range of an integer type."""
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def drawn_weights(random: np.random.Generator, shape: Any, dtype: str) -> Any:
    """Numbers over the whole range that onnxruntime multiplies by without saturating: 7 bits of int8 where it has no VNNI."""
    weights = drawn(random, shape, dtype)
    return weights >> 1 if dtype == "int8" and onnxruntime_saturates() else weights


def steps_apart(x: Any, y: Any) -> int:
    """The largest difference of two arrays of integers."""
    assert (x.shape, x.dtype) == (y.shape, y.dtype)
    return int(np.abs(x.astype(np.int64) - y.astype(np.int64)).max(initial=0))
