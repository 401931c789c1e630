"""Short floating-point numbers in NumPy: they are computed in float32, as by kernels, and stored short."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_short_float(dtype: Any) -> bool:
    """Whether numbers of a type are floating-point ones that are shorter than float32.

    >>> is_short_float(np.float16), is_short_float(np.float32)
    (True, False)
    """
    return str(np.dtype(dtype).name).startswith(("float16", "bfloat16", "float8", "float4"))


def is_float(dtype: str) -> bool:
    """Whether elements of a type, by its NumPy name, have a fraction.

    >>> is_float("float32"), is_float("bfloat16"), is_float("int4"), is_float("bool")
    (True, True, False, False)
    """
    return "float" in dtype


def widened(x: Any) -> Any:
    """An array of short floating-point numbers as float32, any other as it is."""
    return x.astype(np.float32) if isinstance(x, np.ndarray | np.generic) and is_short_float(x.dtype) else x


def rounded_once(x: Any, dtype: str) -> Any:
    """Floating-point numbers in a half-width type, rounded once: ml_dtypes rounds doubles to float32 before.

    >>> float(rounded_once(np.array(1 + 2.0**-8 + 2.0**-30), "bfloat16"))
    1.0078125
    """
    x = np.asarray(x)
    if dtype != "bfloat16" or x.dtype != np.float64:
        return x.astype(dtype)
    near = x.astype(np.float32)
    bits = near.view(np.uint32)
    beyond = np.abs(near.astype(np.float64)) > np.abs(x)
    is_inexact = (near != x) & (x == x)
    return np.where(is_inexact, (bits - beyond) | 1, bits).astype(np.uint32).view(np.float32).astype(dtype)
