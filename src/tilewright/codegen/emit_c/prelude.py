"""What precedes the functions of a C file: what they use of the vocabulary of vectors, declarations, and helpers they call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilewright.codegen.artifact import CONTEXT_DECLARATION
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.helpers import Helper, texts
from tilewright.kernels.translation_units import used_prelude

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


def with_prelude(dialect: VectorDialect, helpers: Iterable[Helper], functions: Sequence[str]) -> str:
    """The C of functions behind these helpers and what all of it needs of the dialect's vocabulary: GCC 12 reads all of that
    in 10 to 20 ms, as long as it takes for a small operator.
    """
    text = "\n".join([DECLARATIONS, *texts(helpers), *functions])
    return f"{used_prelude(dialect.prelude, text)}\n{text}"
