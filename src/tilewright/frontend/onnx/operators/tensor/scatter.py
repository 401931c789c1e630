"""Scatter, ScatterElements and ScatterND: copies with some elements replaced or added to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.tensor.scattered import grid, scattered
from tilewright.graph.shapes import normalize_axis


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterElements:
    """`x` with x[.., ids[i..], ..] = updates[i..] for every element of `ids`."""

    axis: int = 0
    reduction: str = "none"

    def reference(self, x: Any, ids: Any, updates: Any) -> Any:
        axis = normalize_axis(self.axis, x.ndim, "ScatterElements")
        if ids.shape != updates.shape or ids.ndim != x.ndim:
            raise ShapeError(f"indices {ids.shape} and updates {updates.shape}", where=f"ScatterElements into {x.shape}")
        places = grid(ids.shape)
        places[axis] = ids
        return scattered(x, tuple(places), updates, self.reduction)


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
        return scattered(x, tuple(ids[..., k] for k in range(depth)), updates, self.reduction)


define("Scatter", Scatter, since=9)
define("ScatterElements", ScatterElements, since=11)
define("ScatterND", ScatterND, since=11)
