"""The portable dialect: 128 bits in C's operators alone, for SSE2, VSX and whatever else compilers know. It does not fuse."""

from __future__ import annotations

from tilewright.tile.dialects import operators
from tilewright.tile.dialects.description import Dialect

DIALECT = Dialect("portable", "any", frozenset(), 128, 16, fuses=False, table=operators.table())
