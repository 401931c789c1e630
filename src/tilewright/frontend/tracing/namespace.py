"""The array namespace of traced values: every function that traces, by name, wherever it is defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.frontend.tracing.hints import instead_of
from tilewright.frontend.tracing.location import UnsupportedAttribute, user_location

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""In order of definition; `registration.traceable` adds them. They are attributes of this module, too."""

float32 = np.dtype("float32")
float64 = np.dtype("float64")
bool_ = np.dtype("bool")
newaxis = None


def __getattr__(name: str) -> Any:
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    if name.startswith("_"):
        raise AttributeError(name)
    hint = instead_of(name, FUNCTIONS)
    raise UnsupportedAttribute(f"function {name!r}", where=user_location(), why="it is not there", hint=hint)
