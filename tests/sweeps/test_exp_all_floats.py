"""The vectorised exponential for all 2^32 floats, in every dialect: `pytest -m sweep tests/sweeps/test_exp_all_floats.py -s`."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.support.exponential import largest_error
from tests.support.kernel_build import dialect_library
from tilewright.kernels import VectorDialect, dialect_for

CHUNK = 1 << 20
INSIDE = 0x42D20000
"""The bits of 105.0: beyond it on either side results are 0 or infinite."""
BODY = """
EXPORT void exponentials(const float *p, float *out, long count) {
  for (long i = 0; i < count; i += TW_LANES)
    tw_store(out + i, tw_exp(tw_load(p + i)));
}
EXPORT long wrong_outside(unsigned first, unsigned last) {
  long wrong = 0;
  for (unsigned bits = first; bits < last; bits += TW_LANES) {
    union {
      unsigned bits[TW_LANES];
      float floats[TW_LANES];
    } in, out;
    for (int lane = 0; lane < TW_LANES; lane++)
      in.bits[lane] = bits + lane;
    tw_store(out.floats, tw_exp(tw_load(in.floats)));
    for (int lane = 0; lane < TW_LANES; lane++) {
      const unsigned magnitude = in.bits[lane] & 0x7fffffffu, negative = in.bits[lane] >> 31;
      const int is_nan = (out.bits[lane] & 0x7fffffffu) > 0x7f800000u;
      wrong += magnitude > 0x7f800000u ? !is_nan : out.bits[lane] != (negative ? 0u : 0x7f800000u);
    }
  }
  return wrong;
}
"""

DIALECTS = [
    pytest.param(dialect, marks=pytest.mark.needs(*sorted(dialect.features)), id=dialect.name)
    for dialect in (dialect_for("x86_64", frozenset(names)) for names in ({"avx512f", "avx512dq"}, {"avx2", "fma"}, {"avx"}, ()))
]


@pytest.mark.sweep
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_float(dialect: VectorDialect) -> None:
    library = dialect_library(dialect, "gcc", BODY)
    library.wrong_outside.restype = ctypes.c_long
    worst, out = 0.0, np.empty(CHUNK, np.float32)
    for sign in (0, 0x80000000):
        assert library.wrong_outside(ctypes.c_uint(sign | INSIDE), ctypes.c_uint(sign + 0x7FFFFFF0)) == 0
        for first in range(0, INSIDE, CHUNK):
            x = np.arange(sign + first, sign + min(first + CHUNK, INSIDE), dtype=np.uint32).view(np.float32)
            library.exponentials(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data), ctypes.c_long(x.size))
            worst = max(worst, largest_error(out[: x.size], x))
    print(f"\n{dialect.name}: largest relative error {worst:.4g}")
    assert worst <= 2e-7
