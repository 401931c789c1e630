"""Assembly of product tiles has the bits of the interpreter."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from itertools import product as pairs
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright.errors import UnsupportedOperation
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.kernels.contract import Along, Epilogue
from tilewright.kernels.tile_sources import ProgramEnding
from tilewright.leaves.matrix_tiles.epilogues import EpilogueBody
from tilewright.render.assembly.function import assembly, unit
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.dialects.registry import dialects
from tilewright.tile.interpreter import interpret
from tilewright.tile.products import arithmetic
from tilewright.tile.products.tile import LINE_BYTES, PLAIN, Options, Shape, product
from tilewright.tile.program import TileProgram
from tilewright.tile.types import BITS
from tilewright.tile.verifier import verify

ARITHMETIC = {
    "f32": arithmetic.F32,
    "f64": arithmetic.of_elements("float64"),
    "s32": arithmetic.of_elements("int32"),
    "u32": arithmetic.of_elements("uint32"),
    "s64": arithmetic.of_elements("int64"),
    "s16": arithmetic.of_dots("int16", "int16"),
    "u8s8": arithmetic.of_dots("uint8", "int8"),
    "s8u8": arithmetic.of_dots("int8", "uint8"),
    "pairs": arithmetic.of_pairs("uint8", "int8"),
    "apart": arithmetic.of_bytes_apart("int8", "uint8"),
    "bf16": arithmetic.of_widened("bfloat16", "bfloat16"),
}
BODY = apply("maximum", apply("add", apply("multiply", Load(0), Literal(0.5)), Load(1)), Literal(0.0))
BODY = apply("abs", apply("subtract", apply("negative", BODY), apply("divide", Load(2), Load(3))))
OPERANDS = (Along(rows=False, columns=True), Along(rows=True, columns=True, is_far=True), Along(rows=True, columns=False))
ENDING = ProgramEnding(Epilogue("ending", OPERANDS, values=EpilogueBody(BODY, ("float32",) * 3)))
OPTIONS = (
    Options(prefetch=("left",)),
    Options(prefetch=("left", "target")),
    Options(prefetch=("right",), is_wide=True),
    Options(prefetches_next=True),
    Options(reduction_loops=3),
    Options(unroll=2),
    Options(ending=ENDING),
    Options(ending=ENDING, is_streamed=True),
    Options(known=((0.0, 1.0, -1.0), (2.5, 0.0, 1.0), (0.0, 0.0, 0.0), (-1.0, 0.3, 0.0), (0.0, 0.0, -0.5))),
)
CASES = [
    *((name, dialect, (3, 2), PLAIN) for name, dialect in pairs(ARITHMETIC, ("avx512_vnni", "avx2"))),
    *(("f32", dialect, (5, 1), options) for dialect, options in pairs(("avx512", "avx2"), OPTIONS)),
    *(("f32", "avx512", shape, PLAIN) for shape in ((6, 4), (28, 1), (1, 8))),
]
NOT_IN_ASSEMBLY = {("s64", "avx2"), ("u8s8", "avx2"), ("s8u8", "avx2")}
"""AVX2 has no instruction for them."""
STEPS = (0, 1, 9)

pytestmark = pytest.mark.skipif(shutil.which("as") is None or shutil.which("ld") is None, reason="binutils are missing")


@pytest.mark.parametrize(
    ("name", "dialect", "shape", "options"),
    [pytest.param(*case, marks=pytest.mark.needs(*sorted(dialects()[case[1]].features))) for case in CASES],
)
def test_bits_are_those_of_the_interpreter(
    name: str, dialect: str, shape: tuple[int, int], options: Options, tmp_path: Path
) -> None:
    target = dialects()[dialect]
    how = ARITHMETIC[name]
    shapes = [Shape(*shape, target.lanes(how.total), has_part) for has_part in (False, True)]
    programs = {one: product(f"tile_{one.suffix}", how, one, options) for one in shapes}
    for one in programs.values():
        verify(one)
    if (name, dialect) in NOT_IN_ASSEMBLY:
        with pytest.raises(UnsupportedOperation):
            assembly(programs[shapes[0]], target)
        return
    library = _library(programs.values(), target, tmp_path)
    random = np.random.default_rng(0)
    for (one, program), k, is_strided in pairs(programs.items(), STEPS[options.prefetches_next :], (False, True)):
        given = _given(random, how, one, k, is_strided)
        names = [one if isinstance(one, str) else getattr(one, "name", "") for one in program.parameters]
        expected = given | {"c": _copy(given["c"])}
        interpret(program, *(expected[name] for name in names))
        function = getattr(library, program.name)
        function(*(ctypes.c_long(_address(given[name])) for name in names))
        np.testing.assert_array_equal(given["c"], expected["c"], f"{one} k={k} strided={is_strided}")


def _library(programs: Any, dialect: Dialect, directory: Path) -> ctypes.CDLL:
    texts = [assembly(one, dialect).replace("\t.hidden", "\t.protected") for one in programs]
    (directory / "tiles.s").write_text(unit(texts))
    subprocess.run(["as", "-o", "tiles.o", "tiles.s"], check=True, cwd=directory)
    subprocess.run(["ld", "-shared", "-z", "noexecstack", "-o", "tiles.so", "tiles.o"], check=True, cwd=directory)
    return ctypes.CDLL(str(directory / "tiles.so"))


def _address(value: Any) -> int:
    return value.ctypes.data if isinstance(value, np.ndarray) else int(value)


def _given(random: np.random.Generator, how: arithmetic.Arithmetic, shape: Shape, k: int, is_strided: bool) -> dict[str, Any]:
    columns, around, column = shape.vectors * shape.lanes, 3, 3 if is_strided else 1
    row, depth, pitch = columns * how.group + 1, k // how.group + 1, columns + (around if is_strided else 16)
    a_row = 4 * k * column + around
    return {
        **{"k": k, "k_1": 2, "k_2": 2, "a": _drawn(random, how.left, shape.rows * a_row + 8), "a_row": a_row},
        **{"a_column": column, "a_step_1": k * column, "a_step_2": 2 * k * column},
        **{"b": _drawn(random, how.right, 5 * depth * row + columns * how.group), "b_row": row, "b_step_1": 1, "b_step_2": 2},
        **{"c": _lines(random, how.total, shape.rows * pitch), "c_row": pitch, "accumulate": is_strided},
        **{f"e{i}": _drawn(random, "float32", shape.rows * columns) for i in range(len(OPERANDS))},
        **{f"e{i}_row": columns for i in range(len(OPERANDS))},
        **{"next": np.zeros(4096, np.float32), "next_step": 16, "lines": 7, "last": shape.lanes - 1},
    }


def _drawn(random: np.random.Generator, dtype: str, size: int) -> np.ndarray[Any, Any]:
    if dtype == "bfloat16":
        return (random.standard_normal(size).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if dtype.startswith("float"):
        return random.standard_normal(size).astype(dtype)
    return random.integers(0, 2 ** BITS[dtype] - 1, size, np.uint64).astype(dtype)


def _copy(lines: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same numbers, which begin with a cache line, too."""
    copied = _lines(np.random.default_rng(0), "int8", lines.nbytes).view(lines.dtype)
    copied[:] = lines
    return copied


def _lines(random: np.random.Generator, dtype: str, size: int) -> np.ndarray[Any, Any]:
    """Numbers that begin with a cache line."""
    numbers = _drawn(random, dtype, size + LINE_BYTES)
    first = -numbers.ctypes.data % LINE_BYTES // numbers.itemsize
    return numbers[first : first + size]


def test_a_tile_of_more_values_than_registers_is_refused() -> None:
    with pytest.raises(UnsupportedOperation, match="registers"):
        assembly(_tile(8, 4), dialects()["avx512"])


def _tile(rows: int, vectors: int) -> TileProgram:
    return product("tile", arithmetic.F32, Shape(rows, vectors, 16))
