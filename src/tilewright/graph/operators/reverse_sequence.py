"""ReverseSequence of ONNX: the first elements along one axis in reverse, how many is said for every position of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.definition import define
from tilewright.graph.index import axis as axis_index
from tilewright.graph.index import constant
from tilewright.graph.positions import BY_LENGTH, check_lengths
from tilewright.graph.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.types import Access, Axis, Operator, Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


def _positions(lengths: Tensor, extent: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """[batch, time]: where the element at a time is read: outside, if the length is below 0 or above the extent (`BY_LENGTH`)."""
    axes = (Axis("d0", lengths.shape[0]), Axis("d1", extent))
    time = AxisValue("d1")
    length, most = Load(0), Literal(float(extent))
    last = apply("subtract", length, Literal(1.0))
    inside = apply("where", apply("less", time, length), apply("subtract", last, time), time)
    at_most = apply("where", apply("less", most, length), length, inside)
    body = apply("where", apply("less", length, Literal(0.0)), apply("subtract", length, most), at_most)
    write = Access(result, (axis_index("d0"), axis_index("d1")))
    reads = (Access(lengths.name, (axis_index("d0"),)),)
    return Operator(name, "positions", axes, reads, write, body, accumulator="int64"), Tensor(
        result, (lengths.shape[0], extent), "int64"
    )


def _reversed(x: Tensor, places: Tensor, batch: int, time: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    axes = tuple(Axis(f"d{d}", extent) for d, extent in enumerate(x.shape))
    own = [axis_index(a.name) for a in axes]
    indices = tuple(constant(0) if d == time else index for d, index in enumerate(own))
    reads = (Access(places.name, (own[batch], own[time])), Access(x.name, indices, lookups=((time, 0),)))
    write = Access(result, tuple(own))
    return Operator(name, BY_LENGTH, axes, reads, write, Load(1), accumulator=x.dtype), Tensor(result, x.shape, x.dtype)


def meaning(x: Any, lengths: Any, *, batch_axis: int = 1, time_axis: int = 0) -> Any:
    """The same by NumPy."""
    _check(x.shape, lengths.shape, batch_axis, time_axis)
    extent = x.shape[time_axis]
    check_lengths(lengths, extent, "ReverseSequence")
    time = np.arange(extent)
    places = np.where(time < lengths[:, None], lengths[:, None] - 1 - time, time)
    ordered = places if time_axis else places.T
    return np.take_along_axis(x, ordered.reshape(*ordered.shape, *(1,) * (x.ndim - 2)), time_axis)


def lower(builder: Builder, x: Tensor, lengths: Tensor, *, batch_axis: int = 1, time_axis: int = 0) -> Tensor:
    """Positions from the lengths, and a map that looks them up."""
    _check(x.shape, lengths.shape, batch_axis, time_axis)
    places = builder.record(_positions, lengths, x.shape[time_axis], kind="positions")
    return builder.record(_reversed, x, places, batch_axis, time_axis, kind="reverse_sequence")


def _check(shape: Any, lengths: Any, batch_axis: int, time_axis: int) -> None:
    if {batch_axis, time_axis} != {0, 1} or len(shape) < 2 or tuple(lengths) != (shape[batch_axis],):
        where = f"ReverseSequence of {tuple(shape)}"
        raise ShapeError(f"lengths {tuple(lengths)}, batch axis {batch_axis} and time axis {time_axis}", where=where)


define("ReverseSequence", meaning, lower, since=10)
