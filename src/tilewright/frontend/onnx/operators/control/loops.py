"""Loop and Scan: graphs that are called again and again, or along an axis of operands.

Bodies are called with arrays and return sequences of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.operands import single
from tilewright.graph.shapes import normalize_axis

Body: TypeAlias = Callable[..., Sequence[Any]]


def single_or_tuple(results: Sequence[Any]) -> Any:
    """A single result itself, several as a tuple."""
    return results[0] if len(results) == 1 else tuple(results)


def stacked(elements: Sequence[Any], where: str, axis: int = 0) -> Any:
    """The elements of all steps along a new axis. Raises `ShapeError` if their shapes differ."""
    if not elements:
        return np.zeros((0,), np.float32)
    if len({np.shape(element) for element in elements}) > 1:
        raise ShapeError("results of a body change their shape from step to step", where=where)
    return np.stack(elements, axis=axis)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """`body(step, condition, *state) -> (condition, *state, *scans)` while the condition holds, `trip_count` times at most.

    Results are the last state and the scans of all steps, stacked (float32 of shape (0,) if there was no step). The conditions of
    the body count only if there was a condition at first.
    """

    body: Body
    output_count: int = 1

    def reference(self, trip_count: Any = None, condition: Any = None, *initial: Any) -> Any:
        if trip_count is None and condition is None:
            raise UnsupportedOperation("a loop that never ends", where="Loop", why="it has neither a trip count nor a condition")
        limit = None if trip_count is None else int(single(trip_count, "Loop"))
        goes_on = condition is None or bool(single(condition, "Loop"))
        state: Sequence[Any] = initial
        scans: list[list[Any]] = [[] for _ in range(self.output_count - len(initial))]
        step = 0
        while goes_on and (limit is None or step < limit):
            next_condition, *results = self.body(np.array(step, np.int64), np.array(goes_on), *state)
            state, step = results[: len(initial)], step + 1
            goes_on = condition is None or bool(single(next_condition, "Loop"))
            for scan, element in zip(scans, results[len(initial) :], strict=False):
                scan.append(element)
        return single_or_tuple([*state, *(stacked(scan, "Loop") for scan in scans)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """`body(*state, *elements) -> (*state, *scans)` for the elements of the last `num_scan_inputs` operands along their axes.

    Results are the last state and the scans of all steps, stacked along their axes. Direction 1 begins at the end.
    """

    body: Body
    num_scan_inputs: int
    scan_input_axes: Sequence[int] = ()
    scan_input_directions: Sequence[int] = ()
    scan_output_axes: Sequence[int] = ()
    scan_output_directions: Sequence[int] = ()
    output_count: int = 1

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
        return single_or_tuple([*state, *outputs])


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanBefore9:
    """The same for every member of a batch (axis 0 of all operands and results), along axis 1, as long as `lengths` says.

    The scans of shorter members end with zeros.
    """

    body: Body
    num_scan_inputs: int
    directions: Sequence[int] = ()
    output_count: int = 1

    def reference(self, lengths: Any, *operands: Any) -> Any:
        count = _state_count(operands, self.num_scan_inputs)
        longest = operands[count].shape[1] if operands[count].ndim > 1 else 0
        members = []
        for member in range(operands[count].shape[0]):
            steps = longest if lengths is None else int(lengths[member])
            rows = _directed([x[member, :steps] for x in operands[count:]], self.directions)
            state, scans = _steps(self.body, [s[member] for s in operands[:count]], rows, self.output_count - count)
            members.append([*state, *(_lengthened(stacked(elements, "Scan"), longest) for elements in scans)])
        return single_or_tuple([np.stack(results) for results in zip(*members, strict=True)])


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


def _lengthened(scan: Any, longest: int) -> Any:
    return np.pad(scan, [(0, longest - len(scan)), *((0, 0) for _ in scan.shape[1:])])


def _state_count(operands: Sequence[Any], scan_inputs: int) -> int:
    if not 1 <= scan_inputs <= len(operands):
        raise ShapeError(f"{scan_inputs} scan inputs among {len(operands)} operands", where="Scan")
    return len(operands) - scan_inputs


def _padded(values: Sequence[int], count: int) -> Sequence[int]:
    if values and len(values) != count:
        raise ShapeError(f"{len(values)} axes or directions for {count} operands", where="Scan")
    return values or (0,) * count


define("Loop", Loop)
define("Scan", ScanBefore9, since=8)
define("Scan", Scan, since=9)
