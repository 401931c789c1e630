"""Element types by name, those of ml_dtypes included, which is imported when one of them is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

BITS: Mapping[str, str] = MappingProxyType(
    {"bfloat16": "uint16", **{f"float8_{kind}": "uint8" for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")}}
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
