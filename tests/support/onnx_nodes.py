"""ONNX models of one node, by the definitions of the graph room alone: their NumPy meaning, and compiled by their lowering."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, helper, numpy_helper
from onnx.backend.test.loader import load_model_tests

from tilewright import compiler
from tilewright.graph.builder import Builder
from tilewright.graph.definition import Definition, definition
from tilewright.graph.types import Graph
from tilewright.machine import Machine


@cache
def node_cases(*operators: str) -> tuple[Any, ...]:
    """The cases of the ONNX node tests whose model is one node of these types."""
    cases = load_model_tests(kind="node")
    return tuple(c for c in cases if len(c.model.graph.node) == 1 and c.model.graph.node[0].op_type in operators)


def definition_of(model: ModelProto) -> Definition:
    """The definition of a model's only node, in the version that the model asks for."""
    (node,) = model.graph.node
    version = next(one.version for one in model.opset_import if one.domain == node.domain)
    found = definition(node.op_type, version, node.domain)
    assert found is not None, f"{node.op_type} is not defined in version {version}"
    return found


def attributes(node: NodeProto) -> dict[str, Any]:
    """The attributes of a node as Python values."""
    return {one.name: _value(one) for one in node.attribute}


def arrays(model: ModelProto, inputs: Sequence[Any]) -> list[Any]:
    """The operands of a model's only node: None where one is left out."""
    (node,) = model.graph.node
    given = dict(zip((one.name for one in model.graph.input), inputs, strict=False))
    given |= {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    return [given[name] if name else None for name in node.input]


def by_meaning(model: ModelProto, operands: Sequence[Any]) -> list[Any]:
    """The results by the NumPy meaning."""
    found = definition_of(model)
    results = found.meaning(*operands, **_options(found, model))
    return list(results) if isinstance(results, tuple) else [results]


def lowered(model: ModelProto, operands: Sequence[Any], constants: Sequence[int] = ()) -> Graph:
    """The graph of a node for operands like these; those at the positions `constants` are known."""
    (node,) = model.graph.node
    found, builder = definition_of(model), Builder(node.op_type)
    assert found.lower is not None
    tensors = [
        None
        if value is None
        else builder.constant(value)
        if number in constants
        else builder.input(f"input_{number}", value.shape, value.dtype.name)
        for number, value in enumerate(operands)
    ]
    results = found.lower(builder, *tensors, **_options(found, model))
    outputs = results if isinstance(results, tuple) else (results,)
    return builder.graph([one.name for one in outputs])


def _options(found: Definition, model: ModelProto) -> dict[str, Any]:
    (node,) = model.graph.node
    options = attributes(node)
    if "output_count" in inspect.signature(found.meaning).parameters:
        options["output_count"] = sum(map(bool, node.output))
    return options


def _value(attribute: AttributeProto) -> Any:
    value = helper.get_attribute_value(attribute)
    if attribute.type == AttributeProto.TENSOR:
        return numpy_helper.to_array(value)
    if isinstance(value, bytes):
        return value.decode()
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def feeds(graph: Graph, operands: Sequence[Any], constants: Sequence[int] = ()) -> dict[str, np.ndarray]:
    """The inputs of a graph of `lowered`, by name."""
    given = [value for number, value in enumerate(operands) if value is not None and number not in constants]
    return dict(zip(graph.inputs, given, strict=True))


def compiled(graph: Graph, operands: Sequence[Any], constants: Sequence[int] = ()) -> list[np.ndarray]:
    """The outputs of a graph of `lowered` by generated code, on the machine that the tests run on."""
    model_plan = compiler.plan(graph, Machine.detect())
    executable = compiler.build(model_plan, threads=1)
    given = feeds(graph, operands, constants)
    known = {name: constant.array for name, constant in model_plan.graph.constants}
    inputs = [given[slot.name] if slot.name in given else known[slot.name] for slot in executable.signature.inputs]
    outputs = executable.new_outputs(inputs)
    executable.run(inputs, outputs)
    return outputs
