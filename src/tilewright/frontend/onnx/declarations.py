"""Declarations of inputs and outputs: name, kind, element type and shape of a `ValueInfoProto`."""

from __future__ import annotations

from typing import Any

from tilewright.errors import InvalidModel
from tilewright.frontend.onnx.element_types import dtype_of
from tilewright.frontend.onnx.model import Declared
from tilewright.frontend.onnx.sizes import check_shape

MOST_RANK = 64
"""NumPy's limit."""


def declared(info: Any, unique: str) -> Declared:
    """A `ValueInfoProto`. An extent below 0 is not known, as exporters mean it."""
    where = f"value {info.name!r}"
    kind, tensor = _tensor_in(info.type)
    if tensor is None or not tensor.elem_type:
        return Declared(info.name, unique, kind)
    dtype = dtype_of(tensor.elem_type, where)
    if not tensor.HasField("shape"):
        return Declared(info.name, unique, kind, dtype)
    if len(tensor.shape.dim) > MOST_RANK:
        raise InvalidModel(f"{where} has {len(tensor.shape.dim)} dimensions", where=where)
    shape = tuple(_extent(dim) for dim in tensor.shape.dim)
    check_shape([extent for extent in shape if isinstance(extent, int)], dtype.itemsize, where)
    return Declared(info.name, unique, kind, dtype, shape, tuple(dim.denotation for dim in tensor.shape.dim))


def _tensor_in(declared_type: Any) -> tuple[str, Any]:
    """The kind of a value, and the type of its tensors; None where that is not said."""
    match declared_type.WhichOneof("value"):
        case "tensor_type":
            return "tensor", declared_type.tensor_type
        case "sequence_type":
            return "sequence", _tensor_in(declared_type.sequence_type.elem_type)[1]
        case "optional_type":
            return "optional", _tensor_in(declared_type.optional_type.elem_type)[1]
        case "map_type":
            return "map", None
        case "sparse_tensor_type":
            return "sparse_tensor", None
    return "unknown", None


def _extent(dim: Any) -> int | str | None:
    if dim.HasField("dim_value"):
        return int(dim.dim_value) if dim.dim_value >= 0 else None
    return str(dim.dim_param) or None
