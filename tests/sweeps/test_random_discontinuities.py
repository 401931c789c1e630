"""Thousands of random programs that lead whole numbers to discontinuous functions; the summaries are printed.

Seeds begin at TILEWRIGHT_SWEEP_SEED, for TILEWRIGHT_SWEEP_COUNT programs of each way.
"""

from __future__ import annotations

import pytest

from tests.support.sweeps import run_module, seeds

COUNTS = {"rewrites": 3000, "traced rewrites": 2000, "algorithms": 500, "session": 500, "jit": 300}


@pytest.mark.sweep
@pytest.mark.needs("ssse3", "sse4_1")
@pytest.mark.parametrize("way", list(COUNTS))
def test_many_programs(way: str) -> None:
    told = run_module("tests.support.random.discontinuities", seeds(COUNTS[way]), "--way", way)
    print(f"\n{told}")
    assert " 0 wrong, 0 internal error, 0 crashed" in told
