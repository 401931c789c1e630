"""The fit of the price's coefficients to measured kernels.

An operator's price is the larger of its computing and its traffic into each level, plus a share of all traffic, plus what is
paid in any case. Given which of these is the largest, it is linear in the coefficients: so both are found in turns, the
coefficients by non-negative least squares on relative errors, until nothing changes. Residuals beyond a tenth count by their
size, not by its square: kernels that hit an effect outside the model do not bend it. Coefficients that few kernels depend on
stay near the values that the fit starts from. Every case is also predicted by a fit without the networks that it is of, and these
errors are quoted: layers of one network are too alike to test each other.

Measured kernels are rows of a table: what each coefficient of the price costs them per unit, and what they took. The quality of
prices against that are errors, and what a choice by them loses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import nnls

from tilewright.coefficients import DEFAULT, Coefficients
from tilewright.machine.fit_files import FITTED
from tilewright.records import record

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
COMPUTING = ("arithmetic", "pass_cycles_per_vector", "exp_cycles", "row_cycles")
"""What overlaps with traffic as a whole, where features do not say which part does."""
NAMES = tuple(FITTED)


@record
class OperatorRow:
    """Seconds per unit of every coefficient, in the order of `NAMES`: those that overlap with traffic, and all others."""

    computing: FloatArray
    paid: FloatArray
    longest_traffic_s: float
    computing_s: float = 0.0
    """What overlaps with traffic and depends on no fitted coefficient."""
    paid_s: float = 0.0
    """All else that depends on none."""


@record
class Kernel:
    """One measured kernel."""

    case: str
    measured_s: float
    operators: tuple[OperatorRow, ...]
    kind: str = "chains"
    """Of cases: qualities are told by kind too."""
    networks: frozenset[str] = frozenset()
    """Of which the case is a part; without any, it is a network of its own."""
    name: str = ""
    """Of the algorithm, if it is of one."""

    @property
    def origin(self) -> frozenset[str]:
        """The networks, or the case."""
        return self.networks or frozenset((self.case,))


def row_of(features: Mapping[str, float]) -> OperatorRow:
    """An operator's features, as `plan.model.price_features` counts them."""
    times = {name.removeprefix("seconds_into_"): time for name, time in features.items() if name.startswith("seconds_into_")}
    behind = sum(time for level, time in times.items() if level != "L1")
    known = {**features, "visible_l1_traffic": times.get("L1", 0.0), "visible_traffic": behind}
    paid_s = known.get("paid_s", 0.0) + known.get("spilled_s", 0.0)
    total = np.array([known.get(name, 0.0) for name in NAMES])
    whole = {name: known.get(name, 0.0) if name in COMPUTING else 0.0 for name in NAMES}
    computing = np.array([known.get(f"{name}_computing", whole[name]) for name in NAMES])
    return OperatorRow(computing, total - computing, max(times.values(), default=0.0), known.get("computing_s", 0.0), paid_s)


@record
class Table:
    """The operators of many kernels, one a row; `owner` is the number of the kernel."""

    computing: FloatArray
    paid: FloatArray
    longest_traffic_s: FloatArray
    computing_s: FloatArray
    paid_s: FloatArray
    owner: np.ndarray[Any, np.dtype[np.int64]]
    count: int

    def price(self, values: FloatArray, call_s: float) -> FloatArray:
        """Predicted seconds of every kernel."""
        overlapping = np.maximum(self.computing @ values + self.computing_s, self.longest_traffic_s)
        return call_s + self._summed(overlapping + self.paid @ values + self.paid_s)

    def linear(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(seconds per unit of every coefficient, seconds that depend on none) of every kernel, where the largest stays it."""
        computes = self.computing @ values + self.computing_s >= self.longest_traffic_s
        units = self.paid + np.where(computes[:, None], self.computing, 0.0)
        return self._summed(units), self._summed(self.paid_s + np.where(computes, self.computing_s, self.longest_traffic_s))

    def _summed(self, figures: FloatArray) -> FloatArray:
        total = np.zeros((self.count, *figures.shape[1:]))
        np.add.at(total, self.owner, figures)
        return total


def table(kernels: Sequence[Kernel]) -> Table:
    """All operators of some kernels."""
    rows = [(number, one) for number, kernel in enumerate(kernels) for one in kernel.operators]
    return Table(
        np.array([one.computing for _, one in rows]).reshape(-1, len(NAMES)),
        np.array([one.paid for _, one in rows]).reshape(-1, len(NAMES)),
        np.array([one.longest_traffic_s for _, one in rows]),
        np.array([one.computing_s for _, one in rows]),
        np.array([one.paid_s for _, one in rows]),
        np.array([number for number, _ in rows], np.int64),
        len(kernels),
    )


def prices(kernels: Sequence[Kernel], values: FloatArray, call_s: float) -> FloatArray:
    """Predicted seconds of every kernel."""
    return table(kernels).price(values, call_s)


@record
class Quality:
    """How well prices explain measurements; errors are relative."""

    median: float
    error_95: float
    regrets: Mapping[str, float]
    """By case: seconds of the kernel predicted best over those of the fastest, minus 1."""

    @property
    def regret(self) -> float:
        """The geometric mean over the cases."""
        return float(np.exp(np.mean(np.log1p(list(self.regrets.values())))) - 1)

    def __str__(self) -> str:
        worst = max(self.regrets, key=lambda case: self.regrets[case])
        return (
            f"error median {self.median:6.1%}  95% {self.error_95:6.1%}"
            f"  regret {self.regret:6.1%} (worst {self.regrets[worst]:.1%}, {worst})"
        )


def quality(kernels: Sequence[Kernel], predicted: FloatArray) -> Quality:
    """Errors over all kernels, regret by case."""
    measured = np.array([kernel.measured_s for kernel in kernels])
    errors = np.abs(predicted - measured) / measured
    regrets = {}
    for case in dict.fromkeys(kernel.case for kernel in kernels):
        own = np.array([kernel.case == case for kernel in kernels])
        regrets[case] = float(measured[own][np.argmin(predicted[own])] / measured[own].min() - 1)
    return Quality(float(np.median(errors)), float(np.percentile(errors, 95)), regrets)


TURNS = 15
ROBUST = 0.1
"""Relative residuals beyond this count by their size."""
PRIOR = 0.02
"""Weight of the values that a fit starts from, in kernels: as if so large a share of all kernels had measured them exactly."""
LEAST_ERROR = 0.25
"""Of the default value: such a start holds no more strictly. The cost of a page was 1 cycle where caches held all operands of an
earlier fit, and is 27 where they come from memory."""


def fit(kernels: Sequence[Kernel], start: FloatArray, call_s: float) -> FloatArray:
    """The coefficients that explain these kernels best, from `start`, towards which they are held."""
    values, measured = start, np.array([kernel.measured_s for kernel in kernels])
    scale = np.sqrt(PRIOR * len(kernels)) / np.maximum(start, LEAST_ERROR * values_of(DEFAULT))
    rows = table(kernels)
    for _ in range(TURNS):
        units, constant = rows.linear(values)
        matrix, target = units / measured[:, None], 1 - (constant + call_s) / measured
        weights = np.sqrt(ROBUST / np.maximum(np.abs(matrix @ values - target), ROBUST))
        stacked = np.vstack([matrix * weights[:, None], np.diag(scale * ROBUST)])
        found = non_negative(stacked, np.concatenate([target * weights, scale * start * ROBUST]))
        if np.allclose(found, values, rtol=1e-4, atol=1e-9):
            break
        values = 0.5 * (values + found)
    return values


def crosswise(kernels: Sequence[Kernel], start: FloatArray, call_s: float) -> FloatArray:
    """The price of every kernel by a fit to the kernels that share no network with it."""
    predicted = np.zeros(len(kernels))
    for origin in dict.fromkeys(kernel.origin for kernel in kernels):
        own = np.array([kernel.origin == origin for kernel in kernels])
        values = fit([kernel for kernel in kernels if not kernel.origin & origin], start, call_s)
        predicted[own] = prices([kernel for kernel in kernels if kernel.origin == origin], values, call_s)
    return predicted


def values_of(own: Coefficients) -> FloatArray:
    """The fitted coefficients in the order of `NAMES`."""
    functions = {f"{name}_cycles": cycles for name, cycles in own.function_cycles_per_vector}
    return np.array([functions[name] if name in functions else getattr(own, name) for name in NAMES])


def non_negative(matrix: FloatArray, target: FloatArray) -> FloatArray:
    """The x >= 0 that minimises the length of `matrix @ x - target`; columns are scaled to length 1 while solving.

    `matrix` has a row per observation and a column per unknown.

    >>> non_negative(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, -1.0])).tolist()
    [2.0, 0.0]
    """
    lengths = np.linalg.norm(matrix, axis=0)
    lengths[lengths == 0] = 1.0
    found: FloatArray = nnls(matrix / lengths, target)[0] / lengths
    return found
