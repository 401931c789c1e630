"""Two thousand random programs of computed constants: `pytest -m sweep -s tests/sweeps/test_random_computed_constants.py`.

Seeds begin at TILEWRIGHT_SWEEP_SEED, for TILEWRIGHT_SWEEP_COUNT programs; the summary is printed.
"""

from __future__ import annotations

import pytest

from tests.support.sweeps import run_module, seeds


@pytest.mark.sweep
@pytest.mark.needs("ssse3", "sse4_1")
def test_random_computed_constants() -> None:
    told = run_module("tests.support.random.constants", seeds(2000))
    print(f"\n{told}")
    assert " 0 wrong, 0 internal error, 0 crashed" in told
