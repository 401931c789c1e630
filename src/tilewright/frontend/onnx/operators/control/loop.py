"""Loop: a graph that is called again and again with its own results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.control.bodies import Body, single_or_tuple, stacked, truth_value


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
        limit = None if trip_count is None else _integer(trip_count)
        goes_on = condition is None or truth_value(condition, "Loop")
        state: Sequence[Any] = initial
        scans: list[list[Any]] = [[] for _ in range(self.output_count - len(initial))]
        step = 0
        while goes_on and (limit is None or step < limit):
            next_condition, *results = self.body(np.array(step, np.int64), np.array(goes_on), *state)
            state, step = results[: len(initial)], step + 1
            goes_on = condition is None or truth_value(next_condition, "Loop")
            for scan, element in zip(scans, results[len(initial) :], strict=False):
                scan.append(element)
        return single_or_tuple([*state, *(stacked(scan, "Loop") for scan in scans)])


def _integer(value: Any) -> int:
    if np.size(value) != 1:
        raise ShapeError(f"a trip count of {np.size(value)} elements", where="Loop")
    return int(np.asarray(value).item())


define("Loop", Loop)
