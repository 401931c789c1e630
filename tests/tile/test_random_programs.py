"""Random tile programs mean something, have all operations, and are the same for a seed."""

from __future__ import annotations

from tests.support.random.tiles import case
from tilewright.tile.operations import Operation
from tilewright.tile.printer import printed
from tilewright.tile.program import Instruction, statements
from tilewright.tile.verifier import verify

CASES = [case(seed) for seed in range(60)]


def test_programs_are_verified() -> None:
    for one in CASES:
        verify(one.program)


def test_seeds_decide() -> None:
    assert printed(case(7).program) == printed(CASES[7].program)


def test_all_operations_are_drawn() -> None:
    drawn = {made.operation for one in CASES for made in statements(one.program.body) if isinstance(made, Instruction)}
    assert set(Operation) - drawn == {Operation.OUTER}
