"""Tile programs in C: a sample of all operations and types, in every dialect that runs here; all of them in `tests/sweeps`."""

from __future__ import annotations

import pytest

from tests.support.tile_operations import cases
from tests.support.tiles import InC, check, here
from tilewright.tile.dialects.description import Dialect

DIALECTS = here()
STEP = 23
"""Every so manieth case, from another one on for each dialect."""
CASES = cases(8)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_operations(dialect: Dialect) -> None:
    check(CASES[DIALECTS.index(dialect) :: STEP], InC(dialect))
