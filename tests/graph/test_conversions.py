"""Which conversions keep every value, for all pairs of types: by every code of short types, and by the extremes of long ones."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tilewright.graph.exactness import SHORT_TYPES
from tilewright.graph.numpy_types import is_lossless, numbers_of, rounded_once

INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
TYPES = ("bool", *INTEGERS, "float16", "bfloat16", "float32", "float64", *sorted(SHORT_TYPES))
EXPONENTS = (*range(5), 7, 8, 11, 15, 16, 24, 31, 32, 53, 62, 63, 64, 127, -1, -9, -24, -25, -126, -133, -149, -150, -1074, 1023)


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def values_of(name: str) -> np.ndarray:
    """All elements of types of up to 16 bits, of others those at powers of two and beside them, and the extremes."""
    dtype = dtype_of(name)
    if name == "bool":
        return np.array([False, True])
    if name in ("int2", "int4", "uint2", "uint4"):
        limits = ml_dtypes.iinfo(name)  # type: ignore[no-untyped-call]
        return np.arange(int(limits.min), int(limits.max) + 1).astype(dtype)
    if name == "float4_e2m1fn":
        return np.arange(16, dtype=np.uint8).view(dtype)
    if dtype.itemsize <= 2:
        return np.arange(1 << (8 * dtype.itemsize), dtype=f"u{dtype.itemsize}").view(dtype)
    if name in INTEGERS:
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        around = [sign * 2**e + step for e in EXPONENTS if 0 <= e < 64 for sign in (1, -1) for step in (-1, 0, 1)]
        return np.array([n for n in (*around, low, high) if low <= n <= high], dtype)
    with np.errstate(all="ignore"):
        powers = np.array([2.0**e for e in EXPONENTS]).astype(dtype)
        near = [np.nextafter(powers, dtype.type(0)), powers, np.nextafter(powers, dtype.type(np.inf))]
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, numbers_of(name).largest, numbers_of(name).lowest]
    return np.concatenate([*near, *(-one for one in near), np.array(special, dtype)])


def meaning(value: Any) -> Any:
    """A number, exactly, the sign of a zero included."""
    if isinstance(value, int | np.integer | bool | np.bool_):
        return Fraction(int(value))
    number = float(value)
    if number == 0 and np.signbit(number):
        return "-0"
    return Fraction(number) if np.isfinite(number) else str(number).replace("-nan", "nan")


def is_kept(source: str, target: str) -> bool:
    """Whether all these values are the same in the other type."""
    values = values_of(source)
    with np.errstate(all="ignore"):
        wide = _wide(values)
        converted = wide.astype(dtype_of(target))
        back = _wide(converted)
    if target == "bool" and source != "bool":
        return False
    if "int" in target and "int" not in source and source != "bool":
        return False
    return all(meaning(one) == meaning(other) for one, other in zip(_some(wide), _some(back), strict=True))


def _wide(values: np.ndarray) -> np.ndarray:
    """What NumPy has no type of its own for as a type that holds all of it."""
    if values.dtype.name in ("int2", "int4", "uint2", "uint4"):
        return values.astype(np.int8)
    return values.astype(np.float32) if values.dtype.name in SHORT_TYPES | {"bfloat16"} else values


def _some(values: np.ndarray) -> list[Any]:
    """Exact comparisons of 65,536 numbers take long: every 97th, and the ends."""
    few = np.concatenate([values[:300], values[300:-300:97], values[-300:]]) if len(values) > 700 else values
    return list(few.tolist())


@pytest.mark.parametrize("source", TYPES)
def test_lossless_conversions_are_those_that_keep_every_value(source: str) -> None:
    assert {to for to in TYPES if is_lossless(source, to)} == {to for to in TYPES if is_kept(source, to)}


def test_types_hold_what_they_say() -> None:
    for name in TYPES:
        numbers = [value for value in _wide(values_of(name)).tolist() if np.isfinite(value)]
        assert (min(numbers), max(numbers)) == (numbers_of(name).lowest, numbers_of(name).largest)


@pytest.mark.parametrize(
    ("value", "right"),
    [
        (1 + 2.0**-8, 1.0),
        (1 + 2.0**-8 + 2.0**-30, 1.0078125),
        (-(1 + 2.0**-8 + 2.0**-40), -1.0078125),
        (2.0**-150, 0.0),
        (2.0**-134, 0.0),
        (2.0**-134 * (1 + 2.0**-40), 2.0**-133),
        (3.3961775292304601e38, float("inf")),
        (3.396177529230459e38, 3.3895313892515355e38),
    ],
)
def test_doubles_become_bfloat16_by_one_rounding(value: float, right: float) -> None:
    assert float(rounded_once(np.float64(value), "bfloat16")) == right
