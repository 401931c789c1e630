"""Softmax, LogSoftmax and Hardmax along an axis, or before opset 13 along the rows of a matrix."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.norms import log_softmax, softmax_reference
from tilewright.graph.scalar import AxisValue, Literal, Load, apply
from tilewright.graph.shapes import Shape, normalize_axis
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True)
class OverRows:
    """An operator along the rows of a matrix whose columns are the dimensions from `axis` on."""

    operator: type[Any]
    """The operator along one axis."""
    _: KW_ONLY
    axis: int = 1

    def reference(self, x: Any) -> Any:
        rows = prod(x.shape[: first_column(x.shape, self.axis)])
        return self.operator(axis=-1).reference(x.reshape(rows, -1) if x.size else x).reshape(x.shape)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        along = first_column(x.shape, self.axis)
        if len(x.shape) == along + 1:
            result: Tensor = self.operator(axis=along).lower(builder, x)
            return result
        matrix = builder.reshape(x, (_product(x.shape[:along]), _product(x.shape[along:])))
        return builder.reshape(self.operator(axis=-1).lower(builder, matrix), x.shape)


def first_column(shape: Shape, axis: int) -> int:
    """The first dimension of a row; it may be the one behind the last, and then every element is a row."""
    return len(shape) if axis == len(shape) else normalize_axis(axis, len(shape), "axis of a matrix")


def _product(shape: Shape) -> int:
    product = 1
    for extent in shape:
        if not isinstance(extent, int):
            raise UnsupportedOperation(f"rows of a matrix with the symbolic extent {extent}")
        product *= extent
    return product


@dataclass(frozen=True, slots=True, kw_only=True)
class Softmax:
    """exp(x - max) / sum(exp(x - max))."""

    axis: int = -1

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return softmax_reference(x, self.axis)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.softmax(x, self.axis)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSoftmax:
    """x - max - log(sum(exp(x - max)))."""

    axis: int = -1

    @in_operand_type
    def reference(self, x: Any) -> Any:
        if not x.size:
            return x
        shifted = x - x.max(axis=self.axis, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis=self.axis, keepdims=True))

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.record(log_softmax, x, self.axis, kind="log_softmax")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardmax:
    """1 at the first of the largest elements, 0 elsewhere."""

    axis: int = -1

    def reference(self, x: Any) -> Any:
        result = np.zeros_like(x)
        if x.size:
            np.put_along_axis(result, np.expand_dims(np.argmax(x, axis=self.axis), self.axis), 1, axis=self.axis)
        return result

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """The largest of a row, the first position where it or a NaN is found, and a comparison with that."""
        along = normalize_axis(self.axis, len(x.shape), where="hardmax")
        extent = x.shape[along]
        position, beyond = AxisValue(f"d{along}"), Literal(float(extent.high if not isinstance(extent, int) else extent))
        largest = builder.reduce("max", x, (along,), keepdims=True)
        is_largest = apply("logical_or", apply("equal", Load(0), Load(1)), apply("isnan", Load(0)))
        found = apply("where", is_largest, position, beyond)
        positions = builder.body(found, x, largest, dtype="float32", kind="positions")
        first = builder.reduce("min", positions, (along,), keepdims=True)
        is_first = apply("logical_and", apply("equal", Load(0), Load(1)), apply("less", Load(0), beyond))
        result = apply("where", is_first, Literal(1.0), Literal(0.0))
        return builder.body(result, positions, first, dtype=x.dtype, kind="hardmax")


define("Softmax", OverRows, Softmax)
define("Softmax", Softmax, since=13)
define("LogSoftmax", OverRows, LogSoftmax)
define("LogSoftmax", LogSoftmax, since=13)
define("Hardmax", OverRows, Hardmax)
define("Hardmax", Hardmax, since=13)
