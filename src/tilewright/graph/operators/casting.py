"""Cast, CastLike and BitCast of ONNX: the same elements in another type.

Numbers become truth values where they are not 0; floating-point numbers lose their fraction where they become integers; what a
float8 type cannot hold becomes its largest number, or what the type makes of it without `saturate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.element_types import element_type
from tilewright.graph.scalar import Literal, Load, apply
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

GENERATED = frozenset(
    ("bool", "float16", "bfloat16", "float32", "float64", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
)
"""Types between which maps convert."""
POWER = "float8_e8m0fnu"
"""Powers of two alone."""


def converted(x: Any, target: np.dtype[Any], saturate: bool = True, round_mode: str = "up") -> Any:
    """An array in another element type."""
    if target.hasobject:
        return _texts(x)
    if x.dtype.hasobject:
        x = np.array([float(_text(one)) for one in x.reshape(-1)], np.float64).reshape(x.shape)
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
        return x.astype(target)


def _in_range(x: Any, target: np.dtype[Any]) -> Any:
    """Values as a narrow type takes them: floating-point ones wide enough, integers by their lowest bits."""
    if target.name in ("int4", "int2") and x.dtype.kind in "iu":
        bits = int(target.name[3:])
        low = x.astype(np.int64) & ((1 << bits) - 1)
        return np.where(low >> (bits - 1), low - (1 << bits), low)
    if target.name in ("uint4", "uint2") and x.dtype.kind in "iu":
        return x.astype(np.int64) & ((1 << int(target.name[4:])) - 1)
    return x


def _powers(x: Any, round_mode: str, saturate: bool) -> Any:
    """The power of two above, below, or nearest to a positive number; 0 becomes the least one."""
    bits = np.abs(x).view(np.uint32)
    exponent, rest = (bits >> 23).astype(np.int64), bits & 0x7FFFFF
    up = rest > 0 if round_mode == "up" else rest >= 0x400000 if round_mode == "nearest" else np.zeros(x.shape, bool)
    codes = exponent + up
    most = 254 if saturate else 255
    codes = np.where(np.isnan(x), 255, np.minimum(codes, most))
    return codes.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _texts(x: Any) -> Any:
    """Numbers as the shortest text that says which one it is."""
    if x.dtype == object:
        return x
    texts = [str(one) for one in x.reshape(-1)]
    return np.array(texts, object).reshape(x.shape)


def cast_meaning(x: Any, *, to: Any, saturate: int = 1, round_mode: str = "up") -> Any:
    """The same by NumPy; extents that are known at run time stay what they are."""
    if x.dtype == object and any(not isinstance(one, str | bytes) for one in x.reshape(-1)):
        return x
    return converted(x, element_type(to), bool(saturate), _text(round_mode))


def cast_lower(builder: Builder, x: Tensor, *, to: Any, saturate: int = 1, round_mode: str = "up") -> Tensor:
    """A map that reads one type and writes another; known contents stay known."""
    target = element_type(to).name
    if x.dtype not in GENERATED or target not in GENERATED:
        raise UnsupportedOperation(f"Cast from {x.dtype} to {target} in generated code")
    if target == "bool" and x.dtype != "bool":
        return builder.body(apply("not_equal", Load(0), Literal(0.0)), x, dtype="bool", kind="cast")
    result = builder.cast(x, target)
    if x.name in builder.known:
        builder.known[result.name] = cast_meaning(builder.known[x.name], to=to)
    return result


def like_meaning(x: Any, target: Any, *, saturate: int = 1, round_mode: str = "up") -> Any:
    """In the type of another array."""
    return cast_meaning(x, to=target.dtype, saturate=saturate, round_mode=round_mode)


def like_lower(builder: Builder, x: Tensor, target: Tensor, *, saturate: int = 1, round_mode: str = "up") -> Tensor:
    """In the type of another tensor."""
    return cast_lower(builder, x, to=target.dtype, saturate=saturate, round_mode=round_mode)


def bit_cast_meaning(x: Any, *, to: Any) -> Any:
    """The same bits as elements of another type of the same width."""
    target = element_type(to)
    if target.hasobject or x.dtype.hasobject or _bits(target) != _bits(x.dtype):
        raise ShapeError(f"the bits of {x.dtype} as {target}", where="BitCast", why="the types are not equally wide")
    return np.ascontiguousarray(x).view(target).reshape(x.shape)


def _bits(dtype: np.dtype[Any]) -> int:
    digits = dtype.name.removeprefix("u").removeprefix("int")
    return int(digits) if digits in ("2", "4") else 4 if dtype.name.startswith("float4") else dtype.itemsize * 8


def _plain_meaning(x: Any, *, to: Any) -> Any:
    """The same by NumPy."""
    return cast_meaning(x, to=to)


def _plain_lower(builder: Builder, x: Tensor, *, to: Any) -> Tensor:
    return cast_lower(builder, x, to=to)


define("Cast", _plain_meaning, _plain_lower, since=6)
define("Cast", cast_meaning, cast_lower, since=19)
define("CastLike", like_meaning, like_lower, since=15)
define("BitCast", bit_cast_meaning, since=26)
