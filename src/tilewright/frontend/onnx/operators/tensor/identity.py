"""Identity: the operand itself."""

from __future__ import annotations

from typing import Any

from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor


class Identity:
    """The operand itself, sequences and missing ones included."""

    def reference(self, x: Any) -> Any:
        return x

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return x


define("Identity", Identity)
