"""Random programs through plan, block program and interpreter: `pytest -m sweep -s tests/sweeps/test_block_programs.py`.

Seeds begin at TILEWRIGHT_SWEEP_SEED, for TILEWRIGHT_SWEEP_COUNT programs; some 1,000 a minute on one core.
"""

from __future__ import annotations

import pytest

from tests.support.sweeps import run_module, seeds


@pytest.mark.sweep
def test_many_programs() -> None:
    printed = run_module("tests.support.random.planned", seeds(20000))
    print(printed)
    assert " 0 wrong, 0 internal error, 0 crashed" in printed
