"""Vector extensions of GCC and Clang alone, for SSE2, NEON, VSX and whatever else these compile for."""

from __future__ import annotations

from tilewright.kernels.dialects.description import VectorDialect

DIALECT = VectorDialect("portable", 128, 16, architecture="any")
