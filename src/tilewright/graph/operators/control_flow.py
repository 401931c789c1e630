"""If and Loop: graphs as operands, called with arrays; they return tuples of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.definition import define

Body = Callable[..., Sequence[Any]]


def branch(condition: Any, *, then_branch: Body, else_branch: Body) -> Any:
    """The results of one of two graphs without operands."""
    return one_or_all(then_branch() if truth_of(condition, "If") else else_branch())


def loop(trip_count: Any = None, condition: Any = None, *initial: Any, body: Body, output_count: int = 1) -> Any:
    """`body(step, condition, *state) -> (condition, *state, *scans)` as long as the condition holds, `trip_count` times at most.

    Results are the last state and the scans of all steps, stacked (float32 of shape (0,) if there was no step). What a body
    says about going on counts only if there was a condition at first.
    """
    if trip_count is None and condition is None:
        raise UnsupportedOperation("a loop that never ends", where="Loop", why="it has neither a trip count nor a condition")
    limit = None if trip_count is None else _integer(trip_count)
    goes_on = condition is None or truth_of(condition, "Loop")
    state: Sequence[Any] = initial
    scans: list[list[Any]] = [[] for _ in range(output_count - len(initial))]
    step = 0
    while goes_on and (limit is None or step < limit):
        told, *results = body(np.array(step, np.int64), np.array(goes_on), *state)
        state, step = results[: len(initial)], step + 1
        goes_on = condition is None or truth_of(told, "Loop")
        for scan, element in zip(scans, results[len(initial) :], strict=False):
            scan.append(element)
    return one_or_all([*state, *(stacked(scan, "Loop") for scan in scans)])


def one_or_all(results: Sequence[Any]) -> Any:
    """A single result itself, several as a tuple."""
    return results[0] if len(results) == 1 else tuple(results)


def truth_of(condition: Any, where: str) -> bool:
    """The truth value in a tensor of one element."""
    if np.size(condition) != 1:
        raise ShapeError(f"a condition of {np.size(condition)} elements", where=where)
    return bool(np.asarray(condition).item())


def stacked(elements: Sequence[Any], where: str, axis: int = 0) -> Any:
    """The elements of all steps along a new axis. Raises `ShapeError` if their shapes differ."""
    if not elements:
        return np.zeros((0,), np.float32)
    if len({np.shape(element) for element in elements}) > 1:
        raise ShapeError("results of a body change their shape from step to step", where=where)
    return np.stack(elements, axis=axis)


def _integer(value: Any) -> int:
    if np.size(value) != 1:
        raise ShapeError(f"a trip count of {np.size(value)} elements", where="Loop")
    return int(np.asarray(value).item())


define("If", branch)
define("Loop", loop)
