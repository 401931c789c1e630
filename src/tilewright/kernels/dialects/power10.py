"""The dialect of POWER10: the portable one, and four rows of a strided operand as a vector for its matrix unit."""

from __future__ import annotations

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.dialects.portable import TEXTS as PORTABLE
from tilewright.kernels.dialects.portable import portable_dialect

TEXTS = CTexts(__file__)


DIALECT = portable_dialect("power10", 128, frozenset({"mma"}), "ppc64le", PORTABLE["parts"] + TEXTS["rows"])
