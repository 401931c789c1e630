"""Rectifiers: Relu, LeakyRelu, PRelu and ThresholdedRelu, which are linear on both sides of a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Load, Scalar, apply, times
from tilewright.graph.shapes import Shape
from tilewright.graph.types import Tensor

_X, _ZERO = Load(0), Literal(0.0)


def where_negative(below: Scalar, otherwise: Scalar) -> Scalar:
    """A body that is `below` where `Load(0)` is negative."""
    return apply("where", apply("less", _X, _ZERO), below, otherwise)


class Relu:
    """max(x, 0)."""

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return np.maximum(x, 0)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.map("relu", x)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakyRelu:
    """x, times alpha where it is negative."""

    alpha: float = 0.01

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return np.where(x < 0, self.alpha * x, x)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.body(where_negative(times(_X, self.alpha), _X), x, kind="leaky_relu")


class PRelu:
    """x, times the slope where it is negative."""

    @in_operand_type
    def reference(self, x: Any, slope: Any) -> Any:
        return np.where(x < 0, slope * x, x)

    def lower(self, builder: Builder, x: Tensor, slope: Tensor) -> Tensor:
        return builder.body(where_negative(apply("multiply", _X, Load(1)), _X), x, slope, kind="prelu")


class PReluBefore7:
    """x, times the slope of its channel where it is negative."""

    def reference(self, x: Any, slope: Any) -> Any:
        return PRelu().reference(x, slope.reshape(_slope_shape(slope.shape, x.shape)))

    def lower(self, builder: Builder, x: Tensor, slope: Tensor) -> Tensor:
        return PRelu().lower(builder, x, builder.reshape(slope, _slope_shape(slope.shape, x.shape)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdedRelu:
    """x where it is above alpha, else 0."""

    alpha: float = 1.0

    @in_operand_type
    def reference(self, x: Any) -> Any:
        return np.where(x > self.alpha, x, 0)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.body(apply("where", apply("greater", _X, Literal(self.alpha)), _X, _ZERO), x, kind="thresholded_relu")


def _slope_shape(shape: Shape, x: Shape) -> Shape:
    """The shape of the slopes of channels: dimension 1 of x."""
    return (*shape, *(1,) * (len(x) - 2)) if len(shape) == 1 and len(x) > 2 else shape


define("Relu", Relu)
define("LeakyRelu", LeakyRelu)
define("PRelu", PReluBefore7)
define("PRelu", PRelu, since=7)
define("ThresholdedRelu", ThresholdedRelu, since=10)
