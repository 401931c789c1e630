"""Small ONNX models, and operators of a domain of the tests' own: the importer is tested apart from the standard ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tilewright.errors import UnsupportedOperation
from tilewright.graph.builder import Builder
from tilewright.graph.definition import define, definition
from tilewright.graph.types import Tensor

DOMAIN = "tests"


def _double(x: Any) -> Any:
    """2 x."""
    return x * 2


def _lower_double(builder: Builder, x: Tensor) -> Tensor:
    return builder.map("multiply", x, 2.0)


def _triple(x: Any) -> Any:
    """3 x, which is never compiled."""
    return x * 3


def _reshape(x: Any, shape: Any) -> Any:
    """`x` in another shape."""
    return x.reshape(tuple(int(extent) for extent in shape))


def _lower_reshape(builder: Builder, x: Tensor, shape: Tensor) -> Tensor:
    return builder.reshape(x, builder.integers(shape))


def _half(x: Any) -> Any:
    """x / 2, whose lowering refuses."""
    return x / 2


def _lower_half(builder: Builder, x: Tensor) -> Tensor:
    raise UnsupportedOperation("Half is never compiled")


def _repeat(x: Any, *, times: int, body: Any) -> Any:
    """`body` applied to `x` a number of times."""
    for _ in range(times):
        (x,) = body(x)
    return x


def _halves(x: Any, *, output_count: int) -> Any:
    """`x` in parts along the first dimension."""
    return tuple(np.split(x, output_count))


if definition("Double", 1, DOMAIN) is None:
    define("Double", _double, _lower_double, domain=DOMAIN)
    define("Triple", _triple, domain=DOMAIN)
    define("ReshapeTo", _reshape, _lower_reshape, domain=DOMAIN)
    define("Half", _half, _lower_half, domain=DOMAIN)
    define("Repeat", _repeat, domain=DOMAIN)
    define("Parts", _halves, domain=DOMAIN)


def info(name: str, shape: Sequence[int | str | None] | None, kind: int = TensorProto.FLOAT) -> Any:
    """A declared input or output."""
    return helper.make_tensor_value_info(name, kind, shape)


def node(operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> Any:
    """A node of the tests' domain."""
    return helper.make_node(operator, inputs, outputs, domain=DOMAIN, **attributes)


def model(
    nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], constants: dict[str, Any] | None = None, **more: Any
) -> onnx.ModelProto:
    """A model of opset 21."""
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, **more)
