"""QLinear operators: functions, pools, softmax and concatenation of what bytes stand for, as bytes of another scale.

Source: onnxruntime's ContribOperators.md. What bytes stand for, (byte - zero point) times scale, and functions of it are
computed in float32, divided by the result's scale, rounded to even, and saturated. onnxruntime multiplies by ratios of scales
that it rounds before, looks results up (of Softmax exponentials as integers of 23 bits or more), or sums in another order; where
a result lies halfway between two steps but for these roundings it may be a step apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tilewright.errors import InvalidModel, ShapeError
from tilewright.frontend.onnx.definition import define, onnx_operator
from tilewright.frontend.onnx.operators.activation.activations import OverRows, Softmax
from tilewright.frontend.onnx.operators.nn.pools import AveragePool
from tilewright.frontend.onnx.operators.nn.sliding import Pooling
from tilewright.frontend.onnx.operators.operands import completed
from tilewright.frontend.onnx.operators.quantization.quantize_linear import (
    check_scale_values,
    check_zero_type,
    lowered_quantized,
    quantized,
)
from tilewright.frontend.onnx.operators.tensor.shapes import Concat
from tilewright.graph.builders.builder import Builder
from tilewright.graph.exactness import BYTES
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.scalar_functions import sigmoid
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor

MICROSOFT = "com.microsoft"
"""The domain of onnxruntime's own operators."""


def check_operand(
    where: str,
    operand: str,
    dtype: Any,
    scale: Any,
    zero: Any,
    *,
    columns: Any = None,
    divides: bool = False,
    known: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Raise `InvalidModel` for a scale or a zero point that an operand of this type cannot have.

    Both are numbers, or vectors with one for each of `columns` columns, where that is given. They are arrays, or tensors, of
    which the values are in `known`, as far as they are constants. `zero` is None where it is left out. Results are what numbers
    are divided for.

    >>> check_operand("QLinearAdd", "A", np.uint8, np.float32(0.5), np.uint8(3))
    >>> check_operand("QLinearAdd", "C", np.uint8, np.float32(0), None, divides=True)
    Traceback (most recent call last):
    ...
    tilewright.errors.InvalidModel: the scale of C is 0.0
      where: QLinearAdd
      why: a scale is positive and finite: numbers are divided by it
      hint: quantise the model again; tools write such scales for ranges that they have not seen
    """
    if np.dtype(dtype).name not in BYTES:
        why = "quantised operands are of uint8 or int8"
        raise InvalidModel(f"{operand} is of {np.dtype(dtype).name}", where=where, why=why)
    check_zero_type(zero, np.empty(0, dtype), operand, where)
    _check_scale(where, operand, scale, known or {}, divides=divides)
    for role, parameter in (("scale", scale), ("zero point", zero)):
        if parameter is not None:
            _check_length(where, operand, role, parameter.shape, columns)


def _check_scale(where: str, operand: str, scale: Any, known: Mapping[str, np.ndarray], *, divides: bool) -> None:
    if np.dtype(scale.dtype).name != "float32":
        text = f"the scale of {operand} is of {np.dtype(scale.dtype).name}"
        raise InvalidModel(text, where=where, why="scales are of float32 here", hint="convert it")
    values = known.get(scale.name) if isinstance(scale, Tensor) else scale
    if values is not None:
        check_scale_values(values, operand, divides=divides, where=where)


def _check_length(where: str, operand: str, role: str, shape: Any, columns: Any) -> None:
    if tuple(shape) in ((), (1,)) or (columns is not None and tuple(shape) == (columns,)):
        return
    wanted = "one number" if columns is None else f"one number, or one for each of the {columns} columns"
    text = f"the {role} of {operand} has the shape {shape_text(shape)}"
    raise InvalidModel(text, where=where, why=f"it is {wanted}", hint="quantise the model again, per tensor")


def dequantised(x: Any, scale: Any, zero: Any) -> Any:
    """What bytes stand for, in float32."""
    steps = x.astype(np.float32) - (0 if zero is None else zero.reshape(()).astype(np.float32))
    return steps * scale.reshape(())


def requantised(values: Any, scale: Any, zero: Any, dtype: Any) -> Any:
    """Numbers of float32 as bytes."""
    return quantized(values / scale.reshape(()), np.zeros((), dtype) if zero is None else zero.reshape(()))


def lowered_dequantised(
    builder: Builder, x: Tensor, scale: Tensor, zero: Tensor | None, first: int
) -> tuple[Scalar, tuple[Tensor, ...]]:
    """What bytes stand for, as an expression of the operands that it reads, the first of which has the number `first`."""
    operands = [x, builder.reshape(scale, ())]
    steps: Scalar = Load(first)
    if zero is not None:
        steps = apply("subtract", steps, Load(first + 2))
        operands.append(builder.reshape(zero, ()))
    return apply("multiply", steps, Load(first + 1)), tuple(operands)


def lowered_requantised(
    builder: Builder, value: Scalar, operands: Sequence[Tensor], scale: Tensor, zero: Tensor | None, dtype: str
) -> Tensor:
    """An expression of operands as bytes: one map."""
    steps = apply("divide", value, Load(len(operands)))
    shift: Tensor | float = 0.0 if zero is None else builder.reshape(zero, ())
    return lowered_quantized(builder, steps, (*operands, builder.reshape(scale, ())), shift, dtype)


class QuantisedFunction(ABC):
    """Its inputs are x, its scale and zero point, and the result's; the class is called as the operator is."""

    __slots__ = ()

    @abstractmethod
    def values(self, x: Any) -> Any:
        """The function of an array of float32."""

    @abstractmethod
    def lowered(self, builder: Builder, x: Tensor) -> Tensor:
        """The function of a tensor of float32."""

    def reference(self, x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None) -> Any:
        self._check(x, (x_scale, x_zero), (y_scale, y_zero))
        return requantised(self.values(dequantised(x, x_scale, x_zero)), y_scale, y_zero, x.dtype)

    def lower(
        self, builder: Builder, x: Tensor, x_scale: Tensor, x_zero: Tensor | None, y_scale: Tensor, y_zero: Tensor | None = None
    ) -> Tensor:
        """A map, the function, and a map."""
        self._check(x, (x_scale, x_zero), (y_scale, y_zero), builder)
        value, operands = lowered_dequantised(builder, x, x_scale, x_zero, 0)
        result = self.lowered(builder, builder.body(value, *operands, dtype="float32", kind="dequantize"))
        return lowered_requantised(builder, Load(0), (result,), y_scale, y_zero, x.dtype)

    def _check(self, x: Any, of_x: Any, of_y: Any, builder: Builder | None = None) -> None:
        """Raise `InvalidModel` for parameters that do not fit."""
        known = None if builder is None else builder.known
        for operand, parameters in (("X", of_x), ("Y", of_y)):
            check_operand(type(self).__name__, operand, x.dtype, *parameters, divides=operand == "Y", known=known)


@dataclass(frozen=True, slots=True)
class QLinearBinary:
    """A function of two operands, which broadcast."""

    name: str
    function: str

    def reference(self, *operands: Any) -> Any:
        self._check(operands)
        a, a_scale, a_zero, b, b_scale, b_zero, c_scale, c_zero = completed(operands, 8)
        values = getattr(np, self.function)(dequantised(a, a_scale, a_zero), dequantised(b, b_scale, b_zero))
        return requantised(values, c_scale, c_zero, a.dtype)

    def lower(self, builder: Builder, *operands: Any) -> Tensor:
        """One map."""
        self._check(operands, builder.known)
        a, a_scale, a_zero, b, b_scale, b_zero, c_scale, c_zero = completed(operands, 8)
        left, left_operands = lowered_dequantised(builder, a, a_scale, a_zero, 0)
        right, right_operands = lowered_dequantised(builder, b, b_scale, b_zero, len(left_operands))
        body = apply(self.function, left, right)
        return lowered_requantised(builder, body, (*left_operands, *right_operands), c_scale, c_zero, a.dtype)

    def _check(self, operands: Sequence[Any], known: Mapping[str, np.ndarray] | None = None) -> None:
        """Raise `InvalidModel` for parameters that do not fit."""
        a, a_scale, a_zero, b, b_scale, b_zero, c_scale, c_zero = completed(operands, 8)
        check_operand(self.name, "A", a.dtype, a_scale, a_zero, known=known)
        check_operand(self.name, "B", b.dtype, b_scale, b_zero, known=known)
        check_operand(self.name, "C", a.dtype, c_scale, c_zero, divides=True, known=known)


@onnx_operator("QLinearSigmoid", domain=MICROSOFT)
class QLinearSigmoid(QuantisedFunction):
    """1 / (1 + exp(-x))."""

    def values(self, x: Any) -> Any:
        return sigmoid(x)

    def lowered(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.map("sigmoid", x)


@onnx_operator("QLinearLeakyRelu", domain=MICROSOFT)
class QLinearLeakyRelu(QuantisedFunction):
    """x, or alpha times x where that is below 0."""

    alpha: float = 0.01

    def values(self, x: Any) -> Any:
        return np.where(x < 0, np.float32(self.alpha) * x, x)

    def lowered(self, builder: Builder, x: Tensor) -> Tensor:
        scaled = apply("multiply", Literal(float(np.float32(self.alpha))), Load(0))
        return builder.body(apply("where", apply("less", Load(0), Literal(0.0)), scaled, Load(0)), x)


@onnx_operator("QLinearAveragePool", domain=MICROSOFT)
class QLinearAveragePool(Pooling, QuantisedFunction):
    """The mean of every window; with `channels_last` channels are the last dimension, not the second."""

    channels_last: int = 0
    count_include_pad: int = 0

    def values(self, x: Any) -> Any:
        means = self._pool().reference(np.moveaxis(x, -1, 1) if self.channels_last else x)
        return np.moveaxis(means, 1, -1) if self.channels_last else means

    def lowered(self, builder: Builder, x: Tensor) -> Tensor:
        """The sums of windows in float32."""
        rank = len(x.shape)
        x = builder.transpose(x, (0, rank - 1, *range(1, rank - 1))) if self.channels_last else x
        means = self._pool().lower(builder, x)
        return builder.transpose(means, (0, *range(2, rank), 1)) if self.channels_last else means

    def _pool(self) -> AveragePool:
        names = (field.name for field in fields(AveragePool))
        return AveragePool(**{name: getattr(self, name) for name in names})


@onnx_operator("QLinearGlobalAveragePool", domain=MICROSOFT)
class QLinearGlobalAveragePool(QuantisedFunction):
    """The mean of every channel; with `channels_last` channels are the last dimension, not the second."""

    channels_last: int = 0

    def values(self, x: Any) -> Any:
        return x.mean(axis=self._axes(x), keepdims=True)

    def lowered(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.reduce("mean", x, self._axes(x), keepdims=True)

    def _axes(self, x: Any) -> tuple[int, ...]:
        rank = len(x.shape)
        if rank < 3:
            where, why = "QLinearGlobalAveragePool", "there are no spatial dimensions"
            raise ShapeError(f"a global pool of {shape_text(x.shape)}", where=where, why=why)
        return tuple(range(1, rank - 1)) if self.channels_last else tuple(range(2, rank))


@onnx_operator("QLinearSoftmax", domain=MICROSOFT)
class QLinearSoftmax(QuantisedFunction):
    """The Softmax of an opset along `axis`: before 13 of the rows of a matrix whose columns begin there."""

    opset: int
    axis: int = -1

    def values(self, x: Any) -> Any:
        return self._softmax().reference(x)

    def lowered(self, builder: Builder, x: Tensor) -> Tensor:
        result: Tensor = self._softmax().lower(builder, x)
        return result

    def _softmax(self) -> Any:
        return Softmax(axis=self.axis) if self.opset >= 13 else OverRows(Softmax, axis=self.axis)


_WHERE = "QLinearConcat"


@onnx_operator("QLinearConcat", domain=MICROSOFT)
class QLinearConcat:
    """The parts, each given as bytes, scale and zero point; the result's scale and zero point come first."""

    axis: int

    def reference(self, y_scale: Any, y_zero: Any, *operands: Any) -> Any:
        parts = [
            part if _is_same(scale, y_scale) and _is_same(zero, y_zero) else _again(part, scale, zero, y_scale, y_zero)
            for part, scale, zero in _parts(y_scale, y_zero, operands, None)
        ]
        return Concat(axis=self.axis).reference(*parts)

    def lower(self, builder: Builder, y_scale: Tensor, y_zero: Tensor, *operands: Tensor) -> Tensor:
        """A map for every part that has another scale or zero point, and guarded reads of all."""
        parts = []
        for part, scale, zero in _parts(y_scale, y_zero, operands, builder):
            is_same = all(_is_known_same(builder, of_part, of_y) for of_part, of_y in ((scale, y_scale), (zero, y_zero)))
            value, reads = lowered_dequantised(builder, part, scale, zero, 0)
            parts.append(part if is_same else lowered_requantised(builder, value, reads, y_scale, y_zero, y_zero.dtype))
        return Concat(axis=self.axis).lower(builder, *parts)


def _parts(y_scale: Any, y_zero: Any, operands: Any, builder: Builder | None) -> list[tuple[Any, Any, Any]]:
    """The triples. Raises `InvalidModel` for other numbers of operands, and for parameters that do not fit."""
    if not operands or len(operands) % 3:
        why = "behind Y's scale and zero point, every part has three: itself, its scale and its zero point"
        raise InvalidModel(f"{2 + len(operands)} inputs are wrong", where=_WHERE, why=why)
    known = None if builder is None else builder.known
    check_operand(_WHERE, "Y", y_zero.dtype, y_scale, y_zero, divides=True, known=known)
    triples = list(zip(operands[::3], operands[1::3], operands[2::3], strict=True))
    for number, (part, scale, zero) in enumerate(triples):
        check_operand(_WHERE, f"part {number}", part.dtype, scale, zero, known=known)
        if part.dtype != y_zero.dtype:
            why = f"Y's zero point is of {y_zero.dtype}, and all parts are of Y's type"
            raise InvalidModel(f"part {number} is of {part.dtype}", where=_WHERE, why=why)
    return triples


def _is_same(x: Any, y: Any) -> bool:
    return bool(x.reshape(()) == y.reshape(()))


def _is_known_same(builder: Builder, x: Tensor, y: Tensor) -> bool:
    values = [builder.known.get(tensor.name) for tensor in (x, y)]
    return x.name == y.name or (values[0] is not None and values[1] is not None and _is_same(*values))


def _again(part: Any, scale: Any, zero: Any, y_scale: Any, y_zero: Any) -> Any:
    return requantised(dequantised(part, scale, zero), y_scale, y_zero, part.dtype)


define("QLinearAdd", QLinearBinary, "QLinearAdd", "add", domain=MICROSOFT)
define("QLinearMul", QLinearBinary, "QLinearMul", "multiply", domain=MICROSOFT)
