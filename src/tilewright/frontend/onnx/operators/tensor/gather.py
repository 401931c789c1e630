"""Gathers and scatters: elements at positions that another tensor gives, read, or replaced in a copy."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.reshape import gather, gather_elements, gather_nd
from tilewright.graph.positions import check_positions
from tilewright.graph.shapes import normalize_axis
from tilewright.graph.types import Extent, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Gather:
    """Slices along an axis."""

    axis: int = 0

    def reference(self, x: Any, ids: Any) -> Any:
        check_positions(ids, x.shape[self.axis], "Gather")
        return np.take(x, ids, axis=self.axis)

    def lower(self, builder: Builder, x: Tensor, ids: Tensor) -> Tensor:
        """A map with a lookup; positions that are known and evenly spaced are a slice."""
        chosen = normalize_axis(self.axis, len(x.shape), "Gather")
        _check_known(builder.known.get(ids.name), x.shape[chosen], "Gather")
        part = _as_slice(builder.known.get(ids.name), x.shape[chosen])
        if part is not None:
            return builder.slice(x, (slice(None),) * chosen + (part,))
        return builder.record(gather, x, ids, chosen, kind="gather")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherElements:
    """One element for every position, along an axis."""

    axis: int = 0

    def reference(self, x: Any, ids: Any) -> Any:
        axis = normalize_axis(self.axis, x.ndim, "GatherElements")
        check_positions(ids, x.shape[axis], "GatherElements")
        region = tuple(slice(extent) if d != axis else slice(None) for d, extent in enumerate(ids.shape))
        return np.take_along_axis(x[region], ids, axis)

    def lower(self, builder: Builder, x: Tensor, ids: Tensor) -> Tensor:
        """A map with a lookup."""
        extent = x.shape[normalize_axis(self.axis, len(x.shape), "GatherElements")]
        _check_known(builder.known.get(ids.name), extent, "GatherElements")
        return builder.record(gather_elements, x, ids, self.axis, kind="gather")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherND:
    """Slices at positions of several dimensions, behind `batch_dims` that both have."""

    batch_dims: int = 0

    def reference(self, x: Any, ids: Any) -> Any:
        depth = ids.shape[-1]
        if self.batch_dims + depth > x.ndim:
            raise ShapeError(f"{depth} positions behind {self.batch_dims} common dimensions", where=f"GatherND of {x.shape}")
        for k in range(depth):
            check_positions(ids[..., k], x.shape[self.batch_dims + k], "GatherND")
        rank = ids.ndim - 1
        common = tuple(np.arange(ids.shape[d]).reshape(_along(d, rank)) for d in range(self.batch_dims))
        return x[(*common, *(ids[..., k] for k in range(depth)))]

    def lower(self, builder: Builder, x: Tensor, ids: Tensor) -> Tensor:
        """A map with a lookup for every position."""
        result = builder.record(gather_nd, x, ids, self.batch_dims, kind="gather")
        if (known := builder.known.get(ids.name)) is not None:
            for k in range(known.shape[-1]):
                _check_known(known[..., k], x.shape[self.batch_dims + k], "GatherND")
        return result


def _along(dimension: int, rank: int) -> tuple[int, ...]:
    return tuple(-1 if d == dimension else 1 for d in range(rank))


def _as_slice(ids: Any, extent: Extent) -> int | slice | None:
    """One position, or the range that a vector of positions inside of the extent is; None if that is not known."""
    if ids is None or ids.ndim > 1 or not ids.size or not isinstance(extent, int) or ids.dtype.hasobject:
        return None
    first, *rest = (int(position) % extent for position in ids.reshape(-1))
    if ids.ndim == 0:
        return first
    step = rest[0] - first if rest else 1
    stop = first + step * ids.size
    is_range = step != 0 and rest == list(range(first + step, stop, step))
    return slice(first, None if stop < 0 else stop, step) if is_range else None


def _check_known(ids: Any, extent: Extent, kind: str) -> None:
    """Raise `PositionError` where known positions are outside of a known extent."""
    if ids is not None and isinstance(extent, int) and not ids.dtype.hasobject:
        check_positions(ids, extent, kind)


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


define("Gather", Gather)
define("GatherElements", GatherElements, since=11)
define("GatherND", GatherND, since=11)
define("Scatter", Scatter, since=9)
define("ScatterElements", ScatterElements, since=11)
define("ScatterND", ScatterND, since=11)
define("TensorScatter", TensorScatter, since=24)
