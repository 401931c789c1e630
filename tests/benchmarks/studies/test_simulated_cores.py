"""Simulated against measured: rates of threads together, rounds that count."""

from __future__ import annotations

import pytest

from benchmarks.studies.parts.together import rate_between
from benchmarks.studies.simulated_cores import Round, steady_rounds


def test_only_what_all_threads_run_beside_each_other_counts() -> None:
    assert rate_between([(0.0, 0), (1.0, 5), (3.0, 4)], 0.5, 2.5) == (2.5 + 3) / 2


def test_rounds_in_which_the_peak_moved_do_not_count() -> None:
    rounds = [Round(2.0, 1.0, 3.0, 2.0), Round(2.0, 1.98, 3.0, 1.5), Round(1.0, 1.02, 3.0, 2.9)]
    assert steady_rounds(rounds) == [rounds[1], rounds[2]]
    assert rounds[1].ratio == pytest.approx(2.0)
