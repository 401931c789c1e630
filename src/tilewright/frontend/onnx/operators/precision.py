"""Precision of reference implementations: short floating-point numbers are computed in float32, as in kernels, and rounded."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from tilewright.graph.numpy_types import widened


def in_operand_type(reference: Callable[..., Any]) -> Callable[..., Any]:
    """A reference implementation (a method) that gets its operands widened, and whose result is rounded to the first one's type.

    >>> class Third:
    ...     @in_operand_type
    ...     def reference(self, x):
    ...         return x / 3
    >>> Third().reference(np.ones(2, np.float16)).dtype
    dtype('float16')
    """

    @wraps(reference)
    def evaluate(self: Any, x: Any, *operands: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(reference(self, widened(x), *map(widened, operands))).astype(x.dtype)

    return evaluate
