"""Searches by the compiled core and by the Python formulas: `pytest -m sweep -s tests/sweeps/test_searches.py`."""

from __future__ import annotations

import pytest

from tests.oracles.searches import compare_all
from tilewright.machine import targets


@pytest.mark.sweep
@pytest.mark.parametrize("machine", targets.names("cpu"))
def test_the_core_finds_what_the_formulas_find(machine: str) -> None:
    counts = compare_all(machine)
    print(machine, dict(counts))
    assert counts["equal"] > 1000
    assert not counts["different"]
