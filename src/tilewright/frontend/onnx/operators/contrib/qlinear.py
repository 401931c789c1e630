"""QLinear operators: dequantise, an operator of floats, quantise.

Source: onnxruntime's ContribOperators.md. Each is DequantizeLinear of its operands, an operator of ONNX, and QuantizeLinear.
onnxruntime multiplies by ratios of scales that it rounds before, looks results up (of Softmax exponentials as integers of 23 bits
or more), or sums in another order; where a result lies halfway between two steps but for these roundings it may be a step apart.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from tilewright.errors import InvalidModel
from tilewright.frontend.onnx.definition import onnx_operator
from tilewright.frontend.onnx.element_types import onnx_number
from tilewright.frontend.onnx.operators.activation.activations import OverRows, Softmax, leaky_relu
from tilewright.frontend.onnx.operators.math.elements import ElementFunction
from tilewright.frontend.onnx.operators.nn.pools import AveragePool, GlobalPool
from tilewright.frontend.onnx.operators.nn.sliding import Pooling
from tilewright.frontend.onnx.operators.operands import Call, Composed, Known, completed, known_value
from tilewright.frontend.onnx.operators.quantization.linear import DequantizeLinear, QuantizeLinear, check_scale, check_zero_type
from tilewright.frontend.onnx.operators.tensor.shapes import Concat, Transpose
from tilewright.graph.builders.elementwise import body_of
from tilewright.graph.exactness import BYTES
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor

MICROSOFT = "com.microsoft"
"""The domain of onnxruntime's own operators."""


def check_operand(
    where: str, operand: str, dtype: Any, scale: Any, zero: Any, *, known: Known, columns: Any = None, divides: bool = False
) -> None:
    """Raise `InvalidModel` for a scale or a zero point that an operand of this type cannot have.

    Both are numbers, or vectors with one for each of `columns` columns, where that is given. They are arrays, or tensors, of
    which the values are in `known`. `zero` is None where it is left out. Results are what numbers are divided for.

    >>> check_operand("QLinearAdd", "A", np.uint8, np.float32(0.5), np.uint8(3), known={})
    >>> check_operand("QLinearAdd", "C", np.uint8, np.float32(0), None, known={}, divides=True)
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
    _check_scale(where, operand, scale, known, divides=divides)
    for role, parameter in (("scale", scale), ("zero point", zero)):
        if parameter is not None:
            _check_length(where, operand, role, parameter.shape, columns)


def _check_scale(where: str, operand: str, scale: Any, known: Known, *, divides: bool) -> None:
    if np.dtype(scale.dtype).name != "float32":
        text = f"the scale of {operand} is of {np.dtype(scale.dtype).name}"
        raise InvalidModel(text, where=where, why="scales are of float32 here", hint="convert it")
    check_scale(scale, operand, known, divides=divides, where=where)


def _check_length(where: str, operand: str, role: str, shape: Any, columns: Any) -> None:
    if tuple(shape) in ((), (1,)) or (columns is not None and tuple(shape) == (columns,)):
        return
    wanted = "one number" if columns is None else f"one number, or one for each of the {columns} columns"
    text = f"the {role} of {operand} has the shape {shape_text(shape)}"
    raise InvalidModel(text, where=where, why=f"it is {wanted}", hint="quantise the model again, per tensor")


def _quantised(call: Call, values: Any, scale: Any, zero: Any, dtype: Any) -> Any:
    """Numbers of float32 as bytes."""
    return call(QuantizeLinear(output_dtype=onnx_number(np.dtype(dtype))))(values, scale, zero)


class QLinearOperator(Composed):
    """Its inputs are operands, each with its scale and zero point, and the result's scale and zero point.

    The class is called as the operator is.
    """

    __slots__ = ()
    names: ClassVar[str] = "XY"
    """Of the operands and the result."""

    @abstractmethod
    def function(self, call: Call, *operands: Any) -> Any:
        """The operator of floats."""

    def composed(self, call: Call, known: Known, *inputs: Any) -> Any:
        where, count = type(self).__name__, 3 * len(self.names) - 3
        *given, scale, zero = completed(inputs, count + 2)
        operands, dtype = [given[place : place + 3] for place in range(0, count, 3)], given[0].dtype
        for name, (x, *parameters) in zip(self.names, operands, strict=False):
            check_operand(where, name, x.dtype, *parameters, known=known)
        check_operand(where, self.names[-1], dtype, scale, zero, known=known, divides=True)
        result = self.function(call, *(call(DequantizeLinear())(*operand) for operand in operands))
        return _quantised(call, result, scale, zero, dtype)


@onnx_operator("QLinearAdd", domain=MICROSOFT)
class QLinearAdd(QLinearOperator):
    """The sum of operands, which broadcast."""

    names: ClassVar[str] = "ABC"

    def function(self, call: Call, *operands: Any) -> Any:
        return call(ElementFunction("add", body_of("add")))(*operands)


@onnx_operator("QLinearMul", domain=MICROSOFT)
class QLinearMul(QLinearOperator):
    """The product of operands, which broadcast."""

    names: ClassVar[str] = "ABC"

    def function(self, call: Call, *operands: Any) -> Any:
        return call(ElementFunction("mul", body_of("multiply")))(*operands)


@onnx_operator("QLinearSigmoid", domain=MICROSOFT)
class QLinearSigmoid(QLinearOperator):
    """1 / (1 + exp(-x))."""

    def function(self, call: Call, *operands: Any) -> Any:
        return call(ElementFunction("sigmoid", body_of("sigmoid")))(*operands)


@onnx_operator("QLinearLeakyRelu", domain=MICROSOFT)
class QLinearLeakyRelu(QLinearOperator):
    """x, or alpha times x where that is below 0."""

    alpha: float = 0.01

    def function(self, call: Call, *operands: Any) -> Any:
        return call(ElementFunction("leaky_relu", leaky_relu(self.alpha)))(*operands)


@onnx_operator("QLinearAveragePool", domain=MICROSOFT)
class QLinearAveragePool(Pooling, QLinearOperator):
    """The mean of every window; with `channels_last` channels are the last dimension, not the second."""

    channels_last: int = 0
    count_include_pad: int = 0

    def function(self, call: Call, *operands: Any) -> Any:
        (x,), pool = operands, AveragePool(**{field.name: getattr(self, field.name) for field in fields(AveragePool)})
        if not self.channels_last:
            return call(pool)(x)
        rank = len(x.shape)
        means = call(pool)(call(Transpose(perm=(0, rank - 1, *range(1, rank - 1))))(x))
        return call(Transpose(perm=(0, *range(2, rank), 1)))(means)


@onnx_operator("QLinearGlobalAveragePool", domain=MICROSOFT)
class QLinearGlobalAveragePool(QLinearOperator):
    """The mean of every channel; with `channels_last` channels are the last dimension, not the second."""

    channels_last: int = 0

    def function(self, call: Call, *operands: Any) -> Any:
        return call(GlobalPool("mean", bool(self.channels_last)))(*operands)


@onnx_operator("QLinearSoftmax", domain=MICROSOFT)
class QLinearSoftmax(QLinearOperator):
    """The Softmax of an opset along `axis`: before 13 of the rows of a matrix whose columns begin there."""

    opset: int
    axis: int = -1

    def function(self, call: Call, *operands: Any) -> Any:
        return call(Softmax(axis=self.axis) if self.opset >= 13 else OverRows(Softmax, axis=self.axis))(*operands)


_WHERE = "QLinearConcat"


@onnx_operator("QLinearConcat", domain=MICROSOFT)
class QLinearConcat(Composed):
    """The parts, each given as bytes, scale and zero point; the result's scale and zero point come first."""

    axis: int

    def composed(self, call: Call, known: Known, *inputs: Any) -> Any:
        """Parts that have the result's scale and zero point stay as they are."""
        scale, zero, *operands = inputs
        parts = []
        for part, *parameters in _parts(known, scale, zero, operands):
            if not all(_is_same(known, x, y) for x, y in zip(parameters, (scale, zero), strict=True)):
                part = _quantised(call, call(DequantizeLinear())(part, *parameters), scale, zero, part.dtype)
            parts.append(part)
        return call(Concat(axis=self.axis))(*parts)


def _parts(known: Known, y_scale: Any, y_zero: Any, operands: Sequence[Any]) -> list[tuple[Any, Any, Any]]:
    """The triples. Raises `InvalidModel` for other numbers of operands, and for parameters that do not fit."""
    if not operands or len(operands) % 3:
        why = "behind Y's scale and zero point, every part has three: itself, its scale and its zero point"
        raise InvalidModel(f"{2 + len(operands)} inputs are wrong", where=_WHERE, why=why)
    check_operand(_WHERE, "Y", y_zero.dtype, y_scale, y_zero, known=known, divides=True)
    triples = list(zip(operands[::3], operands[1::3], operands[2::3], strict=True))
    for number, (part, scale, zero) in enumerate(triples):
        check_operand(_WHERE, f"part {number}", part.dtype, scale, zero, known=known)
        if part.dtype != y_zero.dtype:
            why = f"Y's zero point is of {y_zero.dtype}, and all parts are of Y's type"
            raise InvalidModel(f"part {number} is of {part.dtype}", where=_WHERE, why=why)
    return triples


def _is_same(known: Known, x: Any, y: Any) -> bool:
    """Whether two parameters are one tensor, or are known to be equal."""
    if isinstance(x, Tensor) and x.name == y.name:
        return True
    values = [known_value(parameter, known) for parameter in (x, y)]
    return values[0] is not None and values[1] is not None and bool(values[0].reshape(()) == values[1].reshape(()))
