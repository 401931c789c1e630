"""Fit the coefficients of the price to measured kernels, and compare them with those in use.

    python -m benchmarks.studies.schedules.fit_cost MEASUREMENTS.json [--write] [--cases]

MEASUREMENTS is what `benchmarks.studies.schedules.measure` wrote on this machine: schedules of many chains, each with its
seconds and the features of its plan (`plan.model.price_features`) by operator. An operator's price is the larger of its
computing and its traffic into each level, plus a share of all traffic, plus what is paid in any case. Given which of these is the
largest, it is linear in the coefficients: so both are found in turns, the coefficients by non-negative least squares on relative
errors, until nothing changes. Residuals beyond a tenth count by their size, not by its square: kernels that hit an effect outside
the model do not bend it. Coefficients that few kernels depend on stay near the values in use.

Every case is also predicted by a fit to all other cases, and these errors are the ones to quote. `--write` puts the fit into
`src/tilewright/plan/model/fits`.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.studies.schedules.least_squares import FloatArray, non_negative
from tilewright.machine.machine import Machine
from tilewright.plan.model import coefficients
from tilewright.plan.model.coefficients import FITTED, Coefficients, Fit, to_text
from tilewright.runtime import calibration

FITS = Path(coefficients.__file__).parent / "fits"
COMPUTING = ("arithmetic", "pass_cycles_per_vector", "exp_cycles", "row_cycles")
"""What overlaps with traffic."""
NAMES = tuple(FITTED)
TURNS = 15
ROBUST = 0.1
"""Relative residuals beyond this count by their size."""
PRIOR = 0.02
"""Weight of the values in use, in kernels: as if so large a share of all kernels had measured them exactly."""


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """Seconds per unit of every coefficient, in the order of `NAMES`: those that overlap with traffic, and all others."""

    computing: FloatArray
    paid: FloatArray
    longest_traffic_s: float
    spilled_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Kernel:
    """One measured kernel."""

    case: str
    measured_s: float
    operators: tuple[OperatorRow, ...]


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


def kernels_of(document: Mapping[str, Any]) -> list[Kernel]:
    """The kernels of a file of measurements, without those that are wrong or have no price.

    The clock of a core changes with the temperature and with its neighbours: seconds count as if it had its calibrated peak.
    """
    found = []
    for case in document["cases"]:
        slower = case["peak_flops_per_s"] / document["machine"]["peak_flops_per_s"]
        for plan in case["plans"]:
            if plan["measured_s"] and plan["features"]:
                rows = tuple(_row(one) for one in plan["features"].values())
                found.append(Kernel(case["case"], plan["measured_s"] * slower, rows))
    return found


def _row(features: Mapping[str, float]) -> OperatorRow:
    times = {name.removeprefix("seconds_into_"): time for name, time in features.items() if name.startswith("seconds_into_")}
    behind = sum(time for level, time in times.items() if level != "L1")
    known = {**features, "visible_l1_traffic": times.get("L1", 0.0), "visible_traffic": behind}
    computing = np.array([known.get(name, 0.0) if name in COMPUTING else 0.0 for name in NAMES])
    paid = np.array([known.get(name, 0.0) if name not in COMPUTING else 0.0 for name in NAMES])
    return OperatorRow(computing, paid, max(times.values(), default=0.0), known.get("spilled_s", 0.0))


@dataclass(frozen=True, slots=True)
class Table:
    """The operators of many kernels, one a row; `owner` is the number of the kernel."""

    computing: FloatArray
    paid: FloatArray
    longest_traffic_s: FloatArray
    spilled_s: FloatArray
    owner: np.ndarray[Any, np.dtype[np.int64]]
    count: int

    def price(self, values: FloatArray, call_s: float) -> FloatArray:
        """Predicted seconds of every kernel."""
        overlapping = np.maximum(self.computing @ values, self.longest_traffic_s)
        return call_s + self._summed(overlapping + self.paid @ values + self.spilled_s)

    def linear(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(seconds per unit of every coefficient, seconds that depend on none) of every kernel, where the largest stays it."""
        computes = self.computing @ values >= self.longest_traffic_s
        units = self.paid + np.where(computes[:, None], self.computing, 0.0)
        return self._summed(units), self._summed(self.spilled_s + np.where(computes, 0.0, self.longest_traffic_s))

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
        np.array([one.spilled_s for _, one in rows]),
        np.array([number for number, _ in rows], np.int64),
        len(kernels),
    )


def fit(kernels: Sequence[Kernel], start: FloatArray, call_s: float) -> FloatArray:
    """The coefficients that explain these kernels best, from `start`, towards which they are held."""
    values, measured = start, np.array([kernel.measured_s for kernel in kernels])
    scale = np.sqrt(PRIOR * len(kernels)) / np.maximum(start, 1e-3)
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


def quality(kernels: Sequence[Kernel], predicted: FloatArray) -> Quality:
    """Errors over all kernels, regret by case."""
    measured = np.array([kernel.measured_s for kernel in kernels])
    errors = np.abs(predicted - measured) / measured
    regrets = {}
    for case in dict.fromkeys(kernel.case for kernel in kernels):
        own = np.array([kernel.case == case for kernel in kernels])
        regrets[case] = float(measured[own][np.argmin(predicted[own])] / measured[own].min() - 1)
    return Quality(float(np.median(errors)), float(np.percentile(errors, 95)), regrets)


def prices(kernels: Sequence[Kernel], values: FloatArray, call_s: float) -> FloatArray:
    """Predicted seconds of every kernel."""
    return table(kernels).price(values, call_s)


def crosswise(kernels: Sequence[Kernel], start: FloatArray, call_s: float) -> FloatArray:
    """The price of every kernel by a fit to the kernels of all other cases."""
    predicted = np.zeros(len(kernels))
    for case in dict.fromkeys(kernel.case for kernel in kernels):
        own = np.array([kernel.case == case for kernel in kernels])
        values = fit([kernel for kernel in kernels if kernel.case != case], start, call_s)
        predicted[own] = prices([kernel for kernel in kernels if kernel.case == case], values, call_s)
    return predicted


def values_of(own: Coefficients) -> FloatArray:
    """The fitted coefficients in the order of `NAMES`."""
    functions = {f"{name}_cycles": cycles for name, cycles in own.function_cycles_per_vector}
    return np.array([functions[name] if name in functions else getattr(own, name) for name in NAMES])


def report(kernels: Sequence[Kernel], old: FloatArray, new: FloatArray, call_s: float) -> Quality:
    """Coefficients and quality, old and new; returns the quality of predictions by fits to other cases."""
    for name, before, after in zip(NAMES, old, new, strict=True):
        print(f"{name:28} {before:10.4g} {after:10.4g}  {FITTED[name]}")
    across = quality(kernels, crosswise(kernels, old, call_s))
    print(f"\n{len(kernels)} kernels, {len(across.regrets)} cases")
    for name, found in (("in use", old), ("fitted", new)):
        print(f"{name:15} {quality(kernels, prices(kernels, found, call_s))}")
    print(f"{'on other cases':15} {across}")
    return across


def by_case(kernels: Sequence[Kernel], values: FloatArray, call_s: float) -> None:
    """Median of predicted over measured seconds, and regret, case by case."""
    for case in dict.fromkeys(kernel.case for kernel in kernels):
        own = [kernel for kernel in kernels if kernel.case == case]
        predicted = prices(own, values, call_s)
        ratio = np.median(predicted / np.array([kernel.measured_s for kernel in own]))
        found = quality(own, predicted)
        print(f"{case:24} {len(own):4} kernels  ratio {ratio:5.2f}  error {found.median:6.1%}  regret {found.regret:6.1%}")


def fitted(machine: Machine, kernels: Sequence[Kernel], values: FloatArray, found: Quality) -> Fit:
    """What is stored; the residuals are those of predictions by fits to other cases."""
    return Fit(
        architecture=machine.architecture,
        vector_bits=machine.vector_bits,
        machine=machine.name,
        date=datetime.date.today().isoformat(),
        kernels=len(kernels),
        median_error=round(found.median, 4),
        error_95=round(found.error_95, 4),
        regret=round(found.regret, 4),
        values={name: float(f"{value:.4g}") for name, value in zip(NAMES, values, strict=True)},
    )


def main(words: Sequence[str] | None = None) -> None:
    """Read, fit, compare, and store."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("measurements", type=Path, help="the file that python -m benchmarks.studies.schedules.measure wrote")
    parser.add_argument("--write", action="store_true", help="store the fit in the package")
    parser.add_argument("--cases", action="store_true", help="print every case")
    options = parser.parse_args(words)
    machine = calibration.ensure()
    kernels = kernels_of(json.loads(options.measurements.read_text()))
    own = coefficients.coefficients_for(machine)
    old = values_of(own)
    new = fit(kernels, old, own.call_s)
    found = report(kernels, old, new, own.call_s)
    if options.cases:
        by_case(kernels, new, own.call_s)
    if options.write:
        path = FITS / f"{machine.architecture}-{machine.vector_bits}{coefficients.SUFFIX}"
        path.write_text(to_text(fitted(machine, kernels, new, found)))
        print(f"written to {path}")


if __name__ == "__main__":
    main()
