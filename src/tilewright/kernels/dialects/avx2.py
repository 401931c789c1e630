"""The AVX2 dialect: 8 lanes, 16 registers, masks as vectors of integers."""

from __future__ import annotations

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.dialects.vocabulary import vector_dialect

TEXTS = CTexts(__file__)


DIALECT = vector_dialect("avx2", 256, 16, frozenset({"avx2", "fma"}), "x86_64", TEXTS["instructions"])
