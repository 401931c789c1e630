"""The vectorised functions for all 2^32 floats, in every dialect: `pytest -m sweep -s` of this file."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.support.functions import BOUND
from tests.support.kernel_build import dialect_library
from tilewright.kernels import dialect_for
from tilewright.kernels.dialects.vector_functions import VECTOR_FUNCTIONS

CHUNK = 1 << 20
EXACT = {
    "exp": "exp(x)",
    "log": "log(x)",
    "tanh": "tanh(x)",
    "erf": "erf(x)",
    "sigmoid": "1 / (1 + exp(-x))",
    "silu": "x / (1 + exp(-x))",
    "gelu": "x * erfc(x * -0.70710678118654752440) / 2",
    "gelu_tanh": "x / (1 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)))",
}
"""C over doubles. NaN where the mathematical function is none."""
DECLARED = """
#define INFINITY __builtin_inf()
double exp(double), log(double), tanh(double), erf(double), erfc(double);
"""
EXACT_CHUNK = """
EXPORT void exact_@NAME@(const float *p, double *out, long count) {
  for (long i = 0; i < count; i++) {
    const double x = p[i];
    out[i] = @EXACT@;
  }
}
"""
WORST = """
EXPORT double worst_@NAME@(const float *p, const double *exact, long count) {
  double worst = 0;
  for (long i = 0; i < count; i += TW_LANES) {
    float found[TW_LANES];
    tw_store(found, tw_@NAME@(tw_load(p + i)));
    for (int lane = 0; lane < TW_LANES; lane++) {
      const double e = exact[i + lane], f = found[lane], size = __builtin_fabs(e);
      double error = 0;
      if (e != e || f != f)
        error = (e != e) != (f != f);
      else if (size >= 0x1.ffffffp127) /* rounds to infinity; next to it, 2e-7 may decide */
        error = !(f * e == INFINITY) && size > 0x1.ffffffp127 * (1 + 2e-7);
      else if (__builtin_isinf(f))
        error = size < 0x1.ffffffp127 * (1 - 2e-7);
      else {
        error = __builtin_fabs(f - e) - (size < 0x1p-126 ? 0x1p-150 : 0);
        error = error <= 0 ? 0 : error / size;
      }
      worst = error > worst ? error : worst;
    }
  }
  return worst;
}
"""
FEATURES = ({"avx512f", "avx512dq"}, {"avx2", "fma"}, {"avx"}, set())


def library(features: set[str], function: str) -> ctypes.CDLL:
    dialect = dialect_for("x86_64", frozenset(features))
    text = DECLARED + EXACT_CHUNK.replace("@EXACT@", EXACT[function]) + WORST
    found = dialect_library(dialect, "gcc", text.replace("@NAME@", function))
    getattr(found, f"worst_{function}").restype = ctypes.c_double
    return found


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.sweep
@pytest.mark.needs("avx512f", "avx512dq")
@pytest.mark.parametrize("function", VECTOR_FUNCTIONS)
def test_every_float(function: str) -> None:
    ctypes.CDLL("libm.so.6", ctypes.RTLD_GLOBAL)
    libraries = [library(features, function) for features in FEATURES]
    worst, exact = np.zeros(len(libraries)), np.empty(CHUNK)
    for first in range(0, 1 << 32, CHUNK):
        x = np.arange(first, first + CHUNK, dtype=np.uint32).view(np.float32)
        getattr(libraries[-1], f"exact_{function}")(pointer(x), pointer(exact), ctypes.c_long(CHUNK))
        errors = [getattr(one, f"worst_{function}")(pointer(x), pointer(exact), ctypes.c_long(CHUNK)) for one in libraries]
        worst = np.maximum(worst, errors)
    print(f"\n{function}: largest relative error {', '.join(f'{one:.3g}' for one in worst)} (AVX-512, AVX2, AVX, SSE2)")
    assert (worst <= (2e-7 if function == "exp" else BOUND)).all()
