"""Bodies of control flow: graphs that are called with arrays and return sequences of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import ShapeError

Body: TypeAlias = Callable[..., Sequence[Any]]


def single_or_tuple(results: Sequence[Any]) -> Any:
    """A single result itself, several as a tuple."""
    return results[0] if len(results) == 1 else tuple(results)


def truth_value(condition: Any, where: str) -> bool:
    """The truth value in a tensor of one element. Raises `ShapeError` for other numbers of elements."""
    if np.size(condition) != 1:
        raise ShapeError(f"a condition of {np.size(condition)} elements", where=where)
    return bool(np.asarray(condition).item())


def stacked(elements: Sequence[Any], where: str, axis: int = 0) -> Any:
    """The elements of all steps along a new axis. Raises `ShapeError` if their shapes differ."""
    if not elements:
        return np.zeros((0,), np.float32)
    if len({np.shape(element) for element in elements}) > 1:
        raise ShapeError("results of a body change their shape from step to step", where=where)
    return np.stack(elements, axis=axis)
