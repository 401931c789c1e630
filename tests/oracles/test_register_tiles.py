"""Chimera's choice of the register tile (section V-B), as printed and as it runs best."""

from __future__ import annotations

from itertools import product

import pytest

from tests.oracles.register_tiles import chimera_tile
from tilewright.errors import PlanningError


def test_the_rule_as_printed() -> None:
    assert chimera_tile(32, strict=True) == (5, 5, 1)


@pytest.mark.parametrize(("registers", "tile"), [(32, (6, 4, 2)), (16, (6, 2, 2))])
def test_the_rule_with_at_least_two_broadcasts(registers: int, tile: tuple[int, int, int]) -> None:
    assert chimera_tile(registers) == tile


@pytest.mark.parametrize("registers", [8, 16, 32, 64])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("steps", [1, 24, 1000])
def test_no_tile_that_fits_has_a_higher_intensity(registers: int, strict: bool, steps: int) -> None:
    def intensity(rows: int, vectors: int) -> float:
        return rows * vectors * steps / (steps * (rows + vectors) + 2 * rows * vectors)

    chosen = chimera_tile(registers, strict=strict)
    assert chosen.rows * chosen.vectors + chosen.vectors + chosen.broadcasts <= registers
    for rows, vectors, broadcasts in product(range(1, registers), range(1, registers), range(1 if strict else 2, registers)):
        if rows % broadcasts == 0 and rows * vectors + vectors + broadcasts <= registers:
            assert intensity(rows, vectors) <= intensity(chosen.rows, chosen.vectors) + 1e-12


def test_too_few_registers() -> None:
    with pytest.raises(PlanningError, match="4 vector registers hold no tile"):
        chimera_tile(4)
