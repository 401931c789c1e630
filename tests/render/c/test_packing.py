"""Packing into panels of every width, in every dialect, between guard pages: nothing is read or written beyond the operands."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from tests.support.dialects import DIALECTS
from tests.support.guarded import Floats, GuardedMemory, in_child
from tests.support.kernel_build import COMPILERS, command, dialect_library
from tilewright.kernels import VectorDialect
from tilewright.render.c.packing import PACKING

EXPORTS = """
EXPORT void panels(float *target, long stride, long width, const float *source, long row, long column, long rows, long columns) {
  tw_pack_panels(target, stride, width, source, row, column, rows, columns);
}
EXPORT void packed_rows(float *target, long to, const float *source, long row, long column, long rows, long columns) {
  tw_pack_rows(target, to, source, row, column, rows, columns);
}
"""
MINIMUM = "TW_INLINE long tw_min(long a, long b) { return a < b ? a : b; }\n"
WIDTHS = range(1, 65)
ROWS = (1, 7, 17, 33)


def strides(kind: str, rows: int, columns: int) -> tuple[int, int]:
    """(row, column) of a source: rows side by side, transposed, both apart, or rows with something in between."""
    return {"plain": (columns, 1), "transposed": (1, rows), "apart": (3 * columns, 3), "pitched": (columns + 5, 1)}[kind]


def check_panels(library: ctypes.CDLL, kind: str, width: int) -> None:
    for rows in ROWS:
        for columns in sorted({1, width - 1, width, width + 1, 2 * width, 3 * width - 1} - {0}):
            for at_end in (True, False):
                panels = -(-columns // width)
                source, row, column = placed(kind, rows, columns, at_end)
                memory = GuardedMemory(4 * panels * rows * width)
                target = memory.place(panels * rows * width, at_end=at_end)
                target[:] = np.nan
                library.panels(address(target), rows * width, width, address(source), row, column, rows, columns)
                wanted = np.zeros((rows, panels * width), np.float32)
                wanted[:, :columns] = seen(source, row, column, rows, columns)
                found = target.reshape(panels, rows, width).transpose(1, 0, 2).reshape(rows, -1)
                assert np.array_equal(found, wanted), (kind, width, rows, columns)


def check_rows(library: ctypes.CDLL, kind: str, columns: int) -> None:
    for rows in ROWS:
        for at_end in (True, False):
            source, row, column = placed(kind, rows, columns, at_end)
            memory = GuardedMemory(4 * rows * columns)
            target = memory.place(rows * columns, at_end=at_end)
            library.packed_rows(address(target), columns, address(source), row, column, rows, columns)
            wanted = seen(source, row, column, rows, columns)
            assert np.array_equal(target.reshape(rows, columns), wanted), (kind, rows, columns)


def placed(kind: str, rows: int, columns: int, at_end: bool) -> tuple[Floats, int, int]:
    row, column = strides(kind, rows, columns)
    count = (rows - 1) * row + (columns - 1) * column + 1
    memory = GuardedMemory(4 * count)
    source: Floats = memory.place(count, at_end=at_end)
    source[:] = np.arange(1, count + 1)
    kept.append(memory)
    return source, row, column


kept: list[GuardedMemory] = []


def seen(source: Floats, row: int, column: int, rows: int, columns: int) -> Floats:
    return np.lib.stride_tricks.as_strided(source, (rows, columns), (4 * row, 4 * column))


def address(array: Floats) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def check_all(library: ctypes.CDLL, check: Callable[[ctypes.CDLL, str, int], None], kind: str) -> None:
    for name, letters in (("panels", "pllpllll"), ("packed_rows", "plpllll")):
        getattr(library, name).argtypes = [ctypes.c_void_p if letter == "p" else ctypes.c_long for letter in letters]
    for width in WIDTHS:
        check(library, kind, width)
        kept.clear()


@pytest.mark.parametrize("kind", ["plain", "transposed", "apart", "pitched"])
@pytest.mark.parametrize("check", [check_panels, check_rows])
@pytest.mark.parametrize("dialect", [pytest.param(one, id=one.name, marks=pytest.mark.needs(*one.features)) for one in DIALECTS])
def test_every_width_is_packed_inside_its_memory(
    dialect: VectorDialect, check: Callable[[ctypes.CDLL, str, int], None], kind: str
) -> None:
    compiler = next(filter(command, COMPILERS))
    in_child(check_all, dialect_library(dialect, compiler, MINIMUM + PACKING.text + EXPORTS), check, kind)
