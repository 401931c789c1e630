"""Constant, ConstantOfShape, Shape and Size of ONNX: contents that are known before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import InvalidModel, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.element_types import check_size
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import AxisValue, Literal, Scalar, apply
from tilewright.graph.sums_of_extents import scalar_of
from tilewright.graph.types import Access, Axis, Extent, Operator, SymbolicExtent, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


def constant_meaning(
    *,
    value: Any = None,
    sparse_value: Any = None,
    value_float: float | None = None,
    value_floats: Any = None,
    value_int: int | None = None,
    value_ints: Any = None,
    value_string: Any = None,
    value_strings: Any = None,
) -> Any:
    """The one attribute that is given, as an array."""
    given = (
        (value, None),
        (sparse_value, None),
        (value_float, np.float32),
        (value_floats, np.float32),
        (value_int, np.int64),
        (value_ints, np.int64),
        (value_string, object),
        (value_strings, object),
    )
    found = [(one, dtype) for one, dtype in given if one is not None]
    if len(found) != 1:
        raise InvalidModel(f"a Constant of {len(found)} values", hint="it has one of value, value_float, value_ints, ...")
    return np.asarray(found[0][0], found[0][1])


def constant_lower(
    builder: Builder,
    *,
    value: Any = None,
    sparse_value: Any = None,
    value_float: float | None = None,
    value_floats: Any = None,
    value_int: int | None = None,
    value_ints: Any = None,
    value_string: Any = None,
    value_strings: Any = None,
) -> Tensor:
    """A constant of the graph."""
    if sparse_value is not None or value_string is not None or value_strings is not None:
        raise UnsupportedOperation("a Constant of strings, or a sparse one, in generated code")
    return builder.constant(
        constant_meaning(
            value=value, value_float=value_float, value_floats=value_floats, value_int=value_int, value_ints=value_ints
        )
    )


def full_meaning(shape: Any, *, value: Any = None) -> Any:
    """An array of one value, float32 zeros without one."""
    element = np.zeros(1, np.float32) if value is None else np.asarray(value)
    return np.full(check_size(np.asarray(shape).reshape(-1).tolist(), "ConstantOfShape"), element.reshape(-1)[0], element.dtype)


def full_lower(builder: Builder, shape: Tensor, *, value: Any = None) -> Tensor:
    """A map that reads nothing; a small one of known shape is a constant."""
    extents = builder.integers(shape)
    element = np.zeros(1, np.float32) if value is None else np.asarray(value)
    check_size([extent.high if isinstance(extent, SymbolicExtent) else extent for extent in extents], "ConstantOfShape")
    whole = [extent for extent in extents if isinstance(extent, int)]
    if len(whole) == len(extents) and math.prod(whole) <= SMALL:
        return builder.constant(full_meaning(whole, value=value))
    return builder.record(_full, extents, float(element.reshape(-1)[0]), element.dtype.name, kind="full")


SMALL = 1024
"""Elements up to which a constant is stored instead of computed."""


def _full(shape: Sequence[Extent], value: float, dtype: str, *, name: str, result: str) -> tuple[Operator, Tensor]:
    axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(shape))
    write = Access(result, tuple(axis_index(a.name) for a in axes))
    return Operator(name, "full", axes, (), write, Literal(value), accumulator=dtype), Tensor(result, tuple(shape), dtype)


def shape_meaning(x: Any, *, start: int = 0, end: int | None = None) -> Any:
    """Some of the extents."""
    return np.array(x.shape[start:end], np.int64)


def shape_lower(builder: Builder, x: Tensor, *, start: int = 0, end: int | None = None) -> Tensor:
    """A constant, or a map that reads nothing and whose contents are known as extents."""
    return _of_extents(builder, x.shape[start:end], kind="shape")


def size_meaning(x: Any) -> Any:
    """The number of elements."""
    return np.array(x.size, np.int64)


def size_lower(builder: Builder, x: Tensor) -> Tensor:
    """A constant."""
    if not all(isinstance(extent, int) for extent in x.shape):
        raise UnsupportedOperation("the number of elements where extents are known at run time")
    return builder.constant(np.array(math.prod(int(str(extent)) for extent in x.shape), np.int64))


def _of_extents(builder: Builder, extents: Sequence[Extent], kind: str) -> Tensor:
    whole = [extent for extent in extents if isinstance(extent, int)]
    if len(whole) == len(extents):
        return builder.constant(np.array(whole, np.int64))
    tensor = builder.record(_extents, tuple(extents), kind=kind)
    contents = np.empty(len(extents), object)
    contents[:] = extents
    builder.known[tensor.name] = contents
    return tensor


def _extents(extents: tuple[Extent, ...], *, name: str, result: str) -> tuple[Operator, Tensor]:
    """A vector of extents, by the position along it."""
    values = [scalar_of(extent) for extent in extents]
    body: Scalar = values[-1]
    for position in reversed(range(len(values) - 1)):
        body = apply("where", apply("less", AxisValue("d0"), Literal(position + 1.0)), values[position], body)
    axes, write = (Axis("d0", len(extents)),), Access(result, (axis_index("d0"),))
    return Operator(name, "shape", axes, (), write, body, accumulator="int64"), Tensor(result, (len(extents),), "int64")


def _whole_shape_meaning(x: Any) -> Any:
    """All extents."""
    return shape_meaning(x)


def _whole_shape_lower(builder: Builder, x: Tensor) -> Tensor:
    return shape_lower(builder, x)


define("Constant", constant_meaning, constant_lower)
define("ConstantOfShape", full_meaning, full_lower, since=9)
define("Shape", _whole_shape_meaning, _whole_shape_lower)
define("Shape", shape_meaning, shape_lower, since=15)
define("Size", size_meaning, size_lower)
