"""Sixty random chains on the simulated NPU against the literal walk: `pytest -m sweep tests/sweeps/test_npu_chains.py`."""

from __future__ import annotations

import os

import pytest

from tests.support.npu_chains import chain_of, check, fitting_tiles, random_case
from tests.support.sweeps import FIRST_SEED

pytestmark = pytest.mark.sweep
FIRST = int(os.environ.get("TILEWRIGHT_SWEEP_SEED", FIRST_SEED))


@pytest.mark.parametrize("number", range(60))
def test_sixty_chains_with_planned_and_with_random_tiles(number: int) -> None:
    case = random_case(FIRST + number)
    check(case, seed=number)
    check(case, fitting_tiles(chain_of(case), FIRST + number), number)
