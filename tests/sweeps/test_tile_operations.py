"""Tile programs in C: every operation, type and number of lanes, in every dialect that runs here, by each compiler."""

from __future__ import annotations

import pytest

from tests.support.kernel_build import COMPILERS, command
from tests.support.tile_operations import cases
from tests.support.tiles import InC, check, here
from tilewright.tile.dialects.description import Dialect

pytestmark = pytest.mark.sweep


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("compiler", [one for one in COMPILERS if command(one)])
@pytest.mark.parametrize("dialect", here(), ids=lambda dialect: dialect.name)
def test_operations(dialect: Dialect, compiler: str, lanes: int) -> None:
    check(cases(lanes), InC(dialect, compiler))
