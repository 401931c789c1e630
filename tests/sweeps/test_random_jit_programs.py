"""Two thousand random programs of traced functions: `pytest -m sweep -s tests/sweeps/test_random_jit_programs.py`."""

from __future__ import annotations

import pytest

from tests.support.sweeps import run_module, seeds


@pytest.mark.sweep
@pytest.mark.needs("ssse3", "sse4_1")
def test_many_programs() -> None:
    printed = run_module("tests.support.random.jit", seeds(2000))
    print(printed)
    assert " 0 wrong, 0 internal error, 0 crashed" in printed
