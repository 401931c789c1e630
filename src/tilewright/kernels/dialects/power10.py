"""POWER10."""

from __future__ import annotations

from tilewright.kernels.dialects.description import VectorDialect

DIALECT = VectorDialect("power10", 128, 16, frozenset({"mma"}), "ppc64le")
