"""Functions in C have the interpreter's bits, for each instruction set that this machine has."""

from __future__ import annotations

import platform
from functools import cache

import numpy as np
import pytest

from benchmarks.studies.parts.function_loops import WHOLE, Library, loop
from benchmarks.studies.parts.function_references import OF_TWO, REFERENCES
from tests.support.targets import executable_features
from tests.tile.test_functions import operands_of
from tilewright.tile.dialects.registry import best, dialects
from tilewright.tile.functions.registry import FAST, FLOATS, Function
from tilewright.tile.interpreter import interpret

FEATURES = executable_features()
BEST = best(platform.machine(), FEATURES).name
CASES = [
    pytest.param(one.name, dtype, marks=[pytest.mark.rest] * (one.name != BEST) + [pytest.mark.ci] * (dtype == "float64"))
    for one in dialects().values()
    for dtype in ("float32", "float64")
    if one.runs_on(platform.machine(), FEATURES) and (dtype == "float32" or one.name in {"portable", "avx2", BEST})
]
"""Functions of float64 take a compiler seconds: a few instruction sets are enough, and they are for `.ci/run`."""
NAMES = (*REFERENCES, "fmod", "mod", "floor_divide", "fast_erf")
PAIRS = OF_TWO | {"fmod", "mod", "floor_divide"}


def form(name: str) -> Function:
    """A function by name, or a short form of it."""
    return FAST[name.removeprefix("fast_")] if name.startswith("fast_") else FLOATS[name]


@cache
def library(dialect: str, dtype: str) -> Library:
    """All functions."""
    lanes = dialects()[dialect].lanes(dtype)
    return Library(dialects()[dialect], [loop(name, form(name), dtype, 1 + (name in PAIRS), lanes) for name in names(dtype)])


def names(dtype: str) -> list[str]:
    """The functions of a type."""
    return [name for name in NAMES if dtype == "float32" or not name.startswith("fast_")]


@pytest.mark.parametrize(("dialect", "dtype"), CASES)
def test_bits_are_those_of_the_interpreter(dialect: str, dtype: str) -> None:
    """In float32 a function may be another program in vectors of 512 bits."""
    lanes = dialects()[dialect].lanes(dtype) if dtype == "float32" else WHOLE
    for name in names(dtype):
        with np.errstate(all="ignore"):
            operands = operands_of("pow" if name in PAIRS else name, dtype, 200)
            found = library(dialect, dtype).computed(name, *operands)
            padded = [np.pad(one, (0, -one.size % WHOLE)) for one in operands]
            wanted = np.zeros_like(padded[0])
            program = loop(name, form(name), dtype, len(operands), lanes)
            interpret(program, wanted.size, *padded, wanted, fuses=dialects()[dialect].fuses)
        wanted = wanted[: found.size]
        differs = (found.view(f"u{found.itemsize}") != wanted.view(f"u{found.itemsize}")) & ~(np.isnan(found) & np.isnan(wanted))
        at = np.flatnonzero(differs)
        assert not at.size, (name, [one[at[:3]] for one in operands], found[at[:3]], wanted[at[:3]])
