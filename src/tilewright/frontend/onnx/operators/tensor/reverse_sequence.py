"""ReverseSequence: the first elements along one axis in reverse, as many as is said for every position of another axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.index import constant
from tilewright.graph.positions import BY_LENGTH, check_lengths
from tilewright.graph.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.types import Access, Operator, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class ReverseSequence:
    """Batch and time are the first two dimensions, in any order."""

    batch_axis: int = 1
    time_axis: int = 0

    def reference(self, x: Any, lengths: Any) -> Any:
        self._check(x.shape, lengths.shape)
        extent = x.shape[self.time_axis]
        check_lengths(lengths, extent, "ReverseSequence")
        time = np.arange(extent)
        places = np.where(time < lengths[:, None], lengths[:, None] - 1 - time, time)
        ordered = places if self.time_axis else places.T
        return np.take_along_axis(x, ordered.reshape(*ordered.shape, *(1,) * (x.ndim - 2)), self.time_axis)

    def lower(self, builder: Builder, x: Tensor, lengths: Tensor) -> Tensor:
        """Positions from the lengths, and a map that looks them up."""
        self._check(x.shape, lengths.shape)
        places = builder.record(_positions, lengths, x.shape[self.time_axis], kind="positions")
        return builder.record(_reversed, x, places, self.batch_axis, self.time_axis, kind="reverse_sequence")

    def _check(self, shape: Any, lengths: Any) -> None:
        batch, time = self.batch_axis, self.time_axis
        if {batch, time} != {0, 1} or len(shape) < 2 or tuple(lengths) != (shape[batch],):
            where = f"ReverseSequence of {tuple(shape)}"
            raise ShapeError(f"lengths {tuple(lengths)}, batch axis {batch} and time axis {time}", where=where)


def _positions(lengths: Tensor, extent: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """[batch, time]: where the element at a time is read: outside, if the length is below 0 or above the extent (`BY_LENGTH`)."""
    time = AxisValue("d1")
    length, most = Load(0), Literal(float(extent))
    last = apply("subtract", length, Literal(1.0))
    inside = apply("where", apply("less", time, length), apply("subtract", last, time), time)
    at_most = apply("where", apply("less", most, length), length, inside)
    body = apply("where", apply("less", length, Literal(0.0)), apply("subtract", length, most), at_most)
    return map_of("positions", (lengths.shape[0], extent), [Access(lengths.name, points(1))], body, "int64", name, result)


def _reversed(x: Tensor, places: Tensor, batch: int, time: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    outputs = points(len(x.shape))
    indices = tuple(constant(0) if d == time else index for d, index in enumerate(outputs))
    reads = (Access(places.name, (outputs[batch], outputs[time])), Access(x.name, indices, lookups=((time, 0),)))
    return map_of(BY_LENGTH, x.shape, reads, Load(1), x.dtype, name, result, computed=x.dtype)


define("ReverseSequence", ReverseSequence, since=10)
