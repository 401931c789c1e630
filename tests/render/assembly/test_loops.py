"""Assembly of loops around vectors has the bits of the interpreter: addresses, masks, choices, and shuffles."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tilewright.leaves.tile_programs.copies.transposition import transposed
from tilewright.render.assembly.function import assembly, unit
from tilewright.tile.builder import Builder
from tilewright.tile.dialects.registry import dialects
from tilewright.tile.interpreter import interpret
from tilewright.tile.operations import IntegerOperation
from tilewright.tile.program import TileProgram
from tilewright.tile.types import vector
from tilewright.tile.verifier import verify

pytestmark = [
    pytest.mark.skipif(shutil.which("as") is None or shutil.which("ld") is None, reason="binutils are missing"),
    pytest.mark.needs("avx512f"),
]
INTEGERS = ((9, 37, 40, 50), (1, 16, 33, 20), (4, 5, 7, 64))
"""Rows, columns, and the strides of the source and the target."""
LANES = 16
FLOATS = vector("float32", LANES)


def _rows(b: Builder) -> None:
    """Rows with a remainder that each loop computes anew, and an end that is a difference."""
    rows, columns, x, y, row, to = _parameters(b)
    with b.loop("i", 0, rows - 1, 2) as i:
        with b.loop("j", 0, columns - (LANES - 1), LANES) as j:
            for part in range(2):
                b.store(y, (i + part) * to + j, b.load(x, (i + part) * row + j, FLOATS))
        rest = b.define(IntegerOperation.REMAINDER, columns, LANES)
        with b.when(rest):
            mask = b.prefix(rest, FLOATS)
            for part in range(2):
                b.store(y, (i + part) * to + columns - rest, b.load(x, (i + part) * row + columns - rest, FLOATS, mask), mask)
    last = b.define(IntegerOperation.REMAINDER, rows, 2)
    with b.loop("k", rows - last, rows) as k, b.loop("j", 0, columns - (LANES - 1), LANES) as j:
        b.store(y, k * to + j, b.load(x, k * row + j, FLOATS))
        with b.when(b.define(IntegerOperation.LESS, j, 1)):
            count = b.define(IntegerOperation.MINIMUM, columns - j - LANES, LANES)
            mask = b.prefix(count, FLOATS)
            b.store(y, k * to + j + LANES, b.load(x, k * row + j + LANES, FLOATS, mask), mask)


def _largest(b: Builder) -> None:
    """A choice by a comparison: the largest of a column, NaN where there is one."""
    rows, columns, x, y, row, _ = _parameters(b)
    with b.loop("j", 0, columns - (LANES - 1), LANES) as j:
        found = b.variable(b.constant(-np.inf, FLOATS))
        with b.loop("i", 0, rows) as i:
            value = b.load(x, i * row + j, FLOATS)
            larger = b.select(found > value, found, value)
            b.assign(found, b.select(found.differs(found), found, larger))
        b.store(y, j, found)


def _turned(b: Builder) -> None:
    """Squares that are transposed, at places that follow each other, and every other element."""
    _, columns, x, y, row, to = _parameters(b)
    with b.loop("j", 0, columns - (LANES - 1), LANES) as j:
        place, values = j, []
        for _ in range(LANES):
            place = b.define(IntegerOperation.OPAQUE, place)
            values.append(b.load(x, place, FLOATS))
            place = place + row
        for number, value in enumerate(transposed(b, values)):
            b.store(y, j * to + number * LANES, value)
        b.store(y, j, b.shuffle(values[:2], range(0, 2 * LANES, 2)))


def _in_scratch(b: Builder) -> None:
    """Rows that lie in two scratch memories of their own while integers are divided, by more words than there are registers."""
    rows, columns, x, y, row, to = _parameters(b)
    first, second = (b.scratch(name, "float32", 4 * LANES) for name in ("first", "second"))
    with b.loop("j", 0, columns - (LANES - 1), LANES) as j:
        quotients = [b.define(IntegerOperation.FLOOR_DIVIDE, rows + number, row) for number in range(18)]
        for number in range(4):
            value = b.load(x, j + number * row, FLOATS)
            b.store(first, number * LANES, value)
            b.store(second, (3 - number) * LANES, value)
        with b.loop("i", 0, 4) as i:
            b.store(y, j * to + i * LANES, b.load(first, i * LANES, FLOATS) + b.load(second, i * LANES, FLOATS))
        b.store(y, j * to + 4 * LANES + sum(quotients[1:], quotients[0]), b.load(second, 0, FLOATS))


def _parameters(b: Builder):
    rows, columns = b.integer("rows"), b.integer("columns")
    x, y = b.buffer("x", "float32"), b.buffer("y", "float32", is_written=True)
    return rows, columns, x, y, b.integer("row"), b.integer("to")


@pytest.mark.parametrize("build", [_rows, _largest, _turned, _in_scratch])
def test_bits_are_those_of_the_interpreter(build: Callable[[Builder], None], tmp_path: Path) -> None:
    builder = Builder()
    build(builder)
    program = builder.program("loops")
    verify(program)
    function = _compiled(program, tmp_path)
    source = np.random.default_rng(0).standard_normal(4000).astype(np.float32)
    source[::7] = np.nan
    for rows, columns, row, to in INTEGERS:
        own, expected = np.zeros(4000, np.float32), np.zeros(4000, np.float32)
        interpret(program, rows, columns, source, expected, row, to)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (source, own)]
        function(*pointers, *map(ctypes.c_long, (rows, columns, row, to)))
        np.testing.assert_array_equal(own.view(np.uint32), expected.view(np.uint32))


def test_a_step_far_ahead_takes_no_pointers_between() -> None:
    """Six rows of a slice that begins at step 53: a loop moves the pointers of rows alone."""
    builder = Builder()
    steps, _, x, y, row, step = _parameters(builder)
    total = builder.variable(builder.constant(0, FLOATS))
    with builder.loop("p", 0, steps) as p:
        for number in range(6):
            builder.assign(total, total + builder.broadcast(x, (p + 53) * step + number * row, FLOATS))
    builder.store(y, 0, total)
    text = assembly(builder.program("sums"), dialects()["avx512"])
    moves = text[text.index("_1:") :].count("\tadd ")
    assert moves <= 3, text


def _compiled(program: TileProgram, directory: Path):
    """The function, which takes its pointers before its integers."""
    text = assembly(program, dialects()["avx512"], order=(2, 3, 0, 1, 4, 5))
    (directory / "loops.s").write_text(unit([text.replace("\t.hidden", "\t.protected")]))
    subprocess.run(["as", "-o", "loops.o", "loops.s"], check=True, cwd=directory)
    subprocess.run(["ld", "-shared", "-z", "noexecstack", "-o", "loops.so", "loops.o"], check=True, cwd=directory)
    return ctypes.CDLL(str(directory / "loops.so")).loops
