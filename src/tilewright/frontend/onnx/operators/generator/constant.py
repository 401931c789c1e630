"""ConstantOfShape: a tensor of one value that an attribute gives, in a shape that an operand gives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.sizes import check_size
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import broadcast, map_of
from tilewright.graph.extents import least_extent
from tilewright.graph.scalar import Literal
from tilewright.graph.types import Tensor

SMALL = 1024
"""Elements up to which a constant is stored instead of computed."""
LARGEST_WHOLE_FLOAT64 = 2**53
"""Integers up to which bodies, whose numbers are float64, can hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantOfShape:
    """A tensor of one value, float32 zeros without one."""

    value: Any = None

    def reference(self, shape: Any) -> Any:
        element = self._element()
        extents = check_size(np.asarray(shape).reshape(-1).tolist(), "ConstantOfShape")
        return np.full(extents, element.reshape(-1)[0], element.dtype)

    def lower(self, builder: Builder, shape: Tensor) -> Tensor:
        """A map that reads nothing, or one integer that is no number of bodies; a small one of known shape is a constant."""
        extents = builder.integers(shape)
        element = self._element()
        check_size(list(map(least_extent, extents)), "ConstantOfShape")
        whole = [extent for extent in extents if isinstance(extent, int)]
        if len(whole) == len(extents) and math.prod(whole) <= SMALL:
            return builder.constant(self.reference(whole))
        number = element.reshape(-1)[:1]
        if number.dtype.kind in "iu" and abs(int(number[0])) > LARGEST_WHOLE_FLOAT64:
            return builder.record(broadcast, builder.constant(number), extents, kind="broadcast")
        dtype = element.dtype.name
        return builder.record(map_of, "full", extents, (), Literal(float(number[0])), dtype, computed=dtype, kind="full")

    def _element(self) -> Any:
        return np.zeros(1, np.float32) if self.value is None else np.asarray(self.value)


define("ConstantOfShape", ConstantOfShape, since=9)
