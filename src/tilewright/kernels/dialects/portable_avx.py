"""The portable dialect in vectors of 8 lanes, for x86 with AVX: for CPUs without AVX2 or FMA, whose registers are as wide.

Its products and sums are two instructions, whatever features it is compiled for.
"""

from __future__ import annotations

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.dialects.portable import portable_dialect

TEXTS = CTexts(__file__)


DIALECT = portable_dialect("portable_avx", 256, frozenset({"avx"}), "x86_64", TEXTS["parts"])
