"""Python's numbers as operands: what torch makes of them in an element type."""

from __future__ import annotations

from math import isfinite, isinf
from typing import TYPE_CHECKING, Any

import ml_dtypes  # noqa: F401  (NumPy knows bfloat16 by it)
import numpy as np

from tilewright.graph.expressions.extents import SymbolicExtent, range_of
from tilewright.graph.numpy_types import is_float
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.frontend.torch.call import Call


def rounded(number: float, dtype: str) -> float:
    """A number as an element holds it: integers without their fraction, modulo a power of two.

    >>> rounded(-1, "uint8"), rounded(0.1, "bfloat16"), rounded(2.5, "bool")
    (255, 0.10009765625, True)
    """
    if dtype == "bool":
        return bool(number)
    if is_float(dtype):
        with np.errstate(over="ignore"):
            return float(number) if dtype == "float64" else float(np.asarray(np.float32(number)).astype(dtype))
    limits = np.iinfo(dtype)
    return (int(number) - int(limits.min)) % (1 << limits.bits) + int(limits.min)


def is_held(number: float, dtype: str) -> bool:
    """Whether torch converts a number to a type without an error of overflow."""
    if dtype == "bool" or not isfinite(number):
        return dtype == "bool" or is_float(dtype)
    if is_float(dtype):
        return not isinf(rounded(number, dtype))
    limits = np.iinfo(dtype)
    lowest = -int(limits.max) if limits.min == 0 else int(limits.min)
    return lowest <= int(number) <= int(limits.max)


def operand(call: Call, name: str, dtype: str) -> Tensor | float:
    """A tensor or number in a type, as operands of arithmetic are: a number that an integer cannot hold wraps."""
    return as_operand(call, call[name], dtype)


def as_operand(call: Call, value: Any, dtype: str) -> Tensor | float:
    """The same of a value. Raises `UnsupportedOperation` for NaN and infinities in integers."""
    if not isinstance(value, bool | int | float):
        return call.as_operand(value, dtype)
    if not isfinite(value) and not is_float(dtype) and dtype != "bool":
        raise call.refuse(f"{value} in {dtype}")
    return call.as_operand(rounded(value, dtype), dtype)


def held_operand(call: Call, name: str, dtype: str) -> Tensor | float:
    """A tensor or number in a type. Raises `UnsupportedOperation` for a number that torch does not convert either."""
    value = call[name]
    if isinstance(value, bool | int | float) and not is_held(value, dtype):
        raise call.refuse(f"{value} is beyond {dtype}")
    return as_operand(call, value, dtype)


def factor(call: Call, name: str, dtype: str) -> Tensor | float:
    """The second operand of a product or quotient: a single number is not rounded to a type shorter than float32."""
    value = call[name]
    if isinstance(value, bool | int | float) and is_float(dtype):
        return rounded(value, "float64" if dtype == "float64" else "float32")
    if isinstance(value, Tensor) and not value.shape and dtype in ("float16", "bfloat16"):
        return call.cast(value, "float32")
    return as_operand(call, value, dtype)


def check_divisor(call: Call, name: str) -> None:
    """Raises `UnsupportedOperation` for a divisor of integers that may be 0, of which torch makes an error."""
    value = call[name]
    if isinstance(value, SymbolicExtent):
        may_be_zero = range_of(value)[0] <= 0
    elif isinstance(value, Tensor):
        known = call.builder.known.get(value.name)
        may_be_zero = known is None or known.dtype == object or not known.all()
    else:
        may_be_zero = not value
    if may_be_zero:
        raise call.refuse("integers are divided by what may be 0, where torch raises an error")
