from __future__ import annotations

import numpy as np
import pytest

from tilewright_bench.cases.case import LINE_BYTES, aligned
from tilewright_bench.cases.gemm import GemmCase, gemm_cases
from tilewright_bench.cases.gemm_shapes import DRAWN, SQUARES, TABLE_1, GemmShape, gemm_shape


def test_table_1_is_the_papers() -> None:
    assert [(shape.m, shape.n, shape.k) for shape in TABLE_1][:5] == [
        (128, 2048, 4096),
        (320, 3072, 4096),
        (1632, 36548, 1024),
        (2048, 4096, 32),
        (1024, 16, 500000),
    ]
    assert len(TABLE_1) == 10
    assert [shape.m for shape in SQUARES] == [16, 32, 48, 64, 96, 128]
    assert gemm_shape("84x1024x4096").operands == ((84, 4096), (4096, 1024))
    assert gemm_shape("2048x1x128").moved_bytes == 4 * (2048 * 128 + 128 + 2048)


def test_the_reference_adds_up_parts_of_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright_bench.cases.gemm.REFERENCE_ELEMENTS", 20)
    case = GemmCase(GemmShape(5, 3, 11))
    a, b = (operand.astype(np.float64) for operand in case.operands)
    np.testing.assert_allclose(case.reference, a @ b, rtol=1e-12)
    assert abs(a).max() <= 1


def test_products_of_other_types_fill_the_list_up_to_24() -> None:
    assert len({*TABLE_1, *SQUARES, *DRAWN}) == 24
    assert all(8 <= extent <= 2048 for shape in DRAWN for extent in (shape.m, shape.n, shape.k))


@pytest.mark.parametrize("dtype", ["int32", "int16"])
def test_no_sum_of_integers_leaves_32_bits(dtype: str) -> None:
    case = GemmCase(GemmShape(3, 2, 1000), dtype=dtype)
    assert case.moved_bytes == np.dtype(dtype).itemsize * 5 * 1000 + 4 * 6
    a, b = (abs(operand.astype(np.int64)) for operand in case.operands)
    assert a.max() * b.max() * 1000 < 2**31


def test_arrays_begin_at_lines() -> None:
    assert aligned((3, 5)).shape == (3, 5)
    assert all(aligned((3,)).ctypes.data % LINE_BYTES == 0 for _ in range(5))


def test_cases_that_may_change_come_first() -> None:
    cases = gemm_cases(("16x16x16", "2048x1x128"), (False, True))
    assert [(case.name, case.prepacked) for case in cases] == [
        ("16x16x16", False),
        ("2048x1x128", False),
        ("16x16x16", True),
        ("2048x1x128", True),
    ]
    assert len({case.table for case in cases}) == 4
