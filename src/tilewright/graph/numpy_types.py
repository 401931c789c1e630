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


def widened(x: Any) -> Any:
    """An array of short floating-point numbers as float32, any other as it is."""
    return x.astype(np.float32) if isinstance(x, np.ndarray | np.generic) and is_short_float(x.dtype) else x
