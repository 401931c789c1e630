"""What operators mean, by NumPy alone, operator by operator, in the types of their operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from tests.support.random.exact.program import Array
from tilewright.tile.rounding import to_bfloat16

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
HALVES = ("float16", "bfloat16")
FLOATS = (*HALVES, "float32", "float64")
EIGHTS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
TYPES = ("bool", *INTEGERS, *FLOATS)
ONNX_NUMBERS = dict(
    zip((*INTEGERS, "bool", *FLOATS, *EIGHTS), (3, 5, 6, 7, 2, 4, 12, 13, 9, 10, 16, 1, 11, 17, 18, 19, 20), strict=True)
)
DTYPES = {name: np.dtype(getattr(ml_dtypes, name, name)) for name in (*TYPES, *EIGHTS)}


def cast(x: Array, to: str) -> Array:
    """Truth values are what is not 0, integers wrap, fractions are cut off, floats are rounded to the nearest once.

    Doubles become bytes through float32, as in onnxruntime and ONNX's reference; what has no place there is the largest number.
    """
    if to == "bool":
        return np.asarray(wide(x) != 0)
    if to in EIGHTS:
        most = np.float32(ml_dtypes.finfo(to).max)  # type: ignore[no-untyped-call]
        return np.clip(x.astype(np.float32), -most, most).astype(DTYPES[to])
    if to == "bfloat16" and x.dtype.name in ("float64", "int64", "uint64", "int32", "uint32"):
        return np.asarray(to_bfloat16(x).view(DTYPES[to]))
    if to == "float16" and x.dtype.kind in "iu":
        return x.astype(np.float64).astype(np.float16)
    return (wide(x) if x.dtype.name in ("bfloat16", *EIGHTS) else x).astype(DTYPES[to])


def can_cast(x: Array, to: str) -> bool:
    """Whether a conversion means the same everywhere: floats that become integers lie in their range."""
    if x.dtype.kind in "biu" or to not in INTEGERS:
        return True
    values = np.trunc(wide(x).astype(np.float64))
    limits = np.iinfo(to)
    return bool(np.all(np.isfinite(values)) and np.all((values >= float(limits.min)) & (values < float(limits.max))))


def wide(x: Array) -> Array:
    """Floats of 8 and 16 bits as float32."""
    return x.astype(np.float32) if x.dtype.name in (*HALVES, *EIGHTS) else x


def _by(function: Callable[..., Any]) -> Callable[..., Array]:
    """A function of numbers: halves are computed in float32 and rounded."""

    def meaning(*operands: Array) -> Array:
        found = np.asarray(function(*map(wide, operands)))
        return found if found.dtype == np.bool_ else found.astype(operands[-1].dtype)

    return meaning


CONDITIONS: Mapping[str, Callable[..., Array]] = {
    "Less": _by(np.less),
    "LessOrEqual": _by(np.less_equal),
    "Greater": _by(np.greater),
    "GreaterOrEqual": _by(np.greater_equal),
    "Equal": _by(np.equal),
}
TESTS: Mapping[str, Callable[..., Array]] = {"IsNaN": _by(np.isnan), "IsInf": _by(np.isinf)}
LOGIC: Mapping[str, Callable[..., Array]] = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}
OF_BITS: Mapping[str, Callable[..., Array]] = {
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
}
SUMS: Mapping[str, Callable[..., Array]] = {"Add": _by(np.add), "Sub": _by(np.subtract)}
CHOICES: Mapping[str, Callable[..., Array]] = {"Max": _by(np.maximum), "Min": _by(np.minimum)}
PRODUCTS: Mapping[str, Callable[..., Array]] = {"Mul": _by(np.multiply)}
QUOTIENTS: Mapping[str, Callable[..., Array]] = {"Div": _by(np.divide)}
OF_ONE: Mapping[str, Callable[..., Array]] = {"Neg": _by(np.negative), "Abs": _by(np.abs)}
ROUNDINGS: Mapping[str, Callable[..., Array]] = {"Floor": _by(np.floor), "Ceil": _by(np.ceil), "Round": _by(np.rint)}
FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    **CONDITIONS,
    **TESTS,
    **LOGIC,
    **OF_BITS,
    **SUMS,
    **CHOICES,
    **PRODUCTS,
    **QUOTIENTS,
    **OF_ONE,
    **ROUNDINGS,
    "Not": np.logical_not,
    "BitwiseNot": np.invert,
    "Where": lambda condition, yes, no: np.asarray(np.where(condition, yes, no), yes.dtype),
}
