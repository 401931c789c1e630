"""The portable dialect: 4 lanes in vector extensions alone, for SSE2, NEON, VSX and whatever else GCC or Clang compile for.

`portable_dialect` gives it for wider vectors, too: the compiler then splits what the target's registers do not hold.
"""

from __future__ import annotations

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.dialects.vocabulary import VectorDialect, vector_dialect
from tilewright.kernels.helpers import filled

TEXTS = CTexts(__file__)


def portable_dialect(name: str, vector_bits: int, features: frozenset[str], architecture: str, parts: str) -> VectorDialect:
    """The dialect for vectors of that width; `parts` is the C of tw_load_part and tw_store_part."""
    lanes = range(vector_bits // 32)
    roots = ", ".join(f"__builtin_sqrtf(v[{i}])" for i in lanes)
    text = filled(TEXTS["instructions"], {"IOTA": ", ".join(map(str, lanes)), "PARTS": parts, "ROOTS": roots})
    return vector_dialect(name, vector_bits, 16, features, architecture, text)


DIALECT = portable_dialect("portable", 128, frozenset(), "any", TEXTS["parts"])
