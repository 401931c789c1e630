"""Operators of one quantised operand: what bytes stand for, a function of that in float32, and bytes of another scale."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from tilewright.frontend.onnx.operators.contrib.parameters import (
    check_operand,
    dequantised,
    lowered_dequantised,
    lowered_requantised,
    requantised,
)
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Load
from tilewright.graph.types import Tensor


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
        self,
        builder: Builder,
        x: Tensor,
        x_scale: Tensor,
        x_zero: Tensor | None,
        y_scale: Tensor,
        y_zero: Tensor | None = None,
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
