"""Kernels of short elements as parts of one program."""

import pytest

from tests.support.kernel_build import build
from tilewright.kernels import KernelSource, SourceKind
from tilewright.kernels.dialects.portable import DIALECT
from tilewright.kernels.interleaved_product import Arithmetic, interleaved_product_kernel
from tilewright.kernels.other_types.bf16 import BF16
from tilewright.kernels.other_types.integers import U8S8


@pytest.mark.parametrize("arithmetic", [BF16, U8S8], ids=lambda arithmetic: arithmetic.prefix)
def test_two_tiles_of_one_arithmetic_share_a_translation_unit(arithmetic: Arithmetic) -> None:
    kernels = [interleaved_product_kernel(DIALECT, arithmetic, rows, 1, peak_share=0.5) for rows in (1, 2)]
    sources = [kernel.emit(f"kernel_{kernel.rows}", None).content for kernel in kernels]
    assert build([KernelSource(SourceKind.C, "\n".join(map(str, sources)))], DIALECT.features, "gcc").exists()
