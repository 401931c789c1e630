"""Scatter, ScatterElements, ScatterND and TensorScatter: copies with some elements replaced or combined with others."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.graph.positions import check_positions
from tilewright.graph.shapes import normalize_axis

REDUCTIONS = MappingProxyType({"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterElements:
    """`x` with x[.., ids[i..], ..] = updates[i..] for every element of `ids`."""

    axis: int = 0
    reduction: str = "none"

    def reference(self, x: Any, ids: Any, updates: Any) -> Any:
        axis = normalize_axis(self.axis, x.ndim, "ScatterElements")
        if ids.shape != updates.shape or ids.ndim != x.ndim:
            raise ShapeError(f"indices {ids.shape} and updates {updates.shape}", where=f"ScatterElements into {x.shape}")
        places = _grid(ids.shape)
        places[axis] = ids
        return _scattered(x, tuple(places), updates, self.reduction)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """As ScatterElements without a reduction."""

    axis: int = 0

    def reference(self, x: Any, ids: Any, updates: Any) -> Any:
        return ScatterElements(axis=self.axis).reference(x, ids, updates)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterND:
    """`x` with x[ids[i.., 0], .., ids[i.., k - 1]] = updates[i..]."""

    reduction: str = "none"

    def reference(self, x: Any, ids: Any, updates: Any) -> Any:
        depth = ids.shape[-1]
        if depth > x.ndim or updates.shape != (*ids.shape[:-1], *x.shape[depth:]):
            raise ShapeError(f"indices {ids.shape} and updates {updates.shape}", where=f"ScatterND into {x.shape}")
        return _scattered(x, tuple(ids[..., k] for k in range(depth)), updates, self.reduction)


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorScatter:
    """A cache with new entries along `axis`, from a position that every batch item has; `circular` ones begin anew at the end."""

    axis: int = -2
    mode: str = "linear"

    def reference(self, past: Any, update: Any, write_indices: Any = None) -> Any:
        axis = normalize_axis(self.axis, past.ndim, "TensorScatter")
        starts = np.zeros(past.shape[0], np.int64) if write_indices is None else np.asarray(write_indices)
        if axis == 0 or update.ndim != past.ndim or starts.shape != past.shape[:1]:
            raise ShapeError(f"an update of shape {update.shape} along axis {axis}", where=f"TensorScatter into {past.shape}")
        places = _grid(update.shape)
        places[axis] = places[axis] + starts.reshape((-1,) + (1,) * (past.ndim - 1))
        if self.mode == "circular":
            places[axis] = places[axis] % past.shape[axis]
        return _scattered(past, tuple(places), update, "none")


def _scattered(x: Any, places: tuple[Any, ...], updates: Any, reduction: str) -> Any:
    """A copy of `x` in which the elements at `places` are the updates, or combined with them, one after the other."""
    result = np.array(x)
    for place, extent in zip(places, x.shape, strict=False):
        check_positions(place, extent, "scatter")
    if reduction == "none":
        result[places] = updates
    elif reduction in REDUCTIONS:
        REDUCTIONS[reduction].at(result, places, updates)
    else:
        raise UnsupportedOperation(f"the reduction {reduction!r} of a scatter", hint=f"choose from {', '.join(REDUCTIONS)}")
    return result


def _grid(shape: tuple[int, ...]) -> list[Any]:
    """The positions of all elements of a shape, one array per dimension."""
    return [np.broadcast_to(positions, shape) for positions in np.ogrid[tuple(slice(extent) for extent in shape)]]


define("Scatter", Scatter, since=9)
define("ScatterElements", ScatterElements, since=11)
define("ScatterND", ScatterND, since=11)
define("TensorScatter", TensorScatter, since=24)
