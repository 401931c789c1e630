"""Arrays of other libraries inside traced functions: constants, and torch's functions on traced values."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.tracing.hints import instead_of
from tilewright.frontend.tracing.location import user_location

Array = np.ndarray[Any, np.dtype[Any]]
_OPERATORS = frozenset(
    (
        *("add", "sub", "rsub", "mul", "div", "matmul", "pow", "floordiv", "remainder"),
        *("lt", "le", "gt", "ge", "eq", "ne", "bitwise_and", "bitwise_or"),
    )
)
"""Methods of torch.Tensor that stand for operators: where they do not know an operand, Python asks it."""
_TORCH_NAMES = {"sub": "subtract", "mul": "multiply", "div": "divide", "cat": "concat"}


def constant_array(value: Any) -> Array:
    """What the function closes over, as a NumPy array. Raises `UnsupportedOperation` where it cannot be read as one."""
    try:
        array: Array = np.asanyarray(value)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise _unreadable(value, str(problem)) from problem
    if array.dtype.kind == "O":
        raise _unreadable(value, "NumPy makes it an array of Python objects")
    return array


def torch_function(function: Any, known: Iterable[str]) -> Any:
    """The answer to a function of torch on a traced value: operators are left to Python, others are refused."""
    name = str(sys.modules["torch"].overrides.resolve_name(function))
    short = name.rpartition(".")[2].strip("_")
    if name.startswith("torch.Tensor.") and short in _OPERATORS:
        return NotImplemented
    short = _TORCH_NAMES.get(short, short)
    names = frozenset(known)
    why = "traced values are arrays as NumPy's, and no tensors"
    hint = f"use tilewright.{short}" if short in names else instead_of(short, names)
    raise UnsupportedOperation(f"{name} cannot be traced", where=user_location(), why=why, hint=hint)


def _unreadable(value: Any, why: str) -> UnsupportedOperation:
    hint = "close over float32 values: w.float()" if hasattr(value, "float") else "close over a NumPy array of numbers"
    if getattr(value, "requires_grad", False):
        why, hint = "kernels compute no gradients", "close over its values: w.detach()"
    text = f"a {type(value).__qualname__} cannot be a constant of the function"
    return UnsupportedOperation(text, where=user_location(), why=why, hint=hint)
