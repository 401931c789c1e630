"""Cast, CastLike and BitCast: the same elements, or the same bits, in another type.

Numbers become truth values where they are not 0; floating-point numbers lose their fraction where they become integers; what a
float8 type cannot hold becomes its largest number, or what the type makes of it without `saturate`.

Of texts ONNX names only the forms that they may have; what is written is what onnxruntime writes, 8 digits at most.
"""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.errors import DTypeError, ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import onnx_function, onnx_operator
from tilewright.frontend.onnx.element_types import BITS, element_type
from tilewright.frontend.onnx.operators.operands import Call, Composed, Known
from tilewright.graph.builders.builder import Builder
from tilewright.graph.exactness import IN_FLOAT32, SHORT_TYPES
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.numpy_types import rounded_once
from tilewright.graph.types import Tensor

DIGITS = 8
WHOLE = re.compile(r"\s*[+-]?\d+\s*")
LEAST_WHOLE, MOST_WHOLE = -(2**63), 2**64 - 1
"""Of whole numbers; those beyond a narrower type lose their upper bits."""
NOT_FINITE = {"nan": "NaN", "inf": "INF", "-inf": "-INF"}


def text_of(value: Any) -> str:
    """A text, decoded."""
    return value.decode() if isinstance(value, bytes) else str(value)


def texts_of(x: Any) -> Any:
    """Every element as a text.

    >>> texts_of(np.array([1.5, 2, 1 / 3, 1e20, -np.inf], np.float32)).tolist(), texts_of(np.array([True])).tolist()
    (['1.5', '2', '0.33333334', '1e+20', '-INF'], ['1'])
    """
    if x.dtype == object:
        return x
    x = x.astype(np.uint8) if x.dtype.kind == "b" else x
    written = str if x.dtype.kind in "iu" or "int" in x.dtype.name else _real
    return np.array([written(element) for element in x.reshape(-1)], object).reshape(x.shape)


def numbers_of(x: Any, target: np.dtype[Any]) -> Any:
    """Texts as numbers that can be converted to a type: exact whole ones, or float64. Raises `DTypeError` for other texts.

    >>> numbers_of(np.array(["9007199254740993", "1.5", "-1"], object), np.dtype("int64")).astype("int64").tolist()
    [9007199254740993, 1, -1]
    """
    read = _whole_number if target.kind in "iu" else _number
    values = [read(text_of(element), target) for element in x.reshape(-1)]
    return np.array(values, np.uint64 if target.kind in "iu" else np.float64).reshape(x.shape)


def _real(element: Any) -> str:
    text = f"{float(element):.{DIGITS}g}"
    return NOT_FINITE.get(text, text)


def _number(text: str, target: np.dtype[Any]) -> float:
    try:
        return float(text)
    except ValueError:
        raise _refused(text, target) from None


def _whole_number(text: str, target: np.dtype[Any]) -> int:
    """A whole number without its fraction, modulo 2^64."""
    number = int(text) if WHOLE.fullmatch(text) else _number(text, target)
    if not LEAST_WHOLE <= number <= MOST_WHOLE:
        raise _refused(text, target)
    return int(number) % 2**64


def _refused(text: str, target: np.dtype[Any]) -> DTypeError:
    return DTypeError(f"Cast of the text {text!r} to {target.name}", where="Cast", why="it is no such number")


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
    if target.name not in ("int4", "int2", "uint4", "uint2") or x.dtype.kind not in "iu":
        return x
    bits = BITS[target.name]
    low = x.astype(np.int64) & ((1 << bits) - 1)
    return np.where(low >> (bits - 1), low - (1 << bits), low) if target.name.startswith("int") else low


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


GENERATED = frozenset(
    ("bool", "float16", "bfloat16", "float32", "float64", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
)
"""Types between which maps convert."""


@onnx_operator("Cast", since=6)
class Cast:
    """The same elements in another type; extents that are known at run time stay what they are."""

    to: int | np.dtype[Any]
    """ONNX's number of a type, or the type that another operand has."""
    saturate: int = 1
    round_mode: str = "up"

    def reference(self, x: Any) -> Any:
        if x.dtype == object and any(not isinstance(element, str | bytes) for element in x.reshape(-1)):
            return x
        return converted(x, element_type(self.to), bool(self.saturate), text_of(self.round_mode))

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A map that reads one type and writes another; known values stay known."""
        target = element_type(self.to).name
        if x.dtype != target and {x.dtype, target} & SHORT_TYPES:
            return self._lower_short(builder, x, target)
        if "object" in (x.dtype, target):
            raise UnsupportedOperation("Cast from or to strings in generated code")
        if x.dtype not in GENERATED or target not in GENERATED:
            raise UnsupportedOperation(f"Cast from {x.dtype} to {target} in generated code")
        if target == "bool" and x.dtype != "bool":
            return builder.body(apply("not_equal", Load(0), Literal(0.0)), x, dtype="bool", kind="cast")
        result = builder.cast(x, target)
        if x.name in builder.known:
            builder.known[result.name] = Cast(to=self.to).reference(builder.known[x.name])
        return result

    def _lower_short(self, builder: Builder, x: Tensor, target: str) -> Tensor:
        """A map in float32 between types of which one has 8 bits or fewer; floats of 8 bits are held to their range."""
        if not {x.dtype, target} <= IN_FLOAT32 or target == "bool":
            raise UnsupportedOperation(f"Cast from {x.dtype} to {target} in generated code")
        body: Scalar = Load(0)
        if target == POWER:
            body = lowered_power(body, text_of(self.round_mode), bool(self.saturate))
        elif self.saturate and target.startswith("float8"):
            most = float(ml_dtypes.finfo(element_type(self.to)).max)  # type: ignore[no-untyped-call]
            body = apply("minimum", apply("maximum", body, Literal(-most)), Literal(most))
        return builder.body(body, x, dtype=target, accumulator="float32", kind="cast")


@onnx_operator("CastLike", since=15)
class CastLike(Composed):
    """The same elements in the type of a second operand."""

    saturate: int = 1
    round_mode: str = "up"

    def composed(self, call: Call, known: Known, x: Any, target: Any) -> Any:
        return call(Cast(to=target.dtype, saturate=self.saturate, round_mode=self.round_mode))(x)


@onnx_function("BitCast", since=26)
def bit_cast(x: Any, *, to: Any) -> Any:
    """The same bits as elements of another type of the same width."""
    target = element_type(to)
    if target.hasobject or x.dtype.hasobject or _bits(target) != _bits(x.dtype):
        raise ShapeError(f"the bits of {x.dtype} as {target}", where="BitCast", why="the types are not equally wide")
    return np.ascontiguousarray(x).view(target).reshape(x.shape)


def _bits(dtype: np.dtype[Any]) -> int:
    return BITS.get(dtype.name, dtype.itemsize * 8)
