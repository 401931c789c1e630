"""The AVX-512 dialect: 16 lanes, 32 registers, masks in mask registers."""

from __future__ import annotations

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.dialects.vocabulary import vector_dialect

TEXTS = CTexts(__file__)

FEATURES = frozenset({"avx512f", "avx512dq"})
DIALECT = vector_dialect("avx512", 512, 32, FEATURES, "x86_64", TEXTS["instructions"])
