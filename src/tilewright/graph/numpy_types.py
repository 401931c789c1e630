"""Element types in NumPy meanings: short floating-point numbers are computed in float32, as kernels do, and stored short."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
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


def in_operand_type(meaning: Callable[..., Any]) -> Callable[..., Any]:
    """A meaning whose operands are widened, and whose result has the type of its first operand again.

    >>> in_operand_type(lambda x: x / 3)(np.ones(2, np.float16)).dtype
    dtype('float16')
    """

    @wraps(meaning)
    def evaluate(x: Any, *others: Any, **attributes: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(meaning(widened(x), *map(widened, others), **attributes)).astype(x.dtype)

    return evaluate
