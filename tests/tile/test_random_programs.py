"""Random tile programs: they mean something, and legalisation, C and assembly leave what the interpreter does."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.random.tiles import case, register_case
from tests.support.tiles import Case, InAssembly, InC, Legalised, check, here
from tilewright.tile.builder import Builder
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.operations import Operation
from tilewright.tile.printer import printed
from tilewright.tile.program import Instruction, statements
from tilewright.tile.types import vector
from tilewright.tile.verifier import verify

CASES = [case(seed, f"tile{seed}") for seed in range(100)]
COMPILED = 8
"""Programs that are compiled for each dialect: others in `tests/sweeps/test_tile_programs.py`."""
DIALECTS = here()


def test_programs_are_verified() -> None:
    for one in CASES:
        verify(one.program)


def test_seeds_decide() -> None:
    assert printed(case(7, "tile7").program) == printed(CASES[7].program)


def test_all_operations_are_drawn() -> None:
    drawn = {made.operation for one in CASES for made in statements(one.program.body) if isinstance(made, Instruction)}
    assert set(Operation) == drawn


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_legalised(dialect: Dialect) -> None:
    check(CASES, Legalised(dialect))


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_in_c(dialect: Dialect) -> None:
    first = 10 * DIALECTS.index(dialect)
    check(CASES[first : first + COMPILED], InC(dialect))


@pytest.mark.parametrize("dialect", [one for one in DIALECTS if "fma" in one.features], ids=lambda dialect: dialect.name)
def test_in_assembly(dialect: Dialect) -> None:
    rendering, drawn = (
        InAssembly(dialect),
        (register_case(seed, f"tile{seed}", dialect.vector_bits) for seed in (*range(40), 8100548)),
    )
    found = [one for one in drawn if rendering.assembles(one.program)]
    assert len(found) > 10
    check(found, rendering)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_fractions_of_halves_are_rounded_down(dialect: Dialect) -> None:
    """In float32 they would be rounded once more, to nearest: 1 for small negative numbers."""
    halves, b, t = np.arange(3, 2**16, 64, dtype=np.uint16).view(np.float16), Builder(), vector("float16", 16)
    x, y = b.buffer("x", "float16"), b.buffer("y", "float16", is_written=True)
    with b.loop("i", 0, halves.size, t.lanes) as i:
        b.store(y, i, b.instruction(Operation.FRACTION, t, (b.load(x, i, t),)))
    check([Case(b.program("fractions"), (halves, np.zeros_like(halves)))], Legalised(dialect))
