"""Protobuf as Python values: tensors, attributes checked against the types that ONNX declares, and declared inputs and outputs.

Sizes are checked against the bytes that are there before anything is allocated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from onnx import AttributeProto, SparseTensorProto, TensorProto, defs, helper

from tilewright.errors import InvalidModel
from tilewright.frontend.onnx.element_types import BITS, STRING, dtype_of
from tilewright.frontend.onnx.files import ExternalFiles
from tilewright.frontend.onnx.model import Array, Declared
from tilewright.frontend.onnx.sizes import check_bytes, check_shape
from tilewright.ort_errors import InvalidGraph

MOST_DIMENSIONS = 64
"""NumPy's limit."""


def array_of(tensor: Any, files: ExternalFiles, where: str, content: memoryview | None = None) -> Array:
    """The contents of a `TensorProto`; without a copy where they are bytes of a type that NumPy has.

    `content` stands in the place of its `raw_data`, if it is given.
    Raises `InvalidModel` naming `where` for extents below 0, and for contents that the shape does not fit.
    """
    dtype, shape = dtype_of(tensor.data_type, where), checked_shape(tensor.dims, where)
    if tensor.HasField("segment"):
        raise InvalidModel("a tensor in segments is not supported", where=where)
    if tensor.data_location == TensorProto.EXTERNAL:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        return _from_bytes(files.content(entries, _size_bytes(dtype, shape), where), dtype, shape, where)
    if tensor.data_type == STRING:
        return _strings(tensor.string_data, shape, where)
    if tensor.HasField("raw_data"):
        return _from_bytes(memoryview(tensor.raw_data) if content is None else content, dtype, shape, where)
    return _from_fields(tensor, dtype, shape, where)


def sparse_array_of(sparse: Any, files: ExternalFiles, where: str) -> Array:
    """The dense contents of a `SparseTensorProto`."""
    shape = checked_shape(sparse.dims, where)
    values, indices = array_of(sparse.values, files, where), array_of(sparse.indices, files, where)
    check_bytes(math.prod(shape) * values.dtype.itemsize, where)
    if values.ndim != 1 or indices.dtype != np.int64 or indices.shape not in ((values.size,), (values.size, len(shape))):
        raise InvalidModel("the indices of a sparse tensor do not fit its values", where=where)
    places = indices if indices.ndim == 1 else _flat(indices, shape, where)
    if places.size and (places.min() < 0 or places.max() >= math.prod(shape)):
        raise InvalidModel("an index of a sparse tensor lies outside of it", where=where)
    dense = np.zeros(math.prod(shape), values.dtype)
    dense[places] = values
    return dense.reshape(shape)


def checked_shape(dims: Sequence[int], where: str) -> tuple[int, ...]:
    """A tensor's extents. Raises `InvalidModel` for negative and absurd ones."""
    shape = tuple(dims)
    if any(extent < 0 for extent in shape):
        raise InvalidModel("a tensor has a negative extent", where=where, why=f"its shape is {shape}")
    if len(shape) > MOST_DIMENSIONS:
        raise InvalidModel("a tensor has too many dimensions", where=where, why=f"it has {len(shape)}")
    check_shape(shape, 1, where)
    return shape


def _size_bytes(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    bits = BITS.get(dtype.name, dtype.itemsize * 8)
    return (math.prod(shape) * bits + 7) // 8


def _from_bytes(content: memoryview, dtype: np.dtype[Any], shape: tuple[int, ...], where: str) -> Array:
    needed = _size_bytes(dtype, shape)
    if dtype.hasobject or len(content) != needed:
        why = f"{len(content)} bytes for shape {shape} of {dtype.name}, which needs {needed}"
        raise InvalidModel("a tensor's contents do not fit its shape", where=where, why=why)
    if dtype.name in BITS:
        return _unpacked(np.frombuffer(content, np.uint8), dtype, math.prod(shape)).reshape(shape)
    return np.frombuffer(content, dtype.newbyteorder("<") if dtype.kind in "fiuc" else dtype).reshape(shape)


def _from_fields(tensor: Any, dtype: np.dtype[Any], shape: tuple[int, ...], where: str) -> Array:
    field = helper.tensor_dtype_to_field(tensor.data_type)
    stored = "float32" if field == "float_data" else field.removesuffix("_data")
    given, count = getattr(tensor, field), math.prod(shape)
    needed = _size_bytes(dtype, shape) if dtype.name in BITS else count * (2 if dtype.kind == "c" else 1)
    if len(given) != needed:
        why = f"{len(given)} elements in {field} for shape {shape} of {dtype.name}, which needs {needed}"
        raise InvalidModel("a tensor's contents do not fit its shape", where=where, why=why)
    values = np.array(given, stored)
    if dtype.name in BITS:
        return _unpacked(values.astype(np.uint8), dtype, count).reshape(shape)
    if dtype.kind == "c":
        return values.view(dtype).reshape(shape)
    if field == "int32_data" and dtype.kind not in "iub":  # bit patterns of short floating-point numbers
        return values.astype(f"u{dtype.itemsize}").view(dtype).reshape(shape)
    return values.astype(dtype).reshape(shape)


def _unpacked(content: Array, dtype: np.dtype[Any], count: int) -> Array:
    """Elements of 4 or 2 bits, the first in the lowest bits of a byte."""
    bits = BITS[dtype.name]
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    values = ((content[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[:count]
    if dtype.name.startswith("float"):
        return values.view(dtype)
    if dtype.name.startswith("int"):
        values = ((values.astype(np.int8) ^ (1 << (bits - 1))) - (1 << (bits - 1))).astype(np.int8)
    return values.astype(getattr(ml_dtypes, dtype.name))


def _strings(content: Sequence[bytes], shape: tuple[int, ...], where: str) -> Array:
    if len(content) != math.prod(shape):
        why = f"{len(content)} strings for shape {shape}"
        raise InvalidModel("a tensor's contents do not fit its shape", where=where, why=why)
    array = np.empty(len(content), object)
    array[:] = [text.decode("utf-8", "replace") for text in content]
    return array.reshape(shape)


def _flat(indices: Array, shape: tuple[int, ...], where: str) -> Array:
    if any(extent == 0 for extent in shape) or ((indices < 0) | (indices >= np.array(shape))).any():
        raise InvalidModel("an index of a sparse tensor lies outside of it", where=where)
    return np.asarray(np.ravel_multi_index(tuple(indices.T), shape))


def declared(info: Any, unique: str) -> Declared:
    """A `ValueInfoProto`. An extent below 0 is not known, as exporters mean it."""
    where = f"value {info.name!r}"
    kind, tensor = _tensor_in(info.type)
    if tensor is None or not tensor.elem_type:
        return Declared(info.name, unique, kind)
    dtype = dtype_of(tensor.elem_type, where)
    if not tensor.HasField("shape"):
        return Declared(info.name, unique, kind, dtype)
    if len(tensor.shape.dim) > MOST_DIMENSIONS:
        raise InvalidModel(f"{where} has {len(tensor.shape.dim)} dimensions", where=where)
    shape = tuple(_extent(dim) for dim in tensor.shape.dim)
    check_shape([extent for extent in shape if isinstance(extent, int)], dtype.itemsize, where)
    return Declared(info.name, unique, kind, dtype, shape, tuple(dim.denotation for dim in tensor.shape.dim))


def _tensor_in(declared_type: Any) -> tuple[str, Any]:
    """The kind of a value, and the type of its tensors; None where that is not said."""
    kind = (declared_type.WhichOneof("value") or "unknown").removesuffix("_type")
    if kind in ("sequence", "optional"):
        return kind, _tensor_in(getattr(declared_type, f"{kind}_type").elem_type)[1]
    return kind, declared_type.tensor_type if kind == "tensor" else None


def _extent(dim: Any) -> int | str | None:
    if dim.HasField("dim_value"):
        return int(dim.dim_value) if dim.dim_value >= 0 else None
    return str(dim.dim_param) or None


_SCALARS = {"FLOAT": "f", "INT": "i", "STRING": "s", "TENSOR": "t", "GRAPH": "g", "TYPE_PROTO": "tp"}
_FIELDS = {number: _SCALARS.get(name, name.lower()) for name, number in AttributeProto.AttributeType.items() if number}
"""The field of an `AttributeProto` that holds the value, by type."""
_LISTS = {number for number, field in _FIELDS.items() if field.endswith("s") and len(field) > 1}


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
    content, place = getattr(attribute, _FIELDS[kind]), f"attribute {attribute.name!r} of {where}"
    return tuple(_value(one, files, place) for one in content) if kind in _LISTS else _value(content, files, place)


def _value(content: Any, files: ExternalFiles, where: str) -> Any:
    if isinstance(content, bytes):
        return _decoded(content, where)
    if isinstance(content, TensorProto):
        return array_of(content, files, where)
    return sparse_array_of(content, files, where) if isinstance(content, SparseTensorProto) else content


def schema_of(operator: str, version: int, domain: str) -> Any:
    """What ONNX declares of an operator; None where it declares nothing."""
    try:
        return defs.get_schema(operator, version, domain)
    except defs.SchemaError:
        return None


def check_against(schema: Any, node: Any, where: str) -> None:
    """Raise `InvalidGraph` for wrong numbers of operands, unknown and missing attributes, and wrong types of these."""
    given = {attribute.name: attribute for attribute in node.attribute}
    attributes = schema.attributes  # made anew whenever it is asked for
    for name, attribute in given.items():
        declared = attributes.get(name)
        if declared is None:
            why = f"it has {', '.join(sorted(attributes)) or 'none'}"
            raise InvalidGraph(f"{node.op_type} has no attribute {name!r}", where=where, why=why)
        kind = kind_of(attribute, where) if not attribute.ref_attr_name else int(declared.type.value)
        if kind != int(declared.type.value):
            raise InvalidGraph(f"attribute {name!r} has the wrong type", where=where, why=f"expected {declared.type.name}")
    missing = [name for name, expected in attributes.items() if expected.required and name not in given]
    if missing:
        raise InvalidGraph(f"{node.op_type} lacks the attribute {missing[0]!r}", where=where)
    for role in ("input", "output"):
        count, least, most = len(getattr(node, role)), getattr(schema, f"min_{role}"), getattr(schema, f"max_{role}")
        if not least <= count <= most:
            why = f"{node.op_type} has {least} to {most}" if least != most else f"{node.op_type} has {least}"
            raise InvalidGraph(f"{count} {role}s are wrong", where=where, why=why)


def _decoded(content: bytes, where: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as problem:
        raise InvalidGraph("a text is not UTF-8", where=where) from problem
