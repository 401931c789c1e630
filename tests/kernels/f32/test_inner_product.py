"""The text of the inner-product kernel. Results are checked in tests/contract, machine code in test_disassembly.py."""

from __future__ import annotations

import pytest

from tilewright.errors import TilewrightError
from tilewright.kernels.contract import DEPTH
from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.f32.inner_product import inner_product_kernel, inner_product_text

FORMS = ("", "_edge", "_strided", "_edge_strided")


def test_only_wanted_rows_are_there_in_all_forms() -> None:
    text = inner_product_text(AVX512, 4, "product", frozenset({(4, 1), (1, 1)}))
    for rows in (4, 1):
        assert all(f"void product_{rows}x1{form}(" in text for form in FORMS)
    assert "void product_2x1(" not in text


@pytest.mark.parametrize(("rows", "loads"), [(1, 16 + 4), (2, 16 + 4 * 2), (3, 16 + 4 * 3), (4, 16 + 4 * 4)])
def test_a_vector_of_a_column_is_loaded_once_for_all_rows(rows: int, loads: int) -> None:
    text = inner_product_text(AVX512, 4, "product", frozenset({(rows, 1)})).removeprefix(AVX512.prelude)
    whole = text[text.index(f"void product_{rows}x1(") : text.index(f"void product_{rows}x1_strided(")]
    assert "tw_load_strided" not in whole
    assert whole.count("= tw_load(b_") + whole.count("= tw_load(a +") == loads


def test_the_declaration_follows_from_the_dialect() -> None:
    kernel = inner_product_kernel(AVX2, 2, peak_share=0.5, prefetch=("right",))
    assert (kernel.rows, kernel.columns, kernel.lanes_along, kernel.right_by_columns) == (2, 8, DEPTH, True)
    assert kernel.name == "matmul_avx2_f32_2x8_inner_prefetch_right"


@pytest.mark.parametrize("shapes", [set(), {(5, 1)}, {(1, 2)}, {(0, 1)}])
def test_shapes_outside_the_tile_are_refused(shapes: set[tuple[int, int]]) -> None:
    with pytest.raises(TilewrightError, match="are not within the tile of 4 rows by 1 vector"):
        inner_product_text(AVX512, 4, "product", frozenset(shapes))
