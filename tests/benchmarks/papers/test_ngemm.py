"""The kernels of `benchmarks.papers.ngemm` compute products, and its table has every figure; no time is judged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.papers import ngemm

GCC = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")


@GCC
@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize(("m", "n", "k"), [(4, 16, 32), (8, 48, 96), (4, 32, 1024)])
def test_every_kernel_is_right(tmp_path: Path, m: int, n: int, k: int) -> None:
    times = ngemm.measured(ngemm.compiled(tmp_path), m, n, k, rounds=1)
    assert set(times) == {*ngemm.CONVENTIONAL, ngemm.NGEMM}


def test_the_constant_of_the_model_is_found_again() -> None:
    ratios = [ngemm.expected_ratio(depth, 0.7) for depth in ngemm.DEPTHS]
    assert ngemm.fitted_constant(ngemm.DEPTHS, ratios) == pytest.approx(0.7)


def test_the_table_prints_measured_ratios_beside_those_of_equation_2() -> None:
    times = [
        {"horizontal_adds": 2e-6, "shuffles": 3e-6, "ngemm": 1e-6},
        {"horizontal_adds": 1.5e-6, "shuffles": 2e-6, "ngemm": 1e-6},
    ]
    lines = ngemm.table([64, 128], times, [1_000_000, 2_000_000])
    assert lines[1].split() == ["64", "500.0", "333.3", "1000.0", "2.00", "2.00", "3.00", "3.00"]
    assert "horizontal_adds: c3 = 0.400, at least 1.50 for K <= 128 (1.28 wanted)" in lines


def test_the_table_of_latencies_prints_both_sides_of_equation_1() -> None:
    models = {"horizontal_adds": ngemm.Latency(2e-9, 0.4e-9), "shuffles": ngemm.Latency(2e-9, 0.2e-9)}
    times = [
        {name: 10 * model.conventional(depth) for name, model in models.items()} | {"ngemm": 10 * models["shuffles"].ngemm(depth)}
        for depth in (64, 128)
    ]
    lines = ngemm.latency_table([64, 128], times, 10)
    assert lines[2].split() == ["64", "4.00", "4.00", "6.00", "6.00", "1.50", "5.00", "5.00", "1.25"]
    assert lines[-2:] == ["horizontal_adds: c1 = 0.400 ns, c2 = 2.000 ns", "shuffles: c1 = 0.200 ns, c2 = 2.000 ns"]
