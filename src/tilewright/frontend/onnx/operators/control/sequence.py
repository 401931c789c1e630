"""Sequences, lists of arrays: made, asked, changed, mapped, cut and put together; and optional values, which may be None."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.control.loops import Body
from tilewright.frontend.onnx.operators.operands import single
from tilewright.graph.shapes import normalize_axis


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
        before = count if position is None else int(single(position, "SequenceInsert"))
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


def elements_of(sequence: Any, where: str) -> list[Any]:
    """The list itself. Raises `DTypeError` for an operand that is no sequence."""
    if not isinstance(sequence, list):
        raise DTypeError(f"{type(sequence).__name__} is no sequence", where=where)
    return sequence


def _position(position: Any, count: int, where: str) -> int:
    chosen = int(single(position, where))
    if not -count <= chosen < count:
        raise ShapeError(f"position {chosen} in a sequence of {count} elements", where=where)
    return chosen % count


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitToSequence:
    """The parts along an axis: of one element each, of `split` elements each, or as long as the elements of `split`."""

    axis: int = 0
    keepdims: int = 1

    def reference(self, x: Any, split: Any = None) -> Any:
        along = normalize_axis(self.axis, np.ndim(x), where="SplitToSequence")
        cuts = np.cumsum(_lengths(split, x.shape[along]))[:-1]
        parts = np.split(x, cuts, axis=along)
        return parts if split is not None or self.keepdims else [np.squeeze(part, along) for part in parts]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcatFromSequence:
    """All elements in one tensor, along one of their axes or a new axis."""

    axis: int
    new_axis: int = 0

    def reference(self, sequence: Any) -> Any:
        elements = elements_of(sequence, "ConcatFromSequence")
        if not elements:
            raise ShapeError("no tensors to concatenate", where="ConcatFromSequence")
        along = normalize_axis(self.axis, np.ndim(elements[0]) + bool(self.new_axis), where="ConcatFromSequence")
        try:
            return (np.stack if self.new_axis else np.concatenate)(elements, axis=along)
        except ValueError as error:
            raise ShapeError("tensors that do not fit together", where="ConcatFromSequence", why=str(error)) from error


def _lengths(split: Any, extent: int) -> list[int]:
    if split is not None and np.ndim(split) == 1:
        lengths = [int(length) for length in split]
        if min(lengths, default=0) < 0 or sum(lengths) != extent:
            raise ShapeError(f"an extent of {extent} does not split into {lengths}", where="SplitToSequence")
        return lengths
    size = 1 if split is None else int(single(split, "SplitToSequence"))
    if size < 1:
        raise ShapeError(f"parts of {size} elements", where="SplitToSequence")
    return [min(size, extent - start) for start in range(0, extent, size)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Optional:
    """The value itself, or None; of what type an empty value would be does not matter."""

    type: Any = None

    def reference(self, value: Any = None) -> Any:
        return value


class OptionalHasElement:
    """Whether there is a value, 0-d bool."""

    def reference(self, value: Any = None) -> Any:
        return np.array(value is not None)


class OptionalGetElement:
    """The value. Raises `ShapeError` if there is none."""

    def reference(self, value: Any) -> Any:
        if value is None:
            raise ShapeError("the optional value is empty", where="OptionalGetElement", hint="ask OptionalHasElement before")
        return value


define("SequenceConstruct", SequenceConstruct, since=11)
define("SequenceEmpty", SequenceEmpty, since=11)
define("SequenceLength", SequenceLength, since=11)
define("SequenceAt", SequenceAt, since=11)
define("SequenceInsert", SequenceInsert, since=11)
define("SequenceErase", SequenceErase, since=11)
define("SequenceMap", SequenceMap, since=17)
define("SplitToSequence", SplitToSequence, since=11)
define("ConcatFromSequence", ConcatFromSequence, since=11)
define("Optional", Optional, since=15)
define("OptionalHasElement", OptionalHasElement, since=15)
define("OptionalGetElement", OptionalGetElement, since=15)
