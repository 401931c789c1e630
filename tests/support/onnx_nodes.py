"""Models of one node: their operator's meaning, and its lowering as a graph."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, helper, numpy_helper

from tilewright.graph.builder import Builder, NotKnown
from tilewright.graph.definition import Definition, definition
from tilewright.graph.types import Graph, Tensor


@dataclass
class Lowered:
    """A node as a graph; the inputs of the model that are still inputs of the graph, by name."""

    graph: Graph
    feeds: dict[str, np.ndarray]


def attributes(node: NodeProto) -> dict[str, Any]:
    """The attributes as Python values, tensors as arrays, text as str."""
    return {one.name: _value(one) for one in node.attribute}


def _value(attribute: AttributeProto) -> Any:
    value = helper.get_attribute_value(attribute)
    if attribute.type == AttributeProto.TENSOR:
        return numpy_helper.to_array(value)
    if isinstance(value, bytes):
        return value.decode()
    if attribute.type == AttributeProto.STRINGS:
        return [one.decode() for one in value]
    return list(value) if isinstance(value, (tuple, list)) or hasattr(value, "append") else value


def known_definition(model: ModelProto, node: NodeProto) -> Definition | None:
    """The definition of a node in the opset of its model."""
    versions = {one.domain: one.version for one in model.opset_import}
    return definition(node.op_type, versions.get(node.domain, 1), node.domain)


def by_meaning(model: ModelProto, inputs: list[Any]) -> list[Any]:
    """The results of a model of one node by its operator's NumPy meaning."""
    (node,) = model.graph.node
    one = known_definition(model, node)
    assert one is not None, f"{node.op_type} has no definition"
    values = dict(zip((i.name for i in model.graph.input), inputs, strict=True))
    operands = [values[name] if name else None for name in node.input]
    return _listed(one.meaning(*operands, **_options(one.meaning, node)))


def lowered(model: ModelProto, inputs: list[Any]) -> Lowered:
    """The graph of a model of one node; inputs whose contents are needed are constants in it."""
    values = dict(zip((i.name for i in model.graph.input), inputs, strict=True))
    known: set[str] = set()
    while True:
        builder = Builder("node")
        tensors = {name: _operand(builder, name, value, name in known) for name, value in values.items()}
        try:
            return _lowered(model, builder, tensors, values)
        except NotKnown as problem:
            needed = {name for name, tensor in tensors.items() if tensor.name == problem.tensor}
            assert needed and not needed <= known, str(problem)
            known |= needed


def _operand(builder: Builder, name: str, value: Any, is_known: bool) -> Tensor:
    array = np.asarray(value)
    return builder.constant(array, name) if is_known else builder.input(name, array.shape, array.dtype.name)


def _lowered(model: ModelProto, builder: Builder, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> Lowered:
    (node,) = model.graph.node
    one = known_definition(model, node)
    assert one is not None and one.lower is not None, f"{node.op_type} has no lowering"
    feeds = {tensors[name].name: np.asarray(value) for name, value in values.items() if tensors[name].name in builder.inputs}
    operands = [tensors[name] if name else None for name in node.input]
    results = _listed(one.lower(builder, *operands, **_options(one.lower, node)))
    outputs = []
    for result in results:
        if result.name in builder.inputs or result.name in builder.constants or result.name in outputs:
            result = builder.record(_copy, result, kind="copy")
        outputs.append(result.name)
    return Lowered(builder.graph(outputs), feeds)


def _copy(x: Tensor, *, name: str, result: str) -> Any:
    from tilewright.graph.operators.elementwise import broadcast

    return broadcast(x, x.shape, name=name, result=result)


def _options(function: Any, node: NodeProto) -> dict[str, Any]:
    options = attributes(node)
    if "output_count" in inspect.signature(function).parameters:
        options["output_count"] = len(node.output)
    return options


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple) else [results]
