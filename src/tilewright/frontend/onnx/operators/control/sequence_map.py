"""SequenceMap: a graph applied to every element of a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.control.bodies import Body
from tilewright.frontend.onnx.operators.control.sequence import elements_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceMap:
    """`body` of every element, beside the elements of further sequences at its place and of tensors as they are."""

    body: Body
    output_count: int = 1

    def reference(self, sequence: Any, *operands: Any) -> Any:
        elements = elements_of(sequence, "SequenceMap")
        if any(isinstance(operand, list) and len(operand) != len(elements) for operand in operands):
            raise ShapeError("sequences of different lengths", where="SequenceMap")
        results: list[list[Any]] = [[] for _ in range(self.output_count)]
        for number, element in enumerate(elements):
            arguments = (operand[number] if isinstance(operand, list) else operand for operand in operands)
            for collected, result in zip(results, self.body(element, *arguments), strict=True):
                collected.append(result)
        return results[0] if self.output_count == 1 else tuple(results)


define("SequenceMap", SequenceMap, since=17)
