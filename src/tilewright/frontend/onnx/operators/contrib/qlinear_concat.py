"""QLinearConcat: bytes of several scales behind each other, as bytes of one scale.

Source: onnxruntime's ContribOperators.md. A part whose scale and zero point are the result's is copied. Others are rounded again:
what a byte stands for, in float32, over the result's scale, to even. onnxruntime looks the same numbers up; one may be a step
apart where it lies halfway between two steps but for a rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.errors import InvalidModel
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.contrib.parameters import (
    MICROSOFT,
    check_operand,
    dequantised,
    lowered_dequantised,
    lowered_requantised,
    requantised,
)
from tilewright.frontend.onnx.operators.tensor.concat import Concat
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Tensor

_WHERE = "QLinearConcat"


@dataclass(frozen=True, slots=True, kw_only=True)
class QLinearConcat:
    """The parts, each given as bytes, scale and zero point; the result's scale and zero point come first."""

    axis: int

    def reference(self, y_scale: Any, y_zero: Any, *operands: Any) -> Any:
        parts = [
            part if _is_same(scale, y_scale) and _is_same(zero, y_zero) else _again(part, scale, zero, y_scale, y_zero)
            for part, scale, zero in _parts(y_scale, y_zero, operands, None)
        ]
        return Concat(axis=self.axis).reference(*parts)

    def lower(self, builder: Builder, y_scale: Tensor, y_zero: Tensor, *operands: Tensor) -> Tensor:
        """A map for every part that has another scale or zero point, and guarded reads of all."""
        parts = []
        for part, scale, zero in _parts(y_scale, y_zero, operands, builder):
            is_same = all(_is_known_same(builder, of_part, of_y) for of_part, of_y in ((scale, y_scale), (zero, y_zero)))
            value, reads = lowered_dequantised(builder, part, scale, zero, 0)
            parts.append(part if is_same else lowered_requantised(builder, value, reads, y_scale, y_zero, y_zero.dtype))
        return Concat(axis=self.axis).lower(builder, *parts)


def _parts(y_scale: Any, y_zero: Any, operands: Any, builder: Builder | None) -> list[tuple[Any, Any, Any]]:
    """The triples. Raises `InvalidModel` for other numbers of operands, and for parameters that do not fit."""
    if not operands or len(operands) % 3:
        why = "behind Y's scale and zero point, every part has three: itself, its scale and its zero point"
        raise InvalidModel(f"{2 + len(operands)} inputs are wrong", where=_WHERE, why=why)
    known = None if builder is None else builder.known
    check_operand(_WHERE, "Y", y_zero.dtype, y_scale, y_zero, divides=True, known=known)
    triples = list(zip(operands[::3], operands[1::3], operands[2::3], strict=True))
    for number, (part, scale, zero) in enumerate(triples):
        check_operand(_WHERE, f"part {number}", part.dtype, scale, zero, known=known)
        if part.dtype != y_zero.dtype:
            why = f"Y's zero point is of {y_zero.dtype}, and all parts are of Y's type"
            raise InvalidModel(f"part {number} is of {part.dtype}", where=_WHERE, why=why)
    return triples


def _is_same(x: Any, y: Any) -> bool:
    return bool(x.reshape(()) == y.reshape(()))


def _is_known_same(builder: Builder, x: Tensor, y: Tensor) -> bool:
    values = [builder.known.get(tensor.name) for tensor in (x, y)]
    return x.name == y.name or (values[0] is not None and values[1] is not None and _is_same(*values))


def _again(part: Any, scale: Any, zero: Any, y_scale: Any, y_zero: Any) -> Any:
    return requantised(dequantised(part, scale, zero), y_scale, y_zero, part.dtype)


define("QLinearConcat", QLinearConcat, domain=MICROSOFT)
