"""Extents known at run time, as numbers: maps of nothing, which readers take into their bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.graph.builders.elementwise import map_of
from tilewright.graph.extents import Extent, SymbolicExtent
from tilewright.graph.scalar import AxisValue, Literal, Scalar, apply, scalar_of
from tilewright.graph.types import Operator, Tensor


def extent(symbol: SymbolicExtent, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The value of a symbol, of shape ().

    >>> extent(SymbolicExtent("s", 1, 64, 32), name="extent", result="y")[0].body
    Parameter(name='s')
    """
    return map_of("extent", (), (), scalar_of(symbol), "int64", name, result)


def extents(values: np.ndarray[Any, Any], dtype: str, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """An array of integers and run-time extents as data: by the position in it.

    >>> values = np.array([SymbolicExtent("s", 1, 64, 32), 4], object)
    >>> operator, tensor = extents(values, "int64", name="shape", result="y")
    >>> tensor.shape, operator.body.function
    ((2,), 'where')
    """
    return map_of("shape", values.shape, (), _chosen(values.tolist(), 0), dtype, name, result)


def _chosen(values: Any, dimension: int) -> Scalar:
    """The element at the positions along the axes from a dimension on."""
    if not isinstance(values, list):
        return scalar_of(_exact(values))
    body = _chosen(values[-1], dimension + 1)
    for position in reversed(range(len(values) - 1)):
        here = apply("less", AxisValue(f"d{dimension}"), Literal(position + 1.0))
        body = apply("where", here, _chosen(values[position], dimension + 1), body)
    return body


def _exact(value: Any) -> Extent:
    return value if isinstance(value, SymbolicExtent) else int(value)
