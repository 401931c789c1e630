"""The prelude of a C file: the vocabulary of vectors, what every file declares, and the helpers that its functions call."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.codegen.artifact import CONTEXT_DECLARATION
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.helpers import Helper, texts

CALL_DECLARATION = """\
struct tw_call {
  void *const *tensors;
  const long *sizes;
};
"""
SMALLER_AND_LARGER = """\
TW_INLINE long tw_min(long a, long b) { return a < b ? a : b; }
TW_INLINE long tw_max(long a, long b) { return a > b ? a : b; }
"""
DECLARATIONS = SMALLER_AND_LARGER + CONTEXT_DECLARATION + CALL_DECLARATION
"""What every file needs."""


def prelude(dialect: VectorDialect, helpers: Iterable[Helper]) -> list[str]:
    """The C in front of the functions that call these helpers."""
    return [dialect.prelude, DECLARATIONS, *texts(helpers)]
