"""Values between the stages of a model: arrays, lists of arrays for sequences, None for an empty optional."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

Values: TypeAlias = dict[str, Any]
"""By unique name."""
NO_VALUES: Mapping[str, Any] = MappingProxyType({})


def as_value(value: Any) -> Any:
    """An array, unless it is a sequence or an empty optional."""
    return value if value is None or isinstance(value, list) else np.asarray(value)


def without_elements(value: Any) -> Any:
    """A value of the same type and shape that takes no memory."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return np.broadcast_to(np.zeros((), value.dtype), value.shape)
    return [] if isinstance(value, list) else value


def kind(value: Any) -> Any:
    """What two values have in common that one signature can stand for, but for their extents."""
    return (value.dtype, value.ndim) if isinstance(value, np.ndarray) else type(value)


def extents_of(value: Any) -> tuple[int, ...]:
    """The shape of an array of numbers; nothing of other values."""
    return value.shape if isinstance(value, np.ndarray) and not value.dtype.hasobject else ()
