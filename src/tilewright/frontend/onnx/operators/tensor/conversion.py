"""Conversions of arrays between element types.

Numbers become truth values where they are not 0; floating-point numbers lose their fraction where they become integers; what a
float8 type cannot hold becomes its largest number, or what the type makes of it without `saturate`.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tilewright.frontend.onnx.operators.tensor.texts import numbers_of, texts_of
from tilewright.graph.numpy_types import rounded_once
from tilewright.graph.scalar import Literal, Scalar, apply

POWER = "float8_e8m0fnu"
"""Powers of two alone."""
LEAST = 2.0**-127


def converted(x: Any, target: np.dtype[Any], saturate: bool = True, round_mode: str = "up") -> Any:
    """An array in another element type."""
    if target.hasobject:
        return texts_of(x)
    if x.dtype.hasobject:
        x = numbers_of(x, target)
    if target.kind == "b":
        return x.astype(np.float32) != 0 if x.dtype.kind not in "biufc" else x.astype(bool)
    if target.name == POWER:
        return _powers(x.astype(np.float32), round_mode, saturate)
    if saturate and target.name.startswith("float8"):
        most = float(ml_dtypes.finfo(target).max)  # type: ignore[no-untyped-call]
        x = np.clip(x.astype(np.float32), -most, most)
    if target.kind not in "biufc" or x.dtype.kind not in "biufc":
        x = _in_range(x.astype(np.float32) if x.dtype.kind not in "biufc" else x, target)
    with np.errstate(all="ignore"):
        return rounded_once(x, target.name)


def _in_range(x: Any, target: np.dtype[Any]) -> Any:
    """Values as a narrow type takes them: floating-point ones wide enough, integers by their lowest bits."""
    if target.name in ("int4", "int2") and x.dtype.kind in "iu":
        bits = int(target.name[3:])
        low = x.astype(np.int64) & ((1 << bits) - 1)
        return np.where(low >> (bits - 1), low - (1 << bits), low)
    if target.name in ("uint4", "uint2") and x.dtype.kind in "iu":
        return x.astype(np.int64) & ((1 << int(target.name[4:])) - 1)
    return x


def lowered_power(x: Scalar, round_mode: str, saturate: bool) -> Scalar:
    """A number that is stored as the power of two that `converted` gives.

    Stored numbers go to the nearest power, and the middle of two to the upper one. In [1, 2), (1.5 - 2^-23) m is below 1.5 for
    m = 1 alone, and always below 3; 0.75 m is always below 1.5. Products are rounded, which does not change that.
    """
    size = apply("abs", x)
    if saturate:
        size = apply("minimum", size, Literal(2.0**127))
    rounded = {"up": apply("multiply", size, Literal(1.5 - 2.0**-23)), "down": apply("multiply", size, Literal(0.75))}
    is_least = apply("less", size, Literal(2.0**-126)) if round_mode == "down" else apply("less_equal", size, Literal(LEAST))
    return apply("where", is_least, Literal(LEAST), rounded.get(round_mode, size))


def _powers(x: Any, round_mode: str, saturate: bool) -> Any:
    """The power of two above, below, or nearest to a positive number; up to the least one, 2^-127, all become that."""
    bits = np.abs(x).view(np.uint32)
    exponent, rest = (bits >> 23).astype(np.int64), bits & 0x7FFFFF
    up = rest > 0 if round_mode == "up" else rest >= 0x400000 if round_mode == "nearest" else np.zeros(x.shape, bool)
    codes = exponent + np.where(exponent == 0, (rest > 0x400000) & (round_mode != "down"), up)
    most = 254 if saturate else 255
    codes = np.where(np.isnan(x), 255, np.minimum(codes, most))
    return codes.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)
