"""Kernels whose lanes lie along the depth. Results are checked in tests/contract, machine code in test_disassembly.py."""

from __future__ import annotations

from collections import Counter

import pytest

from tilewright.errors import TilewrightError
from tilewright.kernels.contract import DEPTH, MicroKernel
from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.dialects.portable import DIALECT as PORTABLE
from tilewright.kernels.f32.inner_product import dot_product_kernel, inner_product_kernel
from tilewright.kernels.tile_sources import Programs
from tilewright.tile.operations import Operation
from tilewright.tile.program import For, Instruction, TileProgram, statements

INNER, DOTS = inner_product_kernel(AVX512, 4, peak_share=0.5), dot_product_kernel(AVX512, peak_share=0.5)


def programs(kernel: MicroKernel, *rows: int) -> dict[str, TileProgram]:
    source = kernel.emit("product", frozenset((one, 1) for one in rows)).content
    assert isinstance(source, Programs)
    return {one.name: one for one in source.programs()}


def loads(program: TileProgram) -> list[Counter[str]]:
    """How often each loop along the depth loads whole vectors of which buffer."""
    loops = [one for one in statements(program.body) if isinstance(one, For)]
    found = [[one for one in loop.body if isinstance(one, Instruction) and one.operation is Operation.LOAD] for loop in loops]
    return [Counter(str(one.detail).split("'")[1] for one in loop) for loop in found]


def test_only_wanted_rows_are_there_in_all_forms() -> None:
    forms = ("", "_edge", "_strided", "_edge_strided")
    assert {*programs(INNER, 4, 1)} == {f"product_{rows}x1{form}" for rows in (4, 1) for form in forms}
    assert {*programs(DOTS, 16, 3)} == {f"product_{rows}x1{form}" for rows in (16, 3) for form in ("", "_strided")}


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_a_vector_of_a_column_is_loaded_once_for_all_rows(rows: int) -> None:
    assert loads(programs(INNER, rows)[f"product_{rows}x1"]) == [Counter(a=rows, b=4)] * 4


def test_a_vector_of_the_column_is_loaded_once_for_four_rows() -> None:
    """Four steps a trip, then one, for every four rows."""
    assert loads(programs(DOTS, 16)["product_16x1"]) == [Counter(a=16, b=4), Counter(a=4, b=1)] * 4


def test_the_declaration_follows_from_the_dialect() -> None:
    kernel = inner_product_kernel(AVX2, 2, peak_share=0.5, prefetch=("right",))
    assert (kernel.rows, kernel.columns, kernel.lanes_along, kernel.right_by_columns) == (2, 8, DEPTH, True)
    assert kernel.name == "matmul_avx2_f32_2x8_inner_prefetch_right"
    kernel = dot_product_kernel(PORTABLE, peak_share=0.5)
    assert (kernel.rows, kernel.columns, kernel.lanes_along) == (4, 1, DEPTH)


@pytest.mark.parametrize(("kernel", "rows"), [(INNER, 4), (DOTS, 16)], ids=["inner", "dots"])
@pytest.mark.parametrize("shape", [(17, 1), (1, 2), (0, 1)])
def test_shapes_outside_the_tile_are_refused(kernel: MicroKernel, rows: int, shape: tuple[int, int]) -> None:
    with pytest.raises(TilewrightError, match=f"are not within the tile of {rows} rows by 1 vector"):
        kernel.emit("product", frozenset({shape}))
