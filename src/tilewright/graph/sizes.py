"""Sizes that can be planned: arrays that fit an address space, and index spaces whose points are counted exactly."""

from __future__ import annotations

from math import prod

from tilewright.errors import PlanningError, ShapeError
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Graph, Operator, Tensor, planned_extent

LARGEST_COUNT = 1 << 53
"""Bytes of an array, and points of an operator: a float64 has every whole number up to here, and an int64 has room for sums of
products of them with bytes, operands and edges of tiles. It is 9 PB, or a hundred days at a point a nanosecond."""
MOST_DIMENSIONS = 64
"""Of an array: as many as an array of NumPy 2 may have."""


def check_sizes(graph: Graph) -> None:
    """Raise `ShapeError` for arrays of too many dimensions, `PlanningError` for too large arrays and operators.

    Extents known at run time count with the value that planning assumes.
    """
    for tensor in graph.tensors:
        _check_tensor(tensor)
    for operator in graph.operators:
        _check_operator(operator)


def _check_tensor(tensor: Tensor) -> None:
    if len(tensor.shape) > MOST_DIMENSIONS:
        raise ShapeError(
            f"{tensor.name} has {len(tensor.shape)} dimensions",
            why=f"arrays have at most {MOST_DIMENSIONS}",
            hint="merge dimensions with reshape",
        )
    size_bytes = prod(map(planned_extent, tensor.shape)) * tensor.element_bytes
    if size_bytes > LARGEST_COUNT:
        raise PlanningError(
            f"{tensor.name} of shape {shape_text(tensor.shape)} has {size_bytes} bytes",
            why=f"arrays of up to {LARGEST_COUNT} bytes are planned",
            hint="compute a part of it in a call",
        )


def _check_operator(operator: Operator) -> None:
    points = prod(planned_extent(axis.extent) for axis in operator.axes)
    if points > LARGEST_COUNT:
        raise PlanningError(
            f"{operator.name} has {points} points",
            where=f"extents {', '.join(f'{axis.name} = {axis.extent}' for axis in operator.axes)}",
            why=f"operators of up to {LARGEST_COUNT} points are planned",
            hint="compute a part of it in a call",
        )
