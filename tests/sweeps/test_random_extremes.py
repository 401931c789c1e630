"""Hundreds of programs of extreme sizes: `pytest -m sweep -s tests/sweeps/test_random_extremes.py`."""

from __future__ import annotations

import pytest

from tests.support.sweeps import run_module, seeds


@pytest.mark.sweep
def test_many_programs() -> None:
    printed = run_module("tests.support.random.extremes", seeds(400))
    print(printed)
    assert " 0 wrong, 0 internal error, 0 crashed" in printed
