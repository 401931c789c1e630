"""SequenceConstruct, SequenceEmpty, SequenceLength, SequenceAt, SequenceInsert, SequenceErase: lists of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError
from tilewright.frontend.onnx.definition import define


class SequenceConstruct:
    """The list of the tensors."""

    def reference(self, *tensors: Any) -> Any:
        return list(tensors)


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceEmpty:
    """The empty list, whatever its elements would be."""

    dtype: int = 1

    def reference(self) -> Any:
        return []


class SequenceLength:
    """The number of elements, 0-d int64."""

    def reference(self, sequence: Any) -> Any:
        return np.array(len(elements_of(sequence, "SequenceLength")), np.int64)


class SequenceAt:
    """The element at a position; a negative position counts from the end."""

    def reference(self, sequence: Any, position: Any) -> Any:
        elements = elements_of(sequence, "SequenceAt")
        return elements[_position(position, len(elements), "SequenceAt")]


class SequenceInsert:
    """A new list with the tensor before `position`, or at the end."""

    def reference(self, sequence: Any, tensor: Any, position: Any = None) -> Any:
        elements = elements_of(sequence, "SequenceInsert")
        count = len(elements)
        before = count if position is None else integer_of(position, "SequenceInsert")
        if not -count <= before <= count:
            raise ShapeError(f"position {before} in a sequence of {count} elements", where="SequenceInsert")
        before += count if before < 0 else 0
        return [*elements[:before], tensor, *elements[before:]]


class SequenceErase:
    """A new list without the element at `position`, or without the last."""

    def reference(self, sequence: Any, position: Any = None) -> Any:
        elements = elements_of(sequence, "SequenceErase")
        gone = _position(-1 if position is None else position, len(elements), "SequenceErase")
        return [*elements[:gone], *elements[gone + 1 :]]


def integer_of(value: Any, where: str) -> int:
    """The integer in a tensor of one element. Raises `ShapeError` for other numbers of elements."""
    if np.size(value) != 1:
        raise ShapeError(f"{np.size(value)} elements instead of one", where=where)
    return int(np.asarray(value).item())


def elements_of(sequence: Any, where: str) -> list[Any]:
    """The list itself. Raises `DTypeError` for an operand that is no sequence."""
    if not isinstance(sequence, list):
        raise DTypeError(f"{type(sequence).__name__} is no sequence", where=where)
    return sequence


def _position(position: Any, count: int, where: str) -> int:
    chosen = integer_of(position, where)
    if not -count <= chosen < count:
        raise ShapeError(f"position {chosen} in a sequence of {count} elements", where=where)
    return chosen % count


define("SequenceConstruct", SequenceConstruct, since=11)
define("SequenceEmpty", SequenceEmpty, since=11)
define("SequenceLength", SequenceLength, since=11)
define("SequenceAt", SequenceAt, since=11)
define("SequenceInsert", SequenceInsert, since=11)
define("SequenceErase", SequenceErase, since=11)
