"""The estimates of the price of a GPU's kernels, fitted to measured seconds.

The price (`backends/triton_gpu/price.py`) is piecewise linear in 1 / share of the peak, clocks of a trip, clocks of a load, and
in the seconds of a launch and its fill, which it always adds: only their sum can be found. At each step the price is taken as
linear where it is; non-negative least squares on relative errors give the next place, and the way there is halved until the
errors fall. Prices that are maxima have more than one such end: the best of several starts counts. What no kernel's price
depends on keeps its estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Protocol, TypeAlias

import numpy as np

from tilewright.backends.triton_gpu.figures import Gpu

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
NAMES = ("product_share", "trip_cycles", "load_cycles", "launch_s + fill_s")
MOST_STEPS, HALVINGS = 50, 10
STEP = 1e-6
"""Relative, of differences."""
LEAST_GAIN = 1e-9
STARTS = ((1.0, 1.0, 1.0, 1.0), (2.0, 2.0, 2.0, 2.0), (0.5, 0.5, 0.5, 0.5), (2.0, 1.0, 1.0, 0.5), (0.5, 2.0, 2.0, 1.0))
"""Times the estimates."""
TINY = 1e-12


class Priced(Protocol):
    """A kernel whose seconds follow from figures of a GPU."""

    def seconds(self, gpu: Gpu) -> float:
        """Predicted by these figures."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Kernels that ran one after the other, and the measured seconds of all."""

    kernels: tuple[Priced, ...]
    seconds: float

    def predicted(self, gpu: Gpu) -> float:
        """By these figures."""
        return sum(kernel.seconds(gpu) for kernel in self.kernels)


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A figure as the target has it, and as measured; None where no price depends on it."""

    name: str
    estimate: float
    fitted: float | None


@dataclass(frozen=True, slots=True)
class Fit:
    """All coefficients, and the median relative error of predictions before and after."""

    coefficients: tuple[Coefficient, ...]
    error_before: float
    error_after: float
    observations: int


def fit(observations: Sequence[Observation], gpu: Gpu) -> Fit | None:
    """The coefficients that these measurements show; None without measurements."""
    if not observations:
        return None
    measured = np.array([one.seconds for one in observations])
    start = _vector(gpu)
    ends = [_descended(observations, gpu, measured, start * factors) for factors in STARTS]
    found = min(ends, key=lambda end: _loss(_predicted(observations, gpu, end), measured))
    moves = [bool(column.any()) for column in _slopes(observations, gpu, found).T]
    estimates, values = _figures(start), _figures(found)
    coefficients = zip(NAMES, estimates, values, moves, strict=True)
    before, after = (float(np.median(np.abs(_predicted(observations, gpu, at) / measured - 1))) for at in (start, found))
    fitted = tuple(Coefficient(name, old, new if moved else None) for name, old, new, moved in coefficients)
    return Fit(fitted, before, after, len(observations))


def _descended(observations: Sequence[Observation], gpu: Gpu, measured: FloatArray, start: FloatArray) -> FloatArray:
    """Where steps that make errors smaller end."""
    for _ in range(MOST_STEPS):
        better = _step(observations, gpu, measured, start)
        if better is None:
            break
        start = better
    return start


def _step(observations: Sequence[Observation], gpu: Gpu, measured: FloatArray, at: FloatArray) -> FloatArray | None:
    """A place with smaller errors; None where there is none."""
    predicted, slopes = _predicted(observations, gpu, at), _slopes(observations, gpu, at)
    active = slopes.any(0)
    wanted = measured - predicted + slopes @ at
    towards = np.where(active, 0.0, at)
    towards[active] = non_negative(slopes[:, active] / measured[:, None], wanted / measured)
    loss = _loss(predicted, measured)
    for halving in range(HALVINGS):
        place: FloatArray = at + (towards - at) * 0.5**halving
        if _loss(_predicted(observations, gpu, place), measured) < loss * (1 - LEAST_GAIN):
            return place
    return None


def non_negative(matrix: FloatArray, target: FloatArray) -> FloatArray:
    """The x >= 0 of the least |matrix x - target|, of a few columns: the best of the solutions on every set of columns.

    The solution of the problem is that of ordinary least squares on the columns where it is not 0 (Lawson and Hanson, Solving
    Least Squares Problems, chapter 23).

    >>> non_negative(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, -1.0])).tolist()
    [2.0, 0.0]
    """
    count = matrix.shape[1]
    found, least = np.zeros(count), float(np.linalg.norm(target))
    lengths = np.maximum(np.linalg.norm(matrix, axis=0), TINY * TINY)
    for size in range(1, count + 1):
        for columns in map(list, combinations(range(count), size)):
            part = np.linalg.lstsq(matrix[:, columns] / lengths[columns], target, rcond=None)[0] / lengths[columns]
            loss = float(np.linalg.norm(matrix[:, columns] @ part - target))
            if (part >= 0).all() and loss < least:
                found, least = np.zeros(count), loss
                found[columns] = part
    return found


def _vector(gpu: Gpu) -> FloatArray:
    """What the price is piecewise linear in."""
    return np.array([1 / gpu.product_share, gpu.trip_cycles, gpu.load_cycles, gpu.launch_s + gpu.fill_s])


def _figures(vector: FloatArray) -> list[float]:
    """In the order of `NAMES`."""
    inverse, *others = vector.tolist()
    return [1 / max(inverse, TINY), *others]


def _with(gpu: Gpu, vector: FloatArray) -> Gpu:
    share, trip, load, start = _figures(vector)
    return replace(gpu, product_share=share, trip_cycles=trip, load_cycles=load, launch_s=start, fill_s=0.0)


def _predicted(observations: Sequence[Observation], gpu: Gpu, vector: FloatArray) -> FloatArray:
    figures = _with(gpu, vector)
    return np.array([one.predicted(figures) for one in observations])


def _slopes(observations: Sequence[Observation], gpu: Gpu, vector: FloatArray) -> FloatArray:
    """Of every observation (rows) in every coefficient (columns), upwards."""
    base, columns = _predicted(observations, gpu, vector), []
    for number, value in enumerate(vector):
        step = STEP * max(value, TINY)
        moved = vector.copy()
        moved[number] += step
        slope = (_predicted(observations, gpu, moved) - base) / step
        columns.append(np.where(np.abs(slope) * max(value, TINY) > STEP * base, slope, 0.0))
    return np.stack(columns, 1)


def _loss(predicted: FloatArray, measured: FloatArray) -> float:
    return float(np.linalg.norm(predicted / measured - 1))
