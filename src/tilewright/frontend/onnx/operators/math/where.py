"""Where: elements of one operand or of the other, by a condition."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Load, apply
from tilewright.graph.types import Tensor


class Where:
    """x where the condition is true, else y."""

    def reference(self, condition: Any, x: Any, y: Any) -> Any:
        return np.where(condition, x, y)

    def lower(self, builder: Builder, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """One map; truth values are chosen by logic."""
        if x.dtype != "bool":
            return builder.map("where", condition, x, y, dtype=x.dtype)
        chosen = apply("logical_and", Load(0), Load(1))
        otherwise = apply("logical_and", apply("logical_not", Load(0)), Load(2))
        return builder.body(apply("logical_or", chosen, otherwise), condition, x, y, dtype="bool", kind="where")


define("Where", Where, since=9)
