"""Functions of single elements: arithmetic, logic, comparisons, bits, and functions of real numbers.

Operands broadcast; integers wrap. Functions without attributes are one class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph import scalar_functions
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import CHOSEN_TRUTH, body_of
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.scalar_functions import FUNCTIONS
from tilewright.graph.types import Tensor

BROADCASTING = 7
"""The opset from which on both operands broadcast, as in NumPy."""


@dataclass(frozen=True, slots=True)
class ElementFunction:
    """A function of one or two arrays."""

    kind: str
    numpy: Callable[..., Any]
    function: str
    """The scalar function at every point."""
    dtype: str | None = None
    """The type of the result; None is that of the operands."""

    def reference(self, *operands: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(self.numpy(*operands))

    def lower(self, builder: Builder, *operands: Tensor) -> Tensor:
        return builder.body(body_of(self.function), *operands, dtype=self.dtype, kind=self.kind)


def define_functions(
    functions: Mapping[str, tuple[Callable[..., Any], str]], dtype: str | None = None, since: int | None = None
) -> None:
    """Define operators that are NumPy's functions and scalar functions: `since` 1 or, of two operands, `BROADCASTING`."""
    for name, (numpy, function) in functions.items():
        first = since or (BROADCASTING if FUNCTIONS[function].arity == 2 else 1)
        define(name, ElementFunction, name.lower(), numpy, function, dtype, since=first)


class Equal:
    """Whether elements are equal, truth values included."""

    def reference(self, x: Any, y: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(np.equal(x, y))

    def lower(self, builder: Builder, x: Tensor, y: Tensor) -> Tensor:
        """One map; truth values are compared by logic."""
        is_equal = apply("equal", Load(0), Load(1))
        body = apply("logical_not", apply("logical_xor", Load(0), Load(1))) if x.dtype == "bool" else is_equal
        return builder.body(body, x, y, dtype="bool", kind="equal")


_X, _Y, _ZERO = Load(0), Load(1), Literal(0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BitShift:
    """x with its bits moved by y places; signed numbers keep their sign to the right.

    By a negative number of places, or as many as there are bits, nothing but copies of the sign (right) or 0 (left) is left.
    """

    direction: str

    def reference(self, x: Any, y: Any) -> Any:
        inside = (y >= 0) & (y < 8 * x.dtype.itemsize)
        places = np.where(inside, y, 0).astype(x.dtype)
        if self.direction == "LEFT":
            return np.where(inside, np.left_shift(x, places), 0).astype(x.dtype)
        return np.where(inside, np.right_shift(x, places), np.where(x < 0, -1, 0)).astype(x.dtype)

    def lower(self, builder: Builder, x: Tensor, y: Tensor) -> Tensor:
        bits = Literal(float(np.dtype(x.dtype).itemsize * 8))
        inside = apply("logical_and", apply("greater_equal", _Y, _ZERO), apply("less", _Y, bits))
        places = apply("where", inside, _Y, _ZERO)
        moved = apply("left_shift" if self.direction == "LEFT" else "right_shift", _X, places)
        is_signed = self.direction == "RIGHT" and x.dtype.startswith("int")
        rest = apply("where", apply("less", _X, _ZERO), Literal(-1.0), _ZERO) if is_signed else _ZERO
        return builder.body(apply("where", inside, moved, rest), x, y, kind="bit_shift")


@dataclass(frozen=True, slots=True)
class RealFunction:
    """A function of one array, which may be of short floating-point numbers."""

    function: str
    """The scalar function at every point, or the name of `body`."""
    numpy: Callable[[Any], Any]
    body: Scalar | None = None

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return self.numpy(x)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.body(self.body or body_of(self.function), x, kind=self.function)


@dataclass(frozen=True, slots=True, kw_only=True)
class IsInf:
    """Whether it is an infinity of a sign that is asked for."""

    detect_negative: int = 1
    detect_positive: int = 1

    def reference(self, x: Any) -> Any:
        return (x == np.inf) & bool(self.detect_positive) | (x == -np.inf) & bool(self.detect_negative)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.body(self._body(), x, dtype="bool", kind="isinf")

    def _body(self) -> Scalar:
        if self.detect_negative and self.detect_positive:
            return apply("isinf", Load(0))
        if self.detect_negative or self.detect_positive:
            return apply("equal", Load(0), Literal(np.inf if self.detect_positive else -np.inf))
        return apply("less", apply("abs", Load(0)), Literal(0.0))


class Where:
    """x where the condition is true, else y."""

    def reference(self, condition: Any, x: Any, y: Any) -> Any:
        return np.where(condition, x, y)

    def lower(self, builder: Builder, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """One map; truth values are chosen by logic."""
        if x.dtype != "bool":
            return builder.map("where", condition, x, y, dtype=x.dtype)
        return builder.body(CHOSEN_TRUTH, condition, x, y, dtype="bool", kind="where")


LARGEST = float(np.finfo(np.float32).max)
"""The bounds of Clip-6 are -LARGEST and LARGEST for operands of every type. In float16 both mean infinity, hence no bound."""


class Clip:
    """`minimum(maximum(x, low), high)`; a bound may be left out."""

    def reference(self, x: Any, low: Any = None, high: Any = None) -> Any:
        x = x if low is None else np.maximum(x, low)
        return x if high is None else np.minimum(x, high)

    def lower(self, builder: Builder, x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
        if low is not None and high is not None:
            return builder.map("clip", x, low, high)
        x = x if low is None else builder.map("maximum", x, low)
        return x if high is None else builder.map("minimum", x, high)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipBefore6:
    """`minimum(maximum(x, min), max)` with numbers as bounds."""

    min: float = -np.inf
    max: float = np.inf

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return np.minimum(np.maximum(x, self.min), self.max)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.map("clip", x, self.min, self.max)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipBefore11(ClipBefore6):
    """The same, within float32's ends where no numbers are given."""

    min: float = -LARGEST
    max: float = LARGEST


define_functions(
    {
        "Abs": (np.abs, "abs"),
        "Add": (np.add, "add"),
        "Ceil": (np.ceil, "ceil"),
        "Floor": (np.floor, "floor"),
        "Mul": (np.multiply, "multiply"),
        "Neg": (np.negative, "negative"),
        "Sub": (np.subtract, "subtract"),
    }
)
define_functions({"Sign": (np.sign, "sign")}, since=9)
define_functions({"Round": (np.rint, "round")}, since=11)
define_functions(
    {
        "And": (np.logical_and, "logical_and"),
        "Not": (np.logical_not, "logical_not"),
        "Or": (np.logical_or, "logical_or"),
        "Xor": (np.logical_xor, "logical_xor"),
    },
    dtype="bool",
)
define("Equal", Equal, since=BROADCASTING)
define_functions({"Greater": (np.greater, "greater"), "Less": (np.less, "less")}, dtype="bool")
define_functions(
    {"GreaterOrEqual": (np.greater_equal, "greater_equal"), "LessOrEqual": (np.less_equal, "less_equal")}, dtype="bool", since=12
)
define("BitShift", BitShift, since=11)
define_functions(
    {
        "BitwiseAnd": (np.bitwise_and, "bitwise_and"),
        "BitwiseNot": (np.invert, "bitwise_not"),
        "BitwiseOr": (np.bitwise_or, "bitwise_or"),
        "BitwiseXor": (np.bitwise_xor, "bitwise_xor"),
    },
    since=18,
)
define("Acos", RealFunction, "acos", np.arccos, since=7)
define("Acosh", RealFunction, "acosh", np.arccosh, since=9)
define("Asin", RealFunction, "asin", np.arcsin, since=7)
define("Asinh", RealFunction, "asinh", np.arcsinh, since=9)
define("Atan", RealFunction, "atan", np.arctan, since=7)
define("Atanh", RealFunction, "atanh", np.arctanh, since=9)
define("Cos", RealFunction, "cos", np.cos, since=7)
define("Cosh", RealFunction, "cosh", np.cosh, since=9)
define("Erf", RealFunction, "erf", scalar_functions.erf, since=9)
define("Exp", RealFunction, "exp", np.exp)
define("Log", RealFunction, "log", np.log)
define("Reciprocal", RealFunction, "reciprocal", lambda x: 1 / x)
define("Sigmoid", RealFunction, "sigmoid", scalar_functions.sigmoid)
define("Sin", RealFunction, "sin", np.sin, since=7)
define("Sinh", RealFunction, "sinh", np.sinh, since=9)
define("Sqrt", RealFunction, "sqrt", np.sqrt)
define("Tan", RealFunction, "tan", np.tan, since=7)
define("Tanh", RealFunction, "tanh", np.tanh)
define("IsInf", IsInf, since=10)
define("IsNaN", ElementFunction, "isnan", np.isnan, "isnan", "bool", since=9)
define("Where", Where, since=9)
define("Clip", ClipBefore6)
define("Clip", ClipBefore11, since=6)
define("Clip", Clip, since=11)
