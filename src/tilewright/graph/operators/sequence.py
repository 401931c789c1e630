"""Sequences: lists of arrays, built, read, split from a tensor and concatenated into one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError
from tilewright.graph.definition import define
from tilewright.graph.shapes import normalize_axis


def construct(*tensors: Any) -> Any:
    """The list of the tensors."""
    return list(tensors)


def empty(*, dtype: int = 1) -> Any:
    """The empty list, whatever its elements would be."""
    return []


def length(sequence: Any) -> Any:
    """The number of elements, 0-d int64."""
    return np.array(len(_list(sequence, "SequenceLength")), np.int64)


def at(sequence: Any, position: Any) -> Any:
    """One element; a negative position counts from the end."""
    elements = _list(sequence, "SequenceAt")
    return elements[_position(position, len(elements), "SequenceAt")]


def insert(sequence: Any, tensor: Any, position: Any = None) -> Any:
    """A new list with the tensor before `position`, or at the end."""
    elements = _list(sequence, "SequenceInsert")
    count = len(elements)
    before = count if position is None else scalar_of(position, "SequenceInsert")
    if not -count <= before <= count:
        raise ShapeError(f"position {before} in a sequence of {count} elements", where="SequenceInsert")
    before += count if before < 0 else 0
    return [*elements[:before], tensor, *elements[before:]]


def erase(sequence: Any, position: Any = None) -> Any:
    """A new list without the element at `position`, or without the last."""
    elements = _list(sequence, "SequenceErase")
    gone = _position(-1 if position is None else position, len(elements), "SequenceErase")
    return [*elements[:gone], *elements[gone + 1 :]]


def apply_to_each(sequence: Any, *others: Any, body: Callable[..., Any], output_count: int = 1) -> Any:
    """`body` of every element, beside the elements of further sequences at its place and of tensors as they are."""
    elements = _list(sequence, "SequenceMap")
    if any(isinstance(other, list) and len(other) != len(elements) for other in others):
        raise ShapeError("sequences of different lengths", where="SequenceMap")
    results: list[list[Any]] = [[] for _ in range(output_count)]
    for number, element in enumerate(elements):
        operands = (other[number] if isinstance(other, list) else other for other in others)
        for collected, result in zip(results, body(element, *operands), strict=True):
            collected.append(result)
    return results[0] if output_count == 1 else tuple(results)


def split_to_sequence(x: Any, split: Any = None, *, axis: int = 0, keepdims: int = 1) -> Any:
    """The parts along an axis: of one element each, of `split` elements each, or as long as the elements of `split`."""
    along = normalize_axis(axis, np.ndim(x), where="SplitToSequence")
    cuts = np.cumsum(_lengths(split, x.shape[along]))[:-1]
    parts = np.split(x, cuts, axis=along)
    return parts if split is not None or keepdims else [np.squeeze(part, along) for part in parts]


def concat_from_sequence(sequence: Any, *, axis: int, new_axis: int = 0) -> Any:
    """All elements in one tensor, along one of their axes or a new one."""
    elements = _list(sequence, "ConcatFromSequence")
    if not elements:
        raise ShapeError("no tensors to concatenate", where="ConcatFromSequence")
    along = normalize_axis(axis, np.ndim(elements[0]) + bool(new_axis), where="ConcatFromSequence")
    try:
        return (np.stack if new_axis else np.concatenate)(elements, axis=along)
    except ValueError as error:
        raise ShapeError("tensors that do not fit together", where="ConcatFromSequence", why=str(error)) from error


def scalar_of(value: Any, where: str) -> int:
    """The integer in a tensor of one element."""
    if np.size(value) != 1:
        raise ShapeError(f"{np.size(value)} elements instead of one", where=where)
    return int(np.asarray(value).item())


def _list(sequence: Any, where: str) -> list[Any]:
    if not isinstance(sequence, list):
        raise DTypeError(f"{type(sequence).__name__} is no sequence", where=where)
    return sequence


def _position(position: Any, count: int, where: str) -> int:
    chosen = scalar_of(position, where)
    if not -count <= chosen < count:
        raise ShapeError(f"position {chosen} in a sequence of {count} elements", where=where)
    return chosen % count


def _lengths(split: Any, extent: int) -> list[int]:
    if split is not None and np.ndim(split) == 1:
        lengths = [int(one) for one in split]
        if min(lengths, default=0) < 0 or sum(lengths) != extent:
            raise ShapeError(f"an extent of {extent} does not split into {lengths}", where="SplitToSequence")
        return lengths
    size = 1 if split is None else scalar_of(split, "SplitToSequence")
    if size < 1:
        raise ShapeError(f"parts of {size} elements", where="SplitToSequence")
    return [min(size, extent - start) for start in range(0, extent, size)]


define("SequenceConstruct", construct, since=11)
define("SequenceEmpty", empty, since=11)
define("SequenceLength", length, since=11)
define("SequenceAt", at, since=11)
define("SequenceInsert", insert, since=11)
define("SequenceErase", erase, since=11)
define("SequenceMap", apply_to_each, since=17)
define("SplitToSequence", split_to_sequence, since=11)
define("ConcatFromSequence", concat_from_sequence, since=11)
