"""Optional values: a tensor or a sequence, or None."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.definition import define


def optional(value: Any = None, *, type: Any = None) -> Any:
    """The value itself, or None; of what type an empty one would be does not matter."""
    return value


def has_element(value: Any = None) -> Any:
    """Whether there is a value, 0-d bool."""
    return np.array(value is not None)


def get_element(value: Any) -> Any:
    """The value. Raises `ShapeError` if there is none."""
    if value is None:
        raise ShapeError("the optional value is empty", where="OptionalGetElement", hint="ask OptionalHasElement before")
    return value


define("Optional", optional, since=15)
define("OptionalHasElement", has_element, since=15)
define("OptionalGetElement", get_element, since=15)
