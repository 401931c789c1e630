"""Random tile programs inside of others leave what they leave alone, with integers that are known and that are not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.random.tiles import case
from tests.support.tiles import Case, Legalised, here, unequal
from tilewright.tile.builder import Builder
from tilewright.tile.interpreter import interpret
from tilewright.tile.passes.inline import Passed, inline
from tilewright.tile.program import Argument, Buffer, TileProgram
from tilewright.tile.rounding import Array
from tilewright.tile.verifier import verify

OFFSET = 3
"""Elements before those of a buffer of the inner program."""


def is_whole(one: Case) -> bool:
    """Statements on buffers and integers alone."""
    program = one.program
    return not program.tables and program.result is None and not any(isinstance(p, Argument) for p in program.parameters)


CASES = [one for one in (case(seed, f"tile{seed}") for seed in range(240)) if is_whole(one)]


def around(one: Case, *, is_known: bool) -> TileProgram:
    """A program that holds the one of a case, with buffers that begin earlier."""
    builder = Builder()
    buffers, integers = {}, {}
    for parameter, argument in zip(one.program.parameters, one.arguments, strict=True):
        if isinstance(parameter, Buffer):
            outer = builder.buffer(f"of_{parameter.name}", parameter.dtype, is_written=parameter.is_written)
            buffers[parameter.name] = Passed(outer, OFFSET)
        else:
            assert isinstance(parameter, str)
            assert isinstance(argument, int)
            integers[parameter] = argument if is_known else builder.integer(f"of_{parameter}")
    inline(builder, one.program, buffers, integers)
    return verify(builder.program("around"))


def moved(given: Array | int) -> Array | int:
    """Elements behind others."""
    return np.concatenate([np.zeros(OFFSET, given.dtype), given]) if isinstance(given, np.ndarray) else given


def test_most_programs_are_statements() -> None:
    assert len(CASES) > 60


@pytest.mark.parametrize("is_known", [True, False])
def test_inlined_programs_mean_the_same(is_known: bool) -> None:
    rendering = Legalised(here()[-1])
    for one in CASES:
        program = around(one, is_known=is_known)
        wanted = [given.copy() if isinstance(given, np.ndarray) else given for given in one.arguments]
        interpret(one.program, *wanted, fuses=rendering.fuses)
        kept = [given for given in one.arguments if isinstance(given, np.ndarray) or not is_known]
        found = [moved(given) for given in kept]
        rendering.functions([program])[0](*found)
        arrays = [given for given in found if isinstance(given, np.ndarray)]
        places = [pair for pair in zip(one.program.parameters, wanted, strict=True) if isinstance(pair[0], Buffer)]
        for (parameter, want), got in zip(places, arrays, strict=True):
            assert not unequal(parameter.dtype, want, got[OFFSET:]), one.seed
