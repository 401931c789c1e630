"""Small ONNX models, and operators of a domain of the tests' own: the importer is tested apart from the standard ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define, definition
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor

DOMAIN = "com.example"
"""Of operators that tests and pages of the documentation define: whoever looks at all definitions leaves it out."""


class Double:
    """2 x."""

    def reference(self, x: Any) -> Any:
        return x * 2

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.map("multiply", x, 2.0)


class Triple:
    """3 x, which is never compiled."""

    def reference(self, x: Any) -> Any:
        return x * 3


class ReshapeTo:
    """`x` in another shape."""

    def reference(self, x: Any, shape: Any) -> Any:
        return x.reshape(tuple(int(extent) for extent in shape))

    def lower(self, builder: Builder, x: Tensor, shape: Tensor) -> Tensor:
        return builder.reshape(x, builder.integers(shape))


class Half:
    """x / 2, whose lowering refuses."""

    def reference(self, x: Any) -> Any:
        return x / 2

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        raise UnsupportedOperation("Half is never compiled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """`body` applied to `x` a number of times."""

    times: int
    body: Any

    def reference(self, x: Any) -> Any:
        for _ in range(self.times):
            (x,) = self.body(x)
        return x


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """`x` in parts along the first dimension."""

    output_count: int = 1

    def reference(self, x: Any) -> Any:
        return tuple(np.split(x, self.output_count))


if definition("Double", 1, DOMAIN) is None:
    for one in (Double, Triple, ReshapeTo, Half, Repeat, Parts):
        define(one.__name__, one, domain=DOMAIN)


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
