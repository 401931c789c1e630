"""Element types by name, those of ml_dtypes included, which is imported when one of them is asked for."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


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
