"""Control flow: loops and scans over graphs, sequences of arrays, and optional values.

Loop and Scan: graphs that are called again and again, or along an axis of operands. Bodies are called with arrays and return
sequences of arrays. Sequences, lists of arrays, are made, asked, changed, mapped, cut and put together; optional values may be
None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import DTypeError, ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_function, onnx_operator
from tilewright.frontend.onnx.operators.operands import single
from tilewright.graph.shapes import normalize_axis

Body: TypeAlias = Callable[..., Sequence[Any]]


def stacked(elements: Sequence[Any], where: str, axis: int = 0) -> Any:
    """The elements of all steps along a new axis. Raises `ShapeError` if their shapes differ."""
    if not elements:
        return np.zeros((0,), np.float32)
    if len({np.shape(element) for element in elements}) > 1:
        raise ShapeError("results of a body change their shape from step to step", where=where)
    return np.stack(elements, axis=axis)


@onnx_function("Loop")
def loop(trip_count: Any = None, condition: Any = None, *initial: Any, body: Any, output_count: Any) -> Any:
    """`body(step, condition, *state) -> (condition, *state, *scans)` while the condition holds, `trip_count` times at most.

    Results are the last state and the scans of all steps, stacked (float32 of shape (0,) if there was no step). The conditions of
    the body count only if there was a condition at first.
    """
    if trip_count is None and condition is None:
        raise UnsupportedOperation("a loop that never ends", where="Loop", why="it has neither a trip count nor a condition")
    limit = None if trip_count is None else int(single(trip_count, "Loop"))
    goes_on = condition is None or bool(single(condition, "Loop"))
    state: Sequence[Any] = initial
    scans: list[list[Any]] = [[] for _ in range(output_count - len(initial))]
    step = 0
    while goes_on and (limit is None or step < limit):
        next_condition, *results = body(np.array(step, np.int64), np.array(goes_on), *state)
        state, step = results[: len(initial)], step + 1
        goes_on = condition is None or bool(single(next_condition, "Loop"))
        for scan, element in zip(scans, results[len(initial) :], strict=False):
            scan.append(element)
    return (*state, *(stacked(scan, "Loop") for scan in scans))


@onnx_operator("Scan", since=9)
class Scan(SchemaAttributes):
    """`body(*state, *elements) -> (*state, *scans)` for the elements of the last `num_scan_inputs` operands along their axes.

    Results are the last state and the scans of all steps, stacked along their axes. Direction 1 begins at the end.
    """

    def reference(self, *operands: Any) -> Any:
        count = _state_count(operands, self.num_scan_inputs)
        xs = operands[count:]
        axes = _padded(self.scan_input_axes, len(xs))
        along = [normalize_axis(axis, np.ndim(x), where="Scan") for x, axis in zip(xs, axes, strict=True)]
        rows = [np.moveaxis(x, axis, 0) for x, axis in zip(xs, along, strict=True)]
        rows = _directed(rows, self.scan_input_directions)
        state, scans = _steps(self.body, list(operands[:count]), rows, self.output_count - count)
        axes, backwards = (_padded(values, len(scans)) for values in (self.scan_output_axes, self.scan_output_directions))
        outputs = [_collected(elements, axis, back) for elements, axis, back in zip(scans, axes, backwards, strict=True)]
        return (*state, *outputs)


@onnx_function("Scan", since=8)
def scan_before_9(lengths: Any, *operands: Any, body: Any, directions: Any, num_scan_inputs: Any, output_count: Any) -> Any:
    """The same for every member of a batch (axis 0 of all operands and results), along axis 1, as long as `lengths` says.

    The scans of shorter members end with zeros.
    """
    count = _state_count(operands, num_scan_inputs)
    longest = operands[count].shape[1] if operands[count].ndim > 1 else 0
    members = []
    for member in range(operands[count].shape[0]):
        steps = longest if lengths is None else int(lengths[member])
        rows = _directed([x[member, :steps] for x in operands[count:]], directions)
        state, scans = _steps(body, [s[member] for s in operands[:count]], rows, output_count - count)
        found = [stacked(elements, "Scan") for elements in scans]
        members.append([*state, *(np.pad(scan, [(0, longest - len(scan)), *[(0, 0)] * (scan.ndim - 1)]) for scan in found)])
    return tuple([np.stack(results) for results in zip(*members, strict=True)])


def _directed(rows: Sequence[Any], directions: Sequence[int]) -> list[Any]:
    """Operands from their first element or, where the direction is 1, from their last."""
    return [row[::-1] if back else row for row, back in zip(rows, _padded(directions, len(rows)), strict=True)]


def _steps(body: Body, state: list[Any], rows: Sequence[Any], scan_count: int) -> tuple[list[Any], list[list[Any]]]:
    lengths = {len(row) for row in rows}
    if len(lengths) != 1:
        raise ShapeError(f"operands of different lengths along their scan axes: {sorted(lengths)}", where="Scan")
    scans: list[list[Any]] = [[] for _ in range(scan_count)]
    for elements in zip(*rows, strict=True):
        results = list(body(*state, *map(np.asarray, elements)))
        state, found = results[: len(state)], results[len(state) :]
        for scan, element in zip(scans, found, strict=False):
            scan.append(element)
    return state, scans


def _collected(elements: list[Any], axis: int, back: int) -> Any:
    along = normalize_axis(axis, np.ndim(elements[0]) + 1, where="Scan") if elements else 0
    return stacked(elements[::-1] if back else elements, "Scan", along)


def _state_count(operands: Sequence[Any], scan_inputs: int) -> int:
    if not 1 <= scan_inputs <= len(operands):
        raise ShapeError(f"{scan_inputs} scan inputs among {len(operands)} operands", where="Scan")
    return len(operands) - scan_inputs


def _padded(values: Sequence[int], count: int) -> Sequence[int]:
    if values and len(values) != count:
        raise ShapeError(f"{len(values)} axes or directions for {count} operands", where="Scan")
    return values or (0,) * count


@onnx_function("SequenceConstruct", since=11)
def sequence_construct(*tensors: Any) -> Any:
    """The list of the tensors."""
    return list(tensors)


@onnx_function("SequenceEmpty", since=11)
def sequence_empty() -> Any:
    """The empty list, whatever its elements would be."""
    return []


@onnx_function("SequenceLength", since=11)
def sequence_length(sequence: Any) -> Any:
    """The number of elements, 0-d int64."""
    return np.array(len(elements_of(sequence, "SequenceLength")), np.int64)


@onnx_function("SequenceAt", since=11)
def sequence_at(sequence: Any, position: Any) -> Any:
    """The element at a position; a negative position counts from the end."""
    elements = elements_of(sequence, "SequenceAt")
    return elements[_position(position, len(elements), "SequenceAt")]


@onnx_function("SequenceInsert", since=11)
def sequence_insert(sequence: Any, tensor: Any, position: Any = None) -> Any:
    """A new list with the tensor before `position`, or at the end."""
    elements = elements_of(sequence, "SequenceInsert")
    count = len(elements)
    before = count if position is None else int(single(position, "SequenceInsert"))
    if not -count <= before <= count:
        raise ShapeError(f"position {before} in a sequence of {count} elements", where="SequenceInsert")
    before += count if before < 0 else 0
    return [*elements[:before], tensor, *elements[before:]]


@onnx_function("SequenceErase", since=11)
def sequence_erase(sequence: Any, position: Any = None) -> Any:
    """A new list without the element at `position`, or without the last."""
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


@onnx_function("SequenceMap", since=17)
def sequence_map(sequence: Any, *operands: Any, body: Any, output_count: Any) -> Any:
    """`body` of every element, beside the elements of further sequences at its place and of tensors as they are."""
    elements = elements_of(sequence, "SequenceMap")
    if any(isinstance(operand, list) and len(operand) != len(elements) for operand in operands):
        raise ShapeError("sequences of different lengths", where="SequenceMap")
    results: list[list[Any]] = [[] for _ in range(output_count)]
    for number, element in enumerate(elements):
        arguments = (operand[number] if isinstance(operand, list) else operand for operand in operands)
        for collected, result in zip(results, body(element, *arguments), strict=True):
            collected.append(result)
    return tuple(results)


@onnx_function("SplitToSequence", since=11)
def split_to_sequence(x: Any, split: Any = None, *, axis: Any, keepdims: Any) -> Any:
    """The parts along an axis: of one element each, of `split` elements each, or as long as the elements of `split`."""
    along = normalize_axis(axis, np.ndim(x), where="SplitToSequence")
    cuts = np.cumsum(_lengths(split, x.shape[along]))[:-1]
    parts = np.split(x, cuts, axis=along)
    return parts if split is not None or keepdims else [np.squeeze(part, along) for part in parts]


@onnx_function("ConcatFromSequence", since=11)
def concat_from_sequence(sequence: Any, *, axis: Any, new_axis: Any) -> Any:
    """All elements in one tensor, along one of their axes or a new axis."""
    elements = elements_of(sequence, "ConcatFromSequence")
    if not elements:
        raise ShapeError("no tensors to concatenate", where="ConcatFromSequence")
    along = normalize_axis(axis, np.ndim(elements[0]) + bool(new_axis), where="ConcatFromSequence")
    try:
        return (np.stack if new_axis else np.concatenate)(elements, axis=along)
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


@onnx_function("Optional", since=15)
def optional(value: Any = None) -> Any:
    """The value itself, or None; of what type an empty value would be does not matter."""
    return value


@onnx_function("OptionalHasElement", since=15)
def optional_has_element(value: Any = None) -> Any:
    """Whether there is a value, 0-d bool."""
    return np.array(value is not None)


@onnx_function("OptionalGetElement", since=15)
def optional_get_element(value: Any) -> Any:
    """The value. Raises `ShapeError` if there is none."""
    if value is None:
        raise ShapeError("the optional value is empty", where="OptionalGetElement", hint="ask OptionalHasElement before")
    return value
