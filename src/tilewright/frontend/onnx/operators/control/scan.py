"""Scan: a graph applied along an axis of some operands, with a state that it hands on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.control.bodies import Body, single_or_tuple, stacked
from tilewright.graph.shapes import normalize_axis


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


define("Scan", ScanBefore9, since=8)
define("Scan", Scan, since=9)
