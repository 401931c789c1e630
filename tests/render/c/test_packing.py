"""Copies of operands: panels and rows hold what NumPy says, by the interpreter and by C in every dialect, between guard pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import cycle, product
from typing import Any

import numpy as np
import pytest

from tests.support.tiles import Case, InC, check, here
from tilewright.block.integers import IntegerExpression, Variable, VariableKind, evaluated
from tilewright.block.memory import BufferName, View
from tilewright.block.statements import Transfer
from tilewright.graph.types import element_bytes
from tilewright.leaves.declaration import PlaceArgument
from tilewright.leaves.tile_programs.copies.transfers import lowered
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.interpreter import interpret
from tilewright.tile.lanes import storage
from tilewright.tile.program import Buffer, TileProgram

Array = np.ndarray[Any, Any]
STRIDES = ("plain", "transposed", "apart", "every other", "pitched")
ROWS, COLUMNS = Variable(VariableKind.DEPTH, "d"), Variable(VariableKind.COLUMNS, "c")
ROW, COLUMN = Variable(VariableKind.STRIDE, "d"), Variable(VariableKind.STRIDE, "c")
SOURCE, TARGET = BufferName("x"), BufferName("y")


def strides(kind: str, rows: int, columns: int) -> tuple[int, int]:
    """(row, column) of a source: rows side by side, transposed, both apart, or rows with something in between."""
    known = {"plain": (columns, 1), "transposed": (1, rows), "apart": (3 * columns, 3), "every other": (2 * columns, 2)}
    return known.get(kind, (columns + 5, 1))


def copy_of(kind: str, dtype: str, width: int, interleave: int, rows: int, columns: int, *, is_known: bool) -> Transfer:
    """A copy into panels, or of rows where there is no width; of sizes that are known or given."""
    row, column = strides(kind, rows, columns) if is_known else (ROW, COLUMN)
    source = View(SOURCE, 0, (("d", row), ("c", column)), dtype)
    depth, across = (rows, columns) if is_known else (ROWS, COLUMNS)
    panel_stride = -(-rows // interleave) * interleave * width
    target = View(TARGET, 0, (), dtype)
    return Transfer(source, target, (), "d", depth, "c", across, width, panel_stride, 0 if width else columns, interleave)


def wanted(copy: Transfer, source: Array, rows: int, columns: int, row: int, column: int) -> Array:
    """What the target holds."""
    seen = np.lib.stride_tricks.as_strided(source, (rows, columns), (source.itemsize * row, source.itemsize * column))
    if not copy.panel_columns:
        return seen.ravel()
    steps, width = copy.interleave, copy.panel_columns
    whole = np.zeros((-(-rows // steps) * steps, -(-columns // width) * width), source.dtype)
    whole[:rows, :columns] = seen
    return whole.reshape(-1, steps, whole.shape[1] // width, width).transpose(2, 0, 3, 1).ravel()


def case_of(copy: Transfer, bits: int, kind: str, rows: int, columns: int) -> Case:
    """The call of a copy, whose result by the interpreter is that of NumPy."""
    row, column = strides(kind, rows, columns)
    known = {ROWS: rows, COLUMNS: columns, ROW: row, COLUMN: column}
    size = element_bytes(copy.source.dtype)
    count = (rows - 1) * row + (columns - 1) * column + 1
    of = storage(copy.source.dtype if copy.source.dtype != "bool" else "uint8")
    source = np.random.default_rng(rows).integers(0, 100, count * size, np.uint8).view(of)
    result = wanted(copy, source, rows, columns, row, column)
    found = lowered(copy, bits)
    target = np.full(result.size * size, 77, np.uint8).view(of)
    arguments = [passed(one, source, target, known) for one in found.arguments]
    case = Case(renamed(found.program), tuple(arguments))
    interpreted = [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
    interpret(case.program, *interpreted, fuses=True)
    written = next(
        one
        for parameter, one in zip(case.program.parameters, interpreted, strict=True)
        if isinstance(parameter, Buffer) and parameter.is_written
    )
    assert written.tobytes() == result.tobytes(), copy
    return case


def passed(one: object, source: Array, target: Array, known: Mapping[Variable, int]) -> Any:
    if isinstance(one, PlaceArgument):
        return source if one.buffer == SOURCE else target
    assert isinstance(one, IntegerExpression)
    return evaluated(one, known)


numbers = iter(range(1 << 20))


def renamed(program: TileProgram) -> TileProgram:
    return TileProgram(f"copy_{next(numbers)}", program.parameters, program.body, program.tables)


def cases(dtype: str, interleave: int, bits: int) -> Iterator[Case]:
    """Of each stride and width one or two shapes, known or given."""
    lanes = bits // 8 // element_bytes(dtype) // interleave
    shapes = cycle(((7, 5), (lanes + 3, lanes + 1), (2 * lanes, 2 * lanes), (1, 1), (3, 3 * lanes - 1)))
    widths = (0, 3, lanes, 2 * lanes) if interleave == 1 else (3, lanes)
    for (kind, width, is_known), (rows, columns) in zip(product(STRIDES, widths, (True, False)), shapes, strict=False):
        rows *= interleave if is_known else 1
        yield case_of(copy_of(kind, dtype, width, interleave, rows, columns, is_known=is_known), bits, kind, rows, columns)


DIALECTS = [pytest.param(one, id=one.name) for one in here() if one.name in ("portable", "avx2", "avx512")]
TYPES = [("float32", 1), ("float64", 1), ("int16", 1), ("uint8", 4), ("bfloat16", 2)]


@pytest.mark.parametrize(("dtype", "interleave"), TYPES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_copies_hold_what_numpy_says_inside_of_their_memory(dialect: Dialect, dtype: str, interleave: int) -> None:
    check(list(cases(dtype, interleave, dialect.vector_bits)), InC(dialect))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_rows_move_inside_of_a_buffer(dialect: Dialect) -> None:
    """To lower addresses, which may be those of rows that have been read."""
    rows, columns, row, shift = 5, 37, 40, 11
    source, target = View(SOURCE, shift, (("d", row), ("c", 1))), View(SOURCE, 0, ())
    found = lowered(Transfer(source, target, (), "d", rows, "c", columns, 0, 0, row), dialect.vector_bits)
    memory = np.arange(rows * row + shift, dtype=np.float32)
    wanted, given = memory.copy(), memory.copy()
    for p in range(rows):
        wanted[p * row : p * row + columns] = memory[p * row + shift : p * row + shift + columns]
    interpret(found.program, given, fuses=True)
    np.testing.assert_array_equal(given, wanted)
    check([Case(found.program, (memory,))], InC(dialect))
