"""Element types by name, those of ml_dtypes included, which is imported when one of them is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.short_types import FLOATS, POWER_TYPE

BITS: Mapping[str, str] = MappingProxyType(
    {"bfloat16": "uint16", POWER_TYPE: "uint8", **{name: "uint8" for name in FLOATS if name.startswith("float8")}}
)
"""By name of the types that torch and ml_dtypes know, and NumPy does not, the type that holds their bits."""


@cache
def dtype_named(name: str) -> np.dtype[Any]:
    """The NumPy type of that name. Raises `TypeError` where there is none.

    >>> dtype_named("bfloat16").itemsize
    2
    """
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name, name))
