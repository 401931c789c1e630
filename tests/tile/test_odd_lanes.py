"""Values whose lanes are no power of two: what a dialect has registers for means the same in C, all else is refused."""

from __future__ import annotations

import pytest

from tests.support.tile_operations import cases
from tests.support.tiles import Case, InC, check, here
from tilewright.errors import InternalError
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.passes.legalise import legalise
from tilewright.tile.verifier import verify

EVERY = 19
"""One of so many operations is compiled; those of other lanes all are, in a sweep."""
REFUSALS = "have no halves", "is no whole number of registers"


def is_legal(case: Case, dialect: Dialect) -> bool:
    try:
        legalise(verify(case.program), dialect)
    except InternalError as error:
        if not any(reason in str(error) for reason in REFUSALS):
            raise
        return False
    return True


@pytest.mark.parametrize(("name", "lanes"), [("sse", 3), ("sse", 7), ("avx2", 5), ("avx512", 3), ("avx512", 17)])
def test_lanes_that_are_no_power_of_two(name: str, lanes: int) -> None:
    dialect = next((one for one in here() if one.name == name), None)
    if dialect is None:
        pytest.skip(f"no {name} here")
    drawn = [one for number, one in enumerate(cases(lanes)) if number % EVERY == lanes or one.program.name.startswith("any")]
    legal = [one for one in drawn if is_legal(one, dialect)]
    assert len(legal) > 9
    check(legal, InC(dialect))
