"""Einsum: any number of operands, and indices repeated inside one of them (diagonals).

Operands are multiplied from left to right. A diagonal is an index change, and an index that only one operand has is summed before
the product, so that what is left are contractions of indices that both have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.operands import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.diagonals import contracted, without_diagonals
from tilewright.graph.builders.einsum import Subscripts, parse
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Einsum:
    """The sum of products, in NumPy's notation."""

    equation: str

    @in_operand_type
    def reference(self, *operands: Any) -> Any:
        return np.einsum(self.equation.replace(" ", ""), *operands)

    def lower(self, builder: Builder, *operands: Tensor) -> Tensor:
        """Diagonals, sums of single operands, and contractions from left to right."""
        subscripts = parse(self.equation, [len(tensor.shape) for tensor in operands])
        subscripts, taken = without_diagonals(builder, subscripts, operands)
        return contracted(builder, *_summed_alone(builder, subscripts, taken))


def _summed_alone(builder: Builder, subscripts: Subscripts, operands: Sequence[Tensor]) -> tuple[Subscripts, list[Tensor]]:
    """Sums over the indices that one of several operands has and neither another nor the result."""
    if len(operands) == 1:
        return subscripts, list(operands)
    labels, taken = list(subscripts.operands), list(operands)
    for number, letters in enumerate(labels):
        shared = {label for position, group in enumerate(labels) if position != number for label in group}
        alone = [d for d, label in enumerate(letters) if label not in shared and label not in subscripts.result]
        if alone:
            taken[number] = builder.reduce("sum", taken[number], alone)
            labels[number] = tuple(label for d, label in enumerate(letters) if d not in alone)
    return Subscripts(tuple(labels), subscripts.result), taken


define("Einsum", Einsum, since=12)
