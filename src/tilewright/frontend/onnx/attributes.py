"""Attributes of nodes as Python values, checked against the types that ONNX declares for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnx import AttributeProto, defs

from tilewright.errors import InvalidModel
from tilewright.frontend.onnx.external_data import ExternalFiles
from tilewright.frontend.onnx.tensors import array_of, sparse_array_of
from tilewright.ort_errors import InvalidGraph

_SCALARS = {AttributeProto.FLOAT: "f", AttributeProto.INT: "i", AttributeProto.STRING: "s"}
_LISTS = {AttributeProto.FLOATS: "floats", AttributeProto.INTS: "ints", AttributeProto.STRINGS: "strings"}
_FIELDS = {
    **_SCALARS,
    **_LISTS,
    AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor",
    AttributeProto.TYPE_PROTO: "tp",
    AttributeProto.TENSORS: "tensors",
    AttributeProto.GRAPHS: "graphs",
    AttributeProto.SPARSE_TENSORS: "sparse_tensors",
    AttributeProto.TYPE_PROTOS: "type_protos",
}


def kind_of(attribute: Any, where: str) -> int:
    """The type of an attribute; files of the first IR versions do not say it."""
    if attribute.type in _FIELDS:
        kind: int = attribute.type
        return kind
    filled = {descriptor.name for descriptor, _ in attribute.ListFields()}
    found = [number for number, field in _FIELDS.items() if field in filled]
    if attribute.type != AttributeProto.UNDEFINED or len(found) != 1:
        raise InvalidModel(f"attribute {attribute.name!r} has no type", where=where)
    return int(found[0])


def value_of(attribute: Any, kind: int, files: ExternalFiles, where: str) -> Any:
    """The value of an attribute that is no graph: numbers, strings, arrays, and tuples of these."""
    place = f"attribute {attribute.name!r} of {where}"
    content = getattr(attribute, _FIELDS[kind])
    if kind in (AttributeProto.STRING, AttributeProto.STRINGS):
        return (
            _decoded(content, place) if kind == AttributeProto.STRING else tuple(_decoded(element, place) for element in content)
        )
    if kind in _SCALARS:
        return content
    if kind in _LISTS:
        return tuple(content)
    convert: Callable[..., Any] = array_of if kind in (AttributeProto.TENSOR, AttributeProto.TENSORS) else sparse_array_of
    if kind in (AttributeProto.TENSOR, AttributeProto.SPARSE_TENSOR):
        return convert(content, files, place)
    if kind in (AttributeProto.TENSORS, AttributeProto.SPARSE_TENSORS):
        return tuple(convert(element, files, place) for element in content)
    return content


def schema_of(operator: str, version: int, domain: str) -> Any:
    """What ONNX declares of an operator; None where it declares nothing."""
    try:
        return defs.get_schema(operator, version, domain)
    except defs.SchemaError:
        return None


def check_against(schema: Any, node: Any, where: str) -> None:
    """Raise `InvalidGraph` for wrong numbers of operands, unknown and missing attributes, and wrong types of these."""
    given = {attribute.name: attribute for attribute in node.attribute}
    for name, attribute in given.items():
        declared = schema.attributes.get(name)
        if declared is None:
            why = f"it has {', '.join(sorted(schema.attributes)) or 'none'}"
            raise InvalidGraph(f"{node.op_type} has no attribute {name!r}", where=where, why=why)
        kind = kind_of(attribute, where) if not attribute.ref_attr_name else int(declared.type.value)
        if kind != int(declared.type.value):
            raise InvalidGraph(f"attribute {name!r} has the wrong type", where=where, why=f"expected {declared.type.name}")
    missing = [name for name, expected in schema.attributes.items() if expected.required and name not in given]
    if missing:
        raise InvalidGraph(f"{node.op_type} lacks the attribute {missing[0]!r}", where=where)
    counts = (
        ("inputs", node.input, schema.min_input, schema.max_input),
        ("outputs", node.output, schema.min_output, schema.max_output),
    )
    for role, names, least, most in counts:
        if not least <= len(names) <= most:
            why = f"{node.op_type} has {least} to {most}" if least != most else f"{node.op_type} has {least}"
            raise InvalidGraph(f"{len(names)} {role} are wrong", where=where, why=why)


def _decoded(content: bytes, where: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as problem:
        raise InvalidGraph("a text is not UTF-8", where=where) from problem
