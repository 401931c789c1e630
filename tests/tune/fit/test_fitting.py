"""The fit of the price's coefficients: its solver, and known coefficients found again."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.coefficients import TERMS, Coefficients
from tilewright.machine.fit_files import FITTED
from tilewright.plan.model.price_features import unit_coefficients
from tilewright.tune.fit.fitting import (
    NAMES,
    Kernel,
    OperatorRow,
    crosswise,
    fit,
    non_negative,
    prices,
    quality,
    row_of,
    values_of,
)

CALL_S = 2e-6


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_solver_finds_the_best_of_all_active_sets(rows: int, columns: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    matrix = generator.standard_normal((rows, columns)) * 10.0 ** generator.integers(-6, 6, columns)
    target = generator.standard_normal(rows)
    found = non_negative(matrix, target)
    assert (found >= 0).all()
    best = np.linalg.norm(target)
    for free in product((False, True), repeat=columns):
        x = np.zeros(columns)
        if any(free):
            scale = np.linalg.norm(matrix[:, free], axis=0)
            x[list(free)] = np.linalg.lstsq(matrix[:, free] / scale, target, rcond=None)[0] / scale
        if (x >= 0).all():
            best = min(best, np.linalg.norm(matrix @ x - target))
    assert np.linalg.norm(matrix @ found - target) <= best + 1e-7


def synthetic(values: np.ndarray, seed: int = 0) -> list[Kernel]:
    """Kernels of one operator each that take exactly what these coefficients say; a third is bound by traffic."""
    generator = np.random.default_rng(seed)
    computing = np.array([name in ("arithmetic", "exp_cycles", "pass_cycles_per_vector", "row_cycles") for name in NAMES])
    kernels = []
    for number in range(200):
        units = generator.uniform(0, 1e-3, len(NAMES)) / np.maximum(values, 1e-3)
        own = units * computing
        bound = float(own @ values) * generator.choice([0.2, 0.5, 1.5])
        row = OperatorRow(own, units * ~computing, bound)
        unmeasured = Kernel(f"case {number % 5}", 1.0, (row,))
        kernels.append(replace(unmeasured, measured_s=float(prices([unmeasured], values, CALL_S)[0])))
    return kernels


def test_coefficients_are_found_again() -> None:
    """Up to the weight of the start: each of thirteen coefficients explains a thirteenth of a kernel's time."""
    start = values_of(Coefficients())
    truth = start * np.linspace(0.5, 2.0, len(NAMES))
    kernels = synthetic(truth)
    found = fit(kernels, start, CALL_S)
    assert np.abs(found / truth - 1).max() < 0.15
    fitted = quality(kernels, prices(kernels, found, CALL_S))
    assert fitted.median < 0.02 < quality(kernels, prices(kernels, start, CALL_S)).median
    assert quality(kernels, crosswise(kernels, start, CALL_S)).median < 0.05


def test_a_case_is_predicted_without_the_kernels_of_its_networks() -> None:
    """Whatever these took, predictions of a case that shares a network with them stay the same."""
    start = values_of(Coefficients())
    networks = {"case 0": {"A"}, "case 1": {"A", "B"}, "case 2": {"B"}, "case 3": {"C"}, "case 4": set()}
    kernels = [replace(kernel, networks=frozenset(networks[kernel.case])) for kernel in synthetic(1.5 * start)]
    slower = [replace(kernel, measured_s=3 * kernel.measured_s) if kernel.case == "case 1" else kernel for kernel in kernels]
    changes = np.abs(crosswise(slower, start, CALL_S) / crosswise(kernels, start, CALL_S) - 1)
    for case in networks:
        change = changes[[kernel.case == case for kernel in kernels]].max()
        assert (change == 0) == (case in ("case 0", "case 1", "case 2")), (case, change)


def test_regret_is_what_the_kernel_predicted_best_loses() -> None:
    kernels = [Kernel("a", 1.0, ()), Kernel("a", 2.0, ()), Kernel("b", 3.0, ()), Kernel("b", 6.0, ())]
    found = quality(kernels, np.array([2.0, 1.0, 3.0, 9.0]))
    assert found.regrets == {"a": 1.0, "b": 0.0}
    assert np.isclose(found.regret, np.sqrt(2) - 1)
    assert found.median == 0.5


def test_a_row_has_what_overlaps_with_traffic_apart() -> None:
    row = row_of({"arithmetic": 0.5, "seconds_into_L1": 0.25})
    assert row.longest_traffic_s == 0.25
    assert row.computing[NAMES.index("arithmetic")] == 0.5


def test_every_fitted_coefficient_is_a_feature_or_a_share_of_traffic() -> None:
    assert {*unit_coefficients(Coefficients()), *TERMS["traffic"]} >= set(FITTED)
