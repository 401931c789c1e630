"""ONNX's plain functions of single elements: arithmetic, comparison, logic, rounding, trigonometry, bits.

Source of their meaning: the ONNX operator schemas, opsets 7 to 28 (before 7: limited_broadcast.py). Operands broadcast; integers
wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.graph import special_functions
from tilewright.graph.builders.elementwise import has_simple_power, power_body
from tilewright.graph.definition import define
from tilewright.graph.numpy_types import in_operand_type, is_short_float
from tilewright.graph.scalar import Literal, Load, Scalar, apply, subexpressions
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

Meaning = Callable[..., Any]
_X, _Y = Load(0), Load(1)


ARITHMETIC: Mapping[str, tuple[Meaning, Scalar]] = MappingProxyType(
    {
        "Abs": (np.abs, apply("abs", _X)),
        "Add": (np.add, apply("add", _X, _Y)),
        "Ceil": (np.ceil, apply("ceil", _X)),
        "Floor": (np.floor, apply("floor", _X)),
        "Mul": (np.multiply, apply("multiply", _X, _Y)),
        "Neg": (np.negative, apply("negative", _X)),
        "Round": (np.rint, apply("round", _X)),
        "Sign": (np.sign, apply("sign", _X)),
        "Sub": (np.subtract, apply("subtract", _X, _Y)),
    }
)
"""The meaning and the body of functions whose results have the operands' type."""

REAL: Mapping[str, tuple[Meaning, Scalar]] = MappingProxyType(
    {
        "Erf": (special_functions.erf, apply("erf", _X)),
        "Exp": (np.exp, apply("exp", _X)),
        "Log": (np.log, apply("log", _X)),
        "Reciprocal": (lambda x: 1 / x, apply("reciprocal", _X)),
        "Sigmoid": (special_functions.sigmoid, apply("sigmoid", _X)),
        "Sqrt": (np.sqrt, apply("sqrt", _X)),
        "Tanh": (np.tanh, apply("tanh", _X)),
        "Acos": (np.arccos, apply("acos", _X)),
        "Acosh": (np.arccosh, apply("acosh", _X)),
        "Asin": (np.arcsin, apply("asin", _X)),
        "Asinh": (np.arcsinh, apply("asinh", _X)),
        "Atan": (np.arctan, apply("atan", _X)),
        "Atanh": (np.arctanh, apply("atanh", _X)),
        "Cos": (np.cos, apply("cos", _X)),
        "Cosh": (np.cosh, apply("cosh", _X)),
        "Sin": (np.sin, apply("sin", _X)),
        "Sinh": (np.sinh, apply("sinh", _X)),
        "Tan": (np.tan, apply("tan", _X)),
    }
)
"""Those of floating-point numbers alone."""

COMPARISONS: Mapping[str, tuple[Meaning, Scalar]] = MappingProxyType(
    {
        "Equal": (np.equal, apply("equal", _X, _Y)),
        "Greater": (np.greater, apply("greater", _X, _Y)),
        "GreaterOrEqual": (np.greater_equal, apply("greater_equal", _X, _Y)),
        "Less": (np.less, apply("less", _X, _Y)),
        "LessOrEqual": (np.less_equal, apply("less_equal", _X, _Y)),
    }
)

LOGIC: Mapping[str, tuple[Meaning, Scalar]] = MappingProxyType(
    {
        "And": (np.logical_and, apply("logical_and", _X, _Y)),
        "Not": (np.logical_not, apply("logical_not", _X)),
        "Or": (np.logical_or, apply("logical_or", _X, _Y)),
        "Xor": (np.logical_xor, apply("logical_xor", _X, _Y)),
    }
)

BITS: Mapping[str, tuple[Meaning, Scalar]] = MappingProxyType(
    {
        "BitwiseAnd": (np.bitwise_and, apply("bitwise_and", _X, _Y)),
        "BitwiseNot": (np.invert, apply("bitwise_not", _X)),
        "BitwiseOr": (np.bitwise_or, apply("bitwise_or", _X, _Y)),
        "BitwiseXor": (np.bitwise_xor, apply("bitwise_xor", _X, _Y)),
    }
)


def mapped(body: Scalar, name: str, dtype: str | None = None) -> Callable[..., Tensor]:
    """The lowering to one map with a body over the operands in order."""

    def lower(builder: Builder, *operands: Tensor) -> Tensor:
        return builder.body(body, *operands, dtype=dtype, kind=name.lower())

    return lower


def _documented(meaning: Meaning, text: str) -> Meaning:
    """A function of one or two arrays, without the keywords that NumPy's own have."""

    def evaluate(*operands: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(meaning(*operands))

    evaluate.__doc__ = text
    return evaluate


def lower_equal(builder: Builder, x: Tensor, y: Tensor) -> Tensor:
    """One map; truth values are compared by logic."""
    body = apply("logical_not", apply("logical_xor", _X, _Y)) if x.dtype == "bool" else apply("equal", _X, _Y)
    return builder.body(body, x, y, dtype="bool", kind="equal")


# Division


def divide(x: Any, y: Any) -> Any:
    """The quotient; of integers, rounded towards 0, and 0 where the divisor is."""
    if not np.issubdtype(x.dtype, np.integer):
        return x / y
    with np.errstate(all="ignore"):
        return np.floor_divide(x - np.fmod(x, y), y)


def lower_divide(builder: Builder, x: Tensor, y: Tensor) -> Tensor:
    """One map; of integers, what the remainder leaves is divided."""
    if not is_integer(x):
        return builder.map("divide", x, y)
    whole = apply("subtract", _X, apply("fmod", _X, _Y))
    return builder.body(apply("floor_divide", whole, _Y), x, y, kind="div")


def is_integer(x: Tensor) -> bool:
    """Whether the elements are whole numbers."""
    return x.dtype.startswith(("int", "uint"))


def mod(x: Any, y: Any, *, fmod: int = 0) -> Any:
    """The remainder of the quotient rounded down (it has the sign of y), or with `fmod` towards 0 (it has the sign of x)."""
    with np.errstate(all="ignore"):
        return (np.fmod if fmod else np.mod)(x, y)


def lower_mod(builder: Builder, x: Tensor, y: Tensor, *, fmod: int = 0) -> Tensor:
    """One map."""
    return builder.map("fmod" if fmod else "mod", x, y)


# Powers


def power(x: Any, y: Any) -> Any:
    """`x ** y` in the common type of both, converted to the type of x; whole powers of integers wrap."""
    with np.errstate(all="ignore"):
        if all(np.issubdtype(one.dtype, np.integer) for one in (x, y)):
            return np.where(y < 0, np.power(x.astype(np.float64), y), np.power(x, np.maximum(y, 0))).astype(x.dtype)
        wide = [one.astype(np.float32) if is_short_float(one.dtype) else one for one in (x, y)]
        return np.asarray(np.power(*wide)).astype(x.dtype)


def lower_power(builder: Builder, x: Tensor, y: Tensor) -> Tensor:
    """One map; a known power that is a multiple of 1/2 is made of products and a square root."""
    if is_integer(x) and not is_integer(y):
        raise UnsupportedOperation("Pow of integers to powers that are none", why="they are computed in a third type")
    exponent = builder.known.get(y.name)
    if exponent is not None and not y.shape and not is_integer(x) and has_simple_power(float(exponent)):
        return builder.body(power_body(float(exponent)), x, kind="pow")
    return builder.map("pow", x, y, dtype=x.dtype)


# Bits


def bit_shift(x: Any, y: Any, *, direction: str) -> Any:
    """x with its bits moved by y places; signed numbers keep their sign to the right.

    By a negative number of places, or as many as there are bits, nothing but copies of the sign (right) or 0 (left) is left.
    """
    bits = 8 * x.dtype.itemsize
    inside = (y >= 0) & (y < bits)
    places = np.where(inside, y, 0).astype(x.dtype)
    if direction == "LEFT":
        return np.where(inside, np.left_shift(x, places), 0).astype(x.dtype)
    return np.where(inside, np.right_shift(x, places), np.where(x < 0, -1, 0)).astype(x.dtype)


def lower_bit_shift(builder: Builder, x: Tensor, y: Tensor, *, direction: str) -> Tensor:
    """One map."""
    bits, zero = Literal(float(np.dtype(x.dtype).itemsize * 8)), Literal(0.0)
    inside = apply("logical_and", apply("greater_equal", _Y, zero), apply("less", _Y, bits))
    places = apply("where", inside, _Y, zero)
    moved = apply("left_shift" if direction == "LEFT" else "right_shift", _X, places)
    is_signed = direction == "RIGHT" and x.dtype.startswith("int")
    rest = apply("where", apply("less", _X, zero), Literal(-1.0), zero) if is_signed else zero
    return builder.body(apply("where", inside, moved, rest), x, y, kind="bit_shift")


# Any number of operands


def _folded(function: Callable[[Any, Any], Any], text: str) -> Meaning:
    def evaluate(first: Any, *others: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(reduce(function, others, first))

    evaluate.__doc__ = text
    return evaluate


def mean(first: Any, *others: Any) -> Any:
    """The mean of the operands, element by element."""
    return reduce(np.add, others, first) / (1 + len(others))


def folded(function: str, count: int) -> Scalar:
    """A function of two numbers over many: of the first two, then of that and the third, ...

    >>> folded("add", 3)
    Apply(function='add', operands=(Apply(function='add', operands=(Load(read=0), Load(read=1))), Load(read=2)))
    """
    start: Scalar = Load(0)
    return reduce(lambda body, read: apply(function, body, Load(read)), range(1, count), start)


def _lower_folded(function: str) -> Callable[..., Tensor]:
    def lower(builder: Builder, first: Tensor, *others: Tensor) -> Tensor:
        return builder.body(folded(function, 1 + len(others)), first, *others, kind=function) if others else first

    return lower


def lower_mean(builder: Builder, first: Tensor, *others: Tensor) -> Tensor:
    """One map: a sum and a quotient."""
    count = 1 + len(others)
    return builder.body(apply("divide", folded("add", count), Literal(float(count))), first, *others, kind="mean")


# Where, and what kind of number it is


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition is true, else y."""
    return np.where(condition, x, y)


def lower_where(builder: Builder, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """One map; truth values are chosen by logic."""
    if x.dtype != "bool":
        return builder.map("where", condition, x, y, dtype=x.dtype)
    chosen = apply("logical_and", _X, _Y)
    other = apply("logical_and", apply("logical_not", _X), Load(2))
    return builder.body(apply("logical_or", chosen, other), condition, x, y, dtype="bool", kind="where")


def is_nan(x: Any) -> Any:
    """Whether it is not a number."""
    return np.isnan(x)


def is_infinite(x: Any, *, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    """Whether it is an infinity of a sign that is asked for."""
    return (x == np.inf) & bool(detect_positive) | (x == -np.inf) & bool(detect_negative)


def lower_is_infinite(builder: Builder, x: Tensor, *, detect_negative: int = 1, detect_positive: int = 1) -> Tensor:
    """One map."""
    if detect_negative and detect_positive:
        body = apply("isinf", _X)
    elif detect_negative or detect_positive:
        body = apply("equal", _X, Literal(np.inf if detect_positive else -np.inf))
    else:
        body = apply("less", apply("abs", _X), Literal(0.0))
    return builder.body(body, x, dtype="bool", kind="isinf")


# Bounds


def clip_between(x: Any, *, min: float = -np.inf, max: float = np.inf) -> Any:
    """`minimum(maximum(x, min), max)` with numbers as bounds."""
    return np.minimum(np.maximum(x, x.dtype.type(min)), x.dtype.type(max))


def lower_clip_between(builder: Builder, x: Tensor, *, min: float = -np.inf, max: float = np.inf) -> Tensor:
    """One map."""
    return builder.map("clip", x, min, max)


def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """`minimum(maximum(x, min), max)`; a bound may be left out."""
    x = x if min is None else np.maximum(x, min)
    return x if max is None else np.minimum(x, max)


def lower_clip(builder: Builder, x: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    """One map."""
    if min is not None and max is not None:
        return builder.map("clip", x, min, max)
    x = x if min is None else builder.map("maximum", x, min)
    return x if max is None else builder.map("minimum", x, max)


def _since(body: Scalar) -> int:
    """The version of a function: two operands broadcast as in NumPy from opset 7 on."""
    return 7 if _Y in subexpressions(body) else 1


def _define_tables() -> None:
    for name, (meaning, body) in {**ARITHMETIC, **BITS}.items():
        define(name, _documented(meaning, f"`{name}`, in the operands' type."), mapped(body, name), since=_since(body))
    for name, (meaning, body) in REAL.items():
        real = in_operand_type(_documented(meaning, f"`{name}`, in the operand's type."))
        define(name, real, mapped(body, name))
    for name, (meaning, body) in COMPARISONS.items():
        lower = lower_equal if name == "Equal" else mapped(body, name, "bool")
        define(name, _documented(meaning, f"Whether `{name}` holds of x and y."), lower, since=_since(body))
    for name, (meaning, body) in LOGIC.items():
        define(name, _documented(meaning, f"`{name}` of truth values."), mapped(body, name, "bool"), since=_since(body))


_define_tables()
define("Div", in_operand_type(divide), lower_divide, since=7)
define("Mod", mod, lower_mod, since=10)
define("Pow", power, lower_power, since=7)
define("BitShift", bit_shift, lower_bit_shift, since=11)
define("Max", _folded(np.maximum, "The largest of the operands; NaN if one of them is."), _lower_folded("maximum"))
define("Min", _folded(np.minimum, "The smallest of the operands; NaN if one of them is."), _lower_folded("minimum"))
define("Sum", _folded(np.add, "The sum of the operands."), _lower_folded("add"))
define("Mean", in_operand_type(mean), lower_mean)
define("Where", where, lower_where, since=9)
define("IsNaN", is_nan, mapped(apply("isnan", _X), "IsNaN", "bool"), since=9)
define("IsInf", is_infinite, lower_is_infinite, since=10)
define("Clip", clip_between, lower_clip_between)
define("Clip", clip, lower_clip, since=11)
