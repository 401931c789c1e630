"""Cast, CastLike and BitCast: the same elements, or the same bits, in another type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.operators.tensor.conversion import POWER, converted, lowered_power, text_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.exactness import IN_FLOAT32, SHORT_TYPES
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import Tensor

GENERATED = frozenset(
    ("bool", "float16", "bfloat16", "float32", "float64", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
)
"""Types between which maps convert."""


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CastLike:
    """The same elements in the type of a second operand."""

    saturate: int = 1
    round_mode: str = "up"

    def reference(self, x: Any, target: Any) -> Any:
        return self._cast(target.dtype).reference(x)

    def lower(self, builder: Builder, x: Tensor, target: Tensor) -> Tensor:
        return self._cast(target.dtype).lower(builder, x)

    def _cast(self, dtype: Any) -> Cast:
        return Cast(to=dtype, saturate=self.saturate, round_mode=self.round_mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class BitCast:
    """The same bits as elements of another type of the same width."""

    to: int

    def reference(self, x: Any) -> Any:
        target = element_type(self.to)
        if target.hasobject or x.dtype.hasobject or _bits(target) != _bits(x.dtype):
            raise ShapeError(f"the bits of {x.dtype} as {target}", where="BitCast", why="the types are not equally wide")
        return np.ascontiguousarray(x).view(target).reshape(x.shape)


def _bits(dtype: np.dtype[Any]) -> int:
    digits = dtype.name.removeprefix("u").removeprefix("int")
    return int(digits) if digits in ("2", "4") else 4 if dtype.name.startswith("float4") else dtype.itemsize * 8


define("Cast", Cast, since=6)
define("CastLike", CastLike, since=15)
define("BitCast", BitCast, since=26)
