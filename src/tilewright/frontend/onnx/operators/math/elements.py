"""Functions of elements: arithmetic, logic, comparisons, bits, and functions of real numbers.

Operands broadcast; integers wrap. Functions without attributes are one class.

Max, Min, Sum and Mean take any number of operands.

Before opset 7, the second of two operands broadcasts only if an attribute says so, and from a given axis on: its shape is then a
contiguous part of the first operand's, which begins at `axis`, or is its end. Source: the ONNX operator schemas, opset 6
(Broadcasting in ONNX: "multidirectional" came with opset 7).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, asdict
from functools import reduce
from inspect import signature
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import InternalError, ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, define, definition, onnx_operator
from tilewright.frontend.onnx.operators.operands import Call, Composed, Known, Reshaped, in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import CHOSEN_TRUTH, body_of, computed, has_simple_power, power_body
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply, with_loads
from tilewright.graph.expressions.scalar_functions import FUNCTIONS
from tilewright.graph.numpy_types import number_of, widened
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Extent, Tensor
from tilewright.records import record

BROADCASTING = 7
"""The opset from which on both operands broadcast, as in NumPy."""


class Pointwise(ABC):
    """An operator that is one expression of its operands, which broadcast, at every point: by a kernel, or by NumPy."""

    __slots__ = ()
    kind: str
    dtype: str | None = None
    """The type of the result; None is that of the operands."""

    @abstractmethod
    def body(self, *operands: Any) -> Scalar:
        """The expression, for operands of the element types that these arrays or tensors have."""

    def reference(self, *operands: Any) -> Any:
        """Short floating-point numbers are computed in float32."""
        dtype = operands[0].dtype
        result = computed(self.body(*operands), [widened(x) for x in operands], lambda value: number_of(value, dtype))
        with np.errstate(over="ignore"):
            return np.asarray(result).astype(self.dtype or dtype, copy=False)

    def lower(self, builder: Builder, *operands: Tensor) -> Tensor:
        """One map."""
        return builder.body(self.body(*operands), *operands, dtype=self.dtype, kind=self.kind)


def pointwise(name: str, *, since: int = 1, dtype: str | None = None) -> Callable[[Callable[..., Scalar]], Callable[..., Scalar]]:
    """A function that gives an expression of an operator's operands as that operator.

    Its parameters are arrays or tensors, if it asks for these, and attributes: those by keyword alone, or with a default.
    """

    def decorate(body: Callable[..., Scalar]) -> Callable[..., Scalar]:
        parameters = signature(body).parameters.values()
        attributes = [one for one in parameters if one.kind is one.KEYWORD_ONLY or one.default is not one.empty]
        defaults = {one.name: one.default for one in attributes if one.default is not one.empty}
        count = len(parameters) - len(attributes)
        own: dict[str, Any] = {"__doc__": body.__doc__, "__module__": body.__module__, "dtype": dtype}
        own |= {"kind": body.__name__.strip("_"), "body": lambda self, *operands: body(*operands[:count], **asdict(self))}
        own |= {"__annotations__": {one.name: Any for one in attributes}} | defaults
        define(name, record(kw_only=True)(type(name, (Pointwise,), own)), since=since)
        return body

    return decorate


@record
class ElementFunction(Pointwise):
    """A scalar function of one or two arrays."""

    kind: str
    expression: Scalar
    dtype: str | None = None

    def body(self, *operands: Any) -> Scalar:
        return self.expression


def define_functions(functions: Mapping[str, str], dtype: str | None = None, since: int | None = None) -> None:
    """Define operators that are scalar functions: `since` 1 or, of two operands, `BROADCASTING`."""
    for name, function in functions.items():
        first = since or (BROADCASTING if FUNCTIONS[function].arity == 2 else 1)
        define(name, ElementFunction, name.lower(), body_of(function), dtype, since=first)


_X, _Y, _ZERO = Load(0), Load(1), Literal(0.0)


@pointwise("Equal", since=BROADCASTING, dtype="bool")
def equal(x: Any, y: Any) -> Scalar:
    """Whether elements are equal; truth values are compared by logic."""
    return apply("logical_not", apply("logical_xor", _X, _Y)) if x.dtype == "bool" else apply("equal", _X, _Y)


@pointwise("BitShift", since=11)
def bit_shift(x: Any, y: Any, *, direction: str) -> Scalar:
    """x with its bits moved by y places; signed numbers keep their sign to the right.

    By a negative number of places, or as many as there are bits, nothing but copies of the sign (right) or 0 (left) is left.
    """
    dtype = np.dtype(x.dtype)
    inside = apply("logical_and", apply("greater_equal", _Y, _ZERO), apply("less", _Y, Literal(dtype.itemsize * 8.0)))
    places = apply("where", inside, _Y, _ZERO)
    moved = apply("left_shift" if direction == "LEFT" else "right_shift", _X, places)
    is_signed = direction == "RIGHT" and dtype.kind == "i"
    rest = apply("where", apply("less", _X, _ZERO), Literal(-1.0), _ZERO) if is_signed else _ZERO
    return apply("where", inside, moved, rest)


@pointwise("IsInf", since=10, dtype="bool")
def isinf(detect_negative: int = 1, detect_positive: int = 1) -> Scalar:
    """Whether it is an infinity of a sign that is asked for."""
    if detect_negative and detect_positive:
        return apply("isinf", _X)
    if detect_negative or detect_positive:
        return apply("equal", _X, Literal(np.inf if detect_positive else -np.inf))
    return apply("less", apply("abs", _X), _ZERO)


@onnx_operator("Where", since=9)
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


@onnx_operator("Clip", since=11)
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


@pointwise("Clip")
def clip(min: float = -np.inf, max: float = np.inf) -> Scalar:
    """`minimum(maximum(x, min), max)` with numbers as bounds."""
    return with_loads(body_of("clip"), {0: _X, 1: Literal(float(min)), 2: Literal(float(max))})


@pointwise("Clip", since=6)
def _clip(min: float = -LARGEST, max: float = LARGEST) -> Scalar:
    """The same, within float32's ends where no numbers are given."""
    return clip(min, max)


define_functions(
    {"Abs": "abs", "Add": "add", "Ceil": "ceil", "Floor": "floor", "Mul": "multiply", "Neg": "negative", "Sub": "subtract"}
)
define_functions({"Sign": "sign"}, since=9)
define_functions({"Round": "round"}, since=11)
define_functions({"And": "logical_and", "Not": "logical_not", "Or": "logical_or", "Xor": "logical_xor"}, dtype="bool")
define_functions({"Greater": "greater", "Less": "less"}, dtype="bool")
define_functions({"GreaterOrEqual": "greater_equal", "LessOrEqual": "less_equal"}, dtype="bool", since=12)
define_functions({"IsNaN": "isnan"}, dtype="bool", since=9)
define_functions(
    {"BitwiseAnd": "bitwise_and", "BitwiseNot": "bitwise_not", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor"}, since=18
)
REAL_FUNCTIONS = {
    1: ("Exp", "Log", "Reciprocal", "Sigmoid", "Sqrt", "Tanh"),
    7: ("Acos", "Asin", "Atan", "Cos", "Sin", "Tan"),
    9: ("Acosh", "Asinh", "Atanh", "Cosh", "Erf", "Sinh"),
}
"""By the opset from which on they are there."""
for _since, _names in REAL_FUNCTIONS.items():
    for _name in _names:
        define(_name, ElementFunction, _name.lower(), body_of(_name.lower()), since=_since)


@onnx_operator("Div", since=BROADCASTING)
class Div:
    """The quotient; of integers, rounded towards 0, and 0 where the divisor is."""

    @in_operand_type
    def reference(self, x: Any, y: Any) -> Any:
        if not np.issubdtype(x.dtype, np.integer):
            return x / y
        return np.floor_divide(x - np.fmod(x, y), y)

    def lower(self, builder: Builder, x: Tensor, y: Tensor) -> Tensor:
        """One map; of integers, what the remainder leaves is divided."""
        if not is_integer(x):
            return builder.map("divide", x, y)
        whole = apply("subtract", Load(0), apply("fmod", Load(0), Load(1)))
        return builder.body(apply("floor_divide", whole, Load(1)), x, y, kind="div")


@onnx_operator("Mod", since=10)
class Mod(SchemaAttributes):
    """The remainder of the quotient rounded down (it has the sign of y), or with `fmod` towards 0 (it has the sign of x)."""

    def reference(self, x: Any, y: Any) -> Any:
        with np.errstate(all="ignore"):
            return (np.fmod if self.fmod else np.mod)(x, y)

    def lower(self, builder: Builder, x: Tensor, y: Tensor) -> Tensor:
        return builder.map("fmod" if self.fmod else "mod", x, y)


def is_integer(x: Tensor) -> bool:
    """Whether the elements are whole numbers."""
    return x.dtype.startswith(("int", "uint"))


@onnx_operator("Pow", since=BROADCASTING)
class Pow:
    """`x ** y` in the common type of both, converted to the type of x; whole powers of integers wrap."""

    def reference(self, x: Any, y: Any) -> Any:
        with np.errstate(all="ignore"):
            if all(np.issubdtype(operand.dtype, np.integer) for operand in (x, y)):
                return np.where(y < 0, np.power(x.astype(np.float64), y), np.power(x, np.maximum(y, 0))).astype(x.dtype)
            return np.asarray(np.power(widened(x), widened(y))).astype(x.dtype)

    def lower(self, builder: Builder, x: Tensor, y: Tensor) -> Tensor:
        """One map; a known power that is a multiple of 1/2 is made of products and a square root."""
        if is_integer(x) and not is_integer(y):
            raise UnsupportedOperation("Pow of integers to powers that are none", why="they are computed in a third type")
        exponent = builder.known.get(y.name)
        if exponent is not None and not y.shape and not is_integer(x) and has_simple_power(float(exponent)):
            return builder.body(power_body(float(exponent)), x, kind="pow")
        return builder.map("pow", x, y, dtype=x.dtype)


MOST_OPERANDS = 32
"""Of one map: each is a function more in its body, one inside the other."""
EXTREMES = ("maximum", "minimum")
"""Of any order, so that they need not be nested deeply: C of them reads an operand three times, and compilers take 2 s for 32."""


@record
class Variadic:
    """A function of two numbers: of the first two operands, then of its result and the third, ..."""

    function: str
    numpy: Callable[[Any, Any], Any]

    def reference(self, first: Any, *rest: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(reduce(self.numpy, rest, first))

    def lower(self, builder: Builder, first: Tensor, *rest: Tensor) -> Tensor:
        return _lowered(builder, self.function, (first, *rest))


@onnx_operator("Mean")
class Mean:
    """The mean of the operands."""

    @in_operand_type
    def reference(self, first: Any, *rest: Any) -> Any:
        return reduce(np.add, rest, first) / (1 + len(rest))

    def lower(self, builder: Builder, first: Tensor, *rest: Tensor) -> Tensor:
        """One map, of few operands: a sum and a quotient."""
        count = 1 + len(rest)
        if count > MOST_OPERANDS:
            return builder.map("divide", _lowered(builder, "add", (first, *rest)), float(count))
        return builder.body(apply("divide", _folded("add", count), Literal(float(count))), first, *rest, kind="mean")


def _lowered(builder: Builder, function: str, operands: Sequence[Tensor]) -> Tensor:
    """The function of all operands, from the first to the last, a map for every few of them."""
    result = operands[0]
    for first in range(1, len(operands), MOST_OPERANDS - 1):
        some = operands[first : first + MOST_OPERANDS - 1]
        combine = _balanced if function in EXTREMES else _folded
        result = builder.body(combine(function, 1 + len(some)), result, *some, kind=function)
    return result


def _balanced(function: str, count: int) -> Scalar:
    """Of neighbours, then of neighbours of these."""
    parts: list[Scalar] = [Load(read) for read in range(count)]
    while len(parts) > 1:
        last = parts[len(parts) // 2 * 2 :]
        parts = [*(apply(function, *pair) for pair in zip(parts[::2], parts[1::2], strict=False)), *last]
    return parts[0]


def _folded(function: str, count: int) -> Scalar:
    start: Scalar = Load(0)
    return reduce(lambda body, read: apply(function, body, Load(read)), range(1, count), start)


define("Max", Variadic, "maximum", np.maximum)
define("Min", Variadic, "minimum", np.minimum)
define("Sum", Variadic, "add", np.add)


Shape: TypeAlias = Sequence[Extent]


@record
class LimitedBroadcast(Composed):
    """A function of x and of y, which lies along some dimensions of x."""

    name: str
    """Of the operator, which is that of later versions once y has its dimensions."""
    _: KW_ONLY
    axis: int | None = None
    broadcast: int = 0

    def composed(self, call: Call, known: Known, x: Any, y: Any) -> Any:
        y = call(Reshaped(aligned_shape(y.shape, x.shape, self.axis, self.name)))(y) if self.broadcast else y
        later = definition(self.name, BROADCASTING)
        if later is None:
            raise InternalError(f"{self.name} is not defined in opset {BROADCASTING}")
        return call(later.operator())(x, y)


def aligned_shape(shape: Shape, target: Shape, axis: int | None, where: str) -> tuple[Extent, ...]:
    """The shape of a second operand with as many dimensions behind it as broadcasting as in NumPy needs.

    >>> aligned_shape((3, 4), (2, 3, 4, 5), 1, "Add")
    (3, 4, 1)
    """
    begin = len(target) - len(shape) if axis is None else axis + len(target) * (axis < 0)
    if not 0 <= begin <= len(target) - len(shape):
        text = f"{where} of shapes {shape_text(target)} and {shape_text(shape)} from axis {axis} on"
        raise ShapeError(text, where=where, why="the second one reaches over the end of the first")
    return (*shape, *(1,) * (len(target) - len(shape) - begin))


for _name in ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Greater", "Less", "Equal"):
    define(_name, LimitedBroadcast, _name)
