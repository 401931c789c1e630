"""The dialect of POWER10: the portable one."""

from __future__ import annotations

from tilewright.kernels.dialects.portable import TEXTS, portable_dialect

DIALECT = portable_dialect("power10", 128, frozenset({"mma"}), "ppc64le", TEXTS["parts"])
