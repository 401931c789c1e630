"""Searches with measurements, side by side."""

import pytest

pytest.importorskip("sklearn")

from benchmarks.papers.autotuners import SEARCHES, measure_case, table
from tilewright.tune.schedules.cases import Case, product


def test_every_search_is_measured_and_tabled() -> None:
    found = measure_case(Case("small", product, ((24, 16), (16, 40))), 2, 0)
    assert tuple(found["searches"]) == SEARCHES
    assert all(one["gain"] >= 1 for one in found["searches"].values())
    heading, row, mean = table([found])
    assert heading.split()[0] == "case"
    assert row.startswith("small")
    assert len(mean.split()) == 3 + 2 * len(SEARCHES)
