"""The dialect of POWER10: the portable one, and four rows of a strided operand as a vector for its matrix unit."""

from __future__ import annotations

from tilewright.kernels.dialects.portable import PARTS_OF_4, portable_dialect

ROWS = """\
typedef unsigned char tw_bytes __attribute__((vector_size(16)));
TW_INLINE tw_vec tw_rows(const float *p, long stride, long n) {
  return (tw_vec){p[0], p[n > 1 ? stride : 0], p[n > 2 ? 2 * stride : 0], p[n > 3 ? 3 * stride : 0]};
}
"""

DIALECT = portable_dialect("power10", 128, frozenset({"mma"}), "ppc64le", PARTS_OF_4 + ROWS)
