"""The text of the dot-product kernel. What it computes is checked in tests/contract, its machine code in test_disassembly.py."""

from __future__ import annotations

import pytest

from tilewright.errors import TilewrightError
from tilewright.kernels.contract import DEPTH
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.dialects.portable import DIALECT as PORTABLE
from tilewright.kernels.f32.inner_product import dot_product_kernel, dot_product_text


def test_only_wanted_rows_are_there_in_both_forms() -> None:
    text = dot_product_text(AVX512, "product", frozenset({(16, 1), (3, 1)}))
    for suffix in ("16x1", "16x1_strided", "3x1", "3x1_strided"):
        assert f"void product_{suffix}(" in text
    assert "void product_4x1(" not in text


def test_contiguous_rows_are_not_gathered() -> None:
    text = dot_product_text(AVX512, "product", frozenset({(16, 1)})).removeprefix(AVX512.prelude)
    start = text.index("void product_16x1(")
    whole = text[start : text.index("void product_16x1_strided(")]
    assert "tw_load_strided(a" not in whole
    assert "tw_load_strided(b" not in whole
    assert whole.count("tw_multiply_add(tw_load(") == 16 * (4 + 1), "four steps a trip, then one"


def test_the_declaration_follows_from_the_dialect() -> None:
    kernel = dot_product_kernel(PORTABLE, peak_share=0.5)
    assert (kernel.rows, kernel.columns, kernel.lanes_along) == (4, 1, DEPTH)


@pytest.mark.parametrize("shapes", [set(), {(17, 1)}, {(1, 2)}, {(0, 1)}])
def test_shapes_outside_the_tile_are_refused(shapes: set[tuple[int, int]]) -> None:
    with pytest.raises(TilewrightError, match="are not within the tile of 16 rows by 1 vector"):
        dot_product_text(AVX512, "product", frozenset(shapes))
