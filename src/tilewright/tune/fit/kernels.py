"""Measured kernels as rows of a table: what each coefficient of the price costs them per unit, what they took, and the quality of
prices against that: errors, and what a choice by them loses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tilewright.machine.fit_files import FITTED

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
COMPUTING = ("arithmetic", "pass_cycles_per_vector", "exp_cycles", "row_cycles")
"""What overlaps with traffic as a whole, where features do not say which part does."""
NAMES = tuple(FITTED)


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """Seconds per unit of every coefficient, in the order of `NAMES`: those that overlap with traffic, and all others."""

    computing: FloatArray
    paid: FloatArray
    longest_traffic_s: float
    computing_s: float = 0.0
    """What overlaps with traffic and depends on no fitted coefficient."""
    paid_s: float = 0.0
    """All else that depends on none."""


@dataclass(frozen=True, slots=True)
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


def kernels_of(case: Mapping[str, Any], peak_flops_per_s: float, networks: frozenset[str] = frozenset()) -> list[Kernel]:
    """The kernels of a measured case of these networks (`population.measure_case`), without wrong ones and those without a price.

    The least seconds count, which processes beside disturbed least. The clock of a core changes with the temperature and with its
    neighbours: seconds count as if it had its calibrated peak.
    """
    slower = case["peak_flops_per_s"] / peak_flops_per_s
    plans = (plan for plan in case["plans"] if plan["least_s"] and plan["features"])
    return [
        Kernel(case["case"], plan["least_s"] * slower, tuple(map(row_of, plan["features"].values())), networks=networks)
        for plan in plans
    ]


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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
