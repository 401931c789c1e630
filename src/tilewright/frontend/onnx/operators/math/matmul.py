"""MatMul: the product of matrices, with batch dimensions that broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor


class MatMul:
    """As `numpy.matmul`."""

    @in_operand_type
    def reference(self, left: Any, right: Any) -> Any:
        return np.matmul(left, right)

    def lower(self, builder: Builder, left: Tensor, right: Tensor) -> Tensor:
        return builder.matmul(left, right)


define("MatMul", MatMul)
