"""ONNX models walked node by node by reference implementations: the obvious oracle of the importer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from tests.conformance.cases import cases
from tilewright.frontend.onnx.definition import definition
from tilewright.frontend.onnx.reading import STRUCTURAL


def cases_of(*operators: str) -> list[Any]:
    """The tests whose first node is one of these operators."""
    return [
        case
        for case in (one.test for one in cases() if one.kind == "node")
        if case.data_sets and case.model.graph.node[0].op_type in operators
    ]


def operators_of(graph: onnx.GraphProto) -> Iterator[tuple[str, str]]:
    """Domain and name of every node, those of inner graphs included."""
    for node in graph.node:
        yield node.domain, node.op_type
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from operators_of(attribute.g)


def missing_operators(model: onnx.ModelProto) -> set[tuple[str, str]]:
    """The operators of a model that have no definition."""
    versions = _versions(model)
    used = {(d, name) for d, name in operators_of(model.graph) if d or name not in STRUCTURAL}
    return {(d, name) for d, name in used if definition(name, versions.get(d, 1), d) is None}


def run(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of a model for the values of its inputs, in order."""
    return _run(model.graph, inputs, {}, _versions(model))


def check(case: Any) -> None:
    """Fails unless reference implementations give what a test of onnx expects, in type, shape and value."""
    for inputs, outputs in case.data_sets:
        for found, expected in zip(run(case.model, [_value(one) for one in inputs]), outputs, strict=True):
            _check(found, _value(expected), case.rtol, case.atol)


def _versions(model: onnx.ModelProto) -> dict[str, int]:
    return {one.domain: one.version for one in model.opset_import}


def _run(graph: onnx.GraphProto, inputs: Sequence[Any], outer: Mapping[str, Any], versions: Mapping[str, int]) -> list[Any]:
    values = {**outer, "": None, **{one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}}
    values |= zip([one.name for one in graph.input], inputs, strict=False)
    for node in graph.node:
        values |= zip(node.output, _results(node, values, versions), strict=False)
    return [values[one.name] for one in graph.output]


def _results(node: Any, values: Mapping[str, Any], versions: Mapping[str, int]) -> tuple[Any, ...]:
    attributes = {one.name: _attribute(one, values, versions) for one in node.attribute}
    operands = [values[name] for name in node.input]
    if not node.domain and node.op_type in STRUCTURAL:
        return _structural(node.op_type, operands, attributes)
    found = definition(node.op_type, versions.get(node.domain, 1), node.domain)
    assert found is not None, f"no definition of {node.domain} {node.op_type}"
    results = found.operator(output_count=len(node.output), **attributes).reference(*operands)
    return results if isinstance(results, tuple) else (results,)


def _structural(operator: str, operands: Sequence[Any], attributes: Mapping[str, Any]) -> tuple[Any, ...]:
    """What the importer computes itself."""
    match operator:
        case "Constant":
            ((name, value),) = attributes.items()
            kinds = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64"}
            return (np.asarray(value, kinds.get(name)),)
        case "If":
            return tuple(attributes["then_branch" if np.asarray(operands[0]).item() else "else_branch"]())
        case "Shape":
            return (np.array(operands[0].shape[attributes.get("start", 0) : attributes.get("end")], np.int64),)
        case "Size":
            return (np.array(operands[0].size, np.int64),)
    return (operands[0],)


def _attribute(attribute: Any, values: Mapping[str, Any], versions: Mapping[str, int]) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.type == onnx.AttributeProto.GRAPH:
        return lambda *inputs: tuple(_run(value, inputs, values, versions))
    if attribute.type == onnx.AttributeProto.STRINGS:
        return tuple(one.decode() for one in value)
    if attribute.type == onnx.AttributeProto.TENSOR:
        return _value(value)
    return value.decode() if isinstance(value, bytes) else value


def _value(value: Any) -> Any:
    """Arrays for tensors, lists of arrays for sequences; strings are objects of class str."""
    if isinstance(value, list):
        return [_value(one) for one in value]
    if isinstance(value, onnx.TensorProto):
        value = onnx.numpy_helper.to_array(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([one.decode() if isinstance(one, bytes) else one for one in value.flat], object).reshape(value.shape)
    return value


def _check(found: Any, expected: Any, rtol: float, atol: float) -> None:
    if isinstance(expected, list):
        assert isinstance(found, list)
        for one, other in zip(found, expected, strict=True):
            _check(one, other, rtol, atol)
    elif expected is None:
        assert found is None
    else:
        assert isinstance(found, np.ndarray | np.generic)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        exact = expected.dtype == object or expected.dtype.kind in "biu"
        if exact:
            np.testing.assert_array_equal(found, expected)
        else:
            pair = (np.asarray(one, np.complex128 if expected.dtype.kind == "c" else np.float64) for one in (found, expected))
            np.testing.assert_allclose(*pair, rtol=rtol, atol=atol)
