"""The functions of doubles against long doubles: their errors, in units of the last place, and their values at the edges."""

from __future__ import annotations

import ctypes
import functools
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import scipy.special

from tests.support.kernel_build import COMPILERS, EXPORT, build, command
from tilewright.kernels import KernelSource, SourceKind, dialect_for
from tilewright.kernels.functions.double_functions import DOUBLE_FUNCTIONS
from tilewright.kernels.helpers import texts

Array = np.ndarray[Any, np.dtype[Any]]
ONE: Mapping[str, tuple[Callable[[Any], Any], float]] = {
    "exp": (np.exp, 1),
    "log": (np.log, 1),
    "atan": (np.arctan, 1),
    **{name: (getattr(np, name), 4) for name in ("expm1", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: (getattr(np, f"arc{name[1:]}"), 4) for name in ("asin", "acos", "asinh", "acosh", "atanh")},
    "sigmoid": (lambda x: np.where(x < 0, np.exp(-np.abs(x)), 1) / (1 + np.exp(-np.abs(x))), 4),
    "erf": (lambda x: scipy.special.erf(x.astype("f8")), 12),
    **{name: (getattr(np, name), 0) for name in ("trunc", "floor", "ceil")},
    "round": (np.rint, 0),
}
TWO: Mapping[str, tuple[Callable[[Any, Any], Any], float]] = {
    "pow": (np.power, 40),
    "fmod": (np.fmod, 0),
    "mod": (np.remainder, 0),
    "floor_divide": (np.floor_divide, 0),
}
EDGES = (
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    0.5,
    -0.5,
    3.0,
    -2.0,
    1e-310,
    5e-324,
    1e308,
    -1e308,
    709.5,
    -745.0,
    2.0**53,
)


def prelude(name: str) -> str:
    arguments = "const double *x, double *z" if name in ONE else "const double *x, const double *y, double *z"
    call = f"tw_{name}_float64(x[i])" if name in ONE else f"tw_{name}_float64(x[i], y[i])"
    return f"{EXPORT} void {name}_of_all(long n, {arguments}) {{\n  for (long i = 0; i < n; i++)\n    z[i] = {call};\n}}\n"


@functools.cache
def library(compiler: str, features: frozenset[str]) -> ctypes.CDLL:
    if command(compiler) is None:
        pytest.skip(f"{compiler} is missing")
    text = (
        dialect_for("x86_64", features).prelude
        + "".join(texts(DOUBLE_FUNCTIONS.values()))
        + "".join(prelude(name) for name in (*ONE, *TWO))
    )
    path = build([KernelSource(SourceKind.C, text)], features, compiler)
    assert subprocess.run(["nm", "-D", "-u", path], capture_output=True, text=True, check=True).stdout.strip() == ""
    return ctypes.CDLL(str(path))


def values(seed: int) -> Array:
    """Ordinary numbers, all magnitudes, and numbers next to multiples of pi/2."""
    generator = np.random.default_rng(seed)
    near = [generator.standard_normal(4000) * scale for scale in (1e-3, 0.3, 1, 5, 30, 1e3)]
    far = np.exp(generator.uniform(-700, 709, 4000)) * generator.choice([-1, 1], 4000)
    return np.concatenate([*near, far, np.arange(-500, 500) * (np.pi / 2), np.arange(-20, 20), EDGES])


def computed(name: str, variant: tuple[str, frozenset[str]], *operands: Array) -> Array:
    result = np.empty_like(operands[0])
    pointers = [ctypes.c_void_p(one.ctypes.data) for one in (*operands, result)]
    getattr(library(*variant), f"{name}_of_all")(ctypes.c_long(result.size), *pointers)
    return result


def check(got: Array, exact: Array, limit: float) -> None:
    with np.errstate(all="ignore"):
        expected = exact.astype("f8")
        units = np.abs(got - exact) / np.spacing(np.abs(expected))
    is_normal = np.isfinite(expected) & np.isfinite(got) & (np.abs(expected) > 1e-300)
    assert units[is_normal].max() <= limit
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    np.testing.assert_array_equal(got[np.isinf(expected)], expected[np.isinf(expected)])
    np.testing.assert_allclose(got[np.abs(expected) <= 1e-300], expected[np.abs(expected) <= 1e-300], rtol=0, atol=2e-300)
    is_zero = (got == 0) & (expected == 0)
    np.testing.assert_array_equal(np.signbit(got[is_zero]), np.signbit(expected[is_zero]))


VARIANTS = [
    *((compiler, frozenset[str]()) for compiler in COMPILERS),
    pytest.param(("gcc", frozenset({"avx2", "fma"})), marks=pytest.mark.needs("avx2", "fma")),
]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ONE)
def test_of_one_operand(name: str, variant: tuple[str, frozenset[str]]) -> None:
    meaning, limit = ONE[name]
    x = values(1)
    with np.errstate(all="ignore"):
        exact = np.asarray(meaning(x.astype(np.longdouble)))
    check(computed(name, variant, x), exact, limit)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", TWO)
def test_of_two_operands(name: str, variant: tuple[str, frozenset[str]]) -> None:
    meaning, limit = TWO[name]
    edges = np.repeat(EDGES, len(EDGES)), np.tile(EDGES, len(EDGES))
    near = np.abs(values(2)), values(3) % 64
    x, y = (np.concatenate(parts) for parts in zip((values(4), values(5)), near, edges, strict=True))
    wide = np.longdouble if name == "pow" else np.float64
    with np.errstate(all="ignore"):
        exact = np.asarray(meaning(x.astype(wide), y.astype(wide)))
    check(computed(name, variant, x, y), exact.astype(np.longdouble), limit)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_powers_of_whole_numbers_are_exact(compiler: str) -> None:
    x, y = (grid.ravel().astype("f8") for grid in np.meshgrid(np.arange(-12, 13), np.arange(15)))
    expected = np.array([float(int(a) ** int(b)) for a, b in zip(x, y, strict=True)])
    np.testing.assert_array_equal(computed("pow", (compiler, frozenset()), x, y), expected)
