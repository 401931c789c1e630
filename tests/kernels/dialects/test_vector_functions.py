"""The scalar functions of many steps, in every dialect, for every exponent and sign; `tests/sweeps` has all floats."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
import pytest

from tests.support.dialects import every_dialect
from tests.support.functions import BOUND, EXACT, exact, largest_error
from tests.support.guarded import Floats
from tests.support.kernel_build import dialect_library
from tilewright.graph.builders.elementwise import numpy_reference
from tilewright.kernels import VectorDialect
from tilewright.kernels.dialects.vector_functions import VECTOR_FUNCTIONS

BODY = "\n".join(
    f"EXPORT void {name}(const float *p, float *out, long count) {{\n"
    f"  for (long i = 0; i < count; i += TW_LANES)\n    tw_store(out + i, tw_{name}(tw_load(p + i)));\n}}\n"
    f"EXPORT void {name}_rows(const float *p, float *out) {{\n"
    f"  tw_vec v[TW_ROWS];\n  TW_EACH_ROW(v[way] = tw_load(p + way * TW_LANES);)\n  tw_{name}_rows(v);\n"
    f"  TW_EACH_ROW(tw_store(out + way * TW_LANES, v[way]);)\n}}"
    for name in VECTOR_FUNCTIONS
)
SPECIALS = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, 88, -104, -14.4, 9.1, -150], np.float32)


@cache
def every_exponent() -> Floats:
    """Eighty floats of every exponent and sign, the smallest and the largest among them; the range of interest more densely."""
    heads = np.arange(0, 1 << 32, 1 << 23, dtype=np.uint64)
    tails = np.concatenate([[0, 1, 0x7FFFFF], np.random.default_rng(0).integers(0, 1 << 23, 77)]).astype(np.uint64)
    bits = (heads[:, None] + tails).astype(np.uint32).ravel()
    dense = np.random.default_rng(1).uniform(-18, 18, 16384).astype(np.float32)
    return np.concatenate([bits.view(np.float32), dense, SPECIALS])


@cache
def expected(function: str) -> np.ndarray:
    return exact(function, every_exponent())


def computed(dialect: VectorDialect, compiler: str, function: str, x: Floats) -> Floats:
    out = np.empty_like(x)
    pointers = (ctypes.c_void_p(array.ctypes.data) for array in (x, out))
    getattr(dialect_library(dialect, compiler, BODY), function)(*pointers, ctypes.c_long(x.size))
    return out


@every_dialect
@pytest.mark.parametrize("function", VECTOR_FUNCTIONS)
def test_every_exponent_and_sign(dialect: VectorDialect, compiler: str, function: str) -> None:
    assert largest_error(computed(dialect, compiler, function, every_exponent()), expected(function)) <= BOUND


@every_dialect
@pytest.mark.parametrize("function", ["tanh", "erf", "sigmoid"])
def test_bounded_functions_stay_in_their_bounds(dialect: VectorDialect, compiler: str, function: str) -> None:
    found = computed(dialect, compiler, function, every_exponent())
    assert np.nanmax(np.abs(found)) == 1
    assert np.nanmin(found) == (0 if function == "sigmoid" else -1)


@every_dialect
def test_signs_of_zeros(dialect: VectorDialect, compiler: str) -> None:
    x = np.tile(np.array([0.0, -0.0, -1e-45, -200, -3e38, 1e-45, 0.0, -1000], np.float32), 2)
    for function in ("tanh", "erf", "silu", "gelu", "gelu_tanh"):
        np.testing.assert_array_equal(np.signbit(computed(dialect, compiler, function, x)), np.signbit(x))


@every_dialect
@pytest.mark.parametrize("function", VECTOR_FUNCTIONS)
def test_ways_are_taken_alike(dialect: VectorDialect, compiler: str, function: str) -> None:
    x = every_exponent()[-4 * dialect.lanes :].copy()
    np.testing.assert_array_equal(computed(dialect, compiler, f"{function}_rows", x), computed(dialect, compiler, function, x))


@pytest.mark.parametrize("function", VECTOR_FUNCTIONS)
def test_numpys_meaning_is_the_exact_function(function: str) -> None:
    x = every_exponent()
    assert largest_error(numpy_reference(function)(x), expected(function)) <= 3e-7
    x = np.linspace(-18, 18, 1001)
    np.testing.assert_allclose(numpy_reference(function)(x), EXACT[function](x), rtol=1e-12)
