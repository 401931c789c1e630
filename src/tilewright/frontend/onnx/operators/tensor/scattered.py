"""Scattered updates: a copy of an array with elements replaced or combined."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.graph.positions import check_positions

REDUCTIONS = MappingProxyType({"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum})


def scattered(x: Any, places: tuple[Any, ...], updates: Any, reduction: str) -> Any:
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


def grid(shape: tuple[int, ...]) -> list[Any]:
    """The positions of all elements of a shape, one array per dimension."""
    return [np.broadcast_to(positions, shape) for positions in np.ogrid[tuple(slice(extent) for extent in shape)]]
