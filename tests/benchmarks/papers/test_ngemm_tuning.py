"""Products of bytes are tuned over the planner's space, and the table has every figure; no time is judged."""

from __future__ import annotations

import pytest

from benchmarks.papers.ngemm_tuning import WEIGHT_BITS, measure_case, table
from tilewright_bench.cases.int8 import Int8Case
from tilewright_bench.cases.int8_shapes import Int8Shape


def test_a_product_is_measured_and_tabled() -> None:
    found = measure_case(Int8Case(Int8Shape(9, 48, 64), WEIGHT_BITS), 3, 0)
    assert (found["variants"], found["gain"] >= 1) == (3, True)
    assert found["planning_s"] < found["search_s"]
    head, row, mean, _, choice, best = table([found])
    assert head.split()[-2:] == ["planning", "ms"]
    assert row.split()[0] == "9x48x64"
    assert mean.startswith("geometric mean")
    assert all("matmul on matmul_" in line for line in (choice, best))


def test_a_gain_within_chance_is_none() -> None:
    figures = {"choice_s": 2e-6, "wins": 0.5, "variants": 60, "left_out": 0, "search_s": 4.0, "planning_s": 0.05}
    common = {"choice": "n by 64", "best": "n by 32", **figures}
    lines = table([{"case": "a", "ratio": 1.5, "gain": 1.5, **common}, {"case": "b", "ratio": 1.01, "gain": 1.0, **common}])
    assert lines[3].split()[2:4] == [f"{(1.5 * 1.01) ** 0.5:.3f}", f"{1.5**0.5:.3f}"]
    assert float(lines[1].split()[2]) == pytest.approx(1.3)
