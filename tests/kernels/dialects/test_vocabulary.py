"""Every function of the vector vocabulary, in every dialect, with both compilers, against NumPy."""

from __future__ import annotations

import ctypes
from itertools import product

import numpy as np
import pytest

from tests.support.dialects import every_dialect
from tests.support.guarded import Floats, GuardedMemory, in_child
from tests.support.kernel_build import dialect_library
from tilewright.kernels import VectorDialect

UNARY = {
    "sqrt": ("tw_sqrt(a)", np.sqrt),
    "abs": ("tw_abs(a)", np.abs),
    "floor": ("tw_floor(a)", np.floor),
    "negate": ("-a", np.negative),
    "splat": ("tw_splat(a[0])", lambda a: np.full_like(a, a[0])),
    "iota": ("tw_iota() + (a - a)", lambda a: np.arange(a.size) + (a - a)),
}
BINARY = {
    "maximum": ("tw_maximum(a, b)", np.maximum),
    "minimum": ("tw_minimum(a, b)", np.minimum),
    "less": ("tw_where(tw_less(a, b), a, b + 1.0f)", lambda a, b: np.where(a < b, a, b + 1)),
    "less_equal": ("tw_where(tw_less_equal(a, b), a, b + 1.0f)", lambda a, b: np.where(a <= b, a, b + 1)),
    "greater": ("tw_where(tw_greater(a, b), a, b + 1.0f)", lambda a, b: np.where(a > b, a, b + 1)),
    "greater_equal": ("tw_where(tw_greater_equal(a, b), a, b + 1.0f)", lambda a, b: np.where(a >= b, a, b + 1)),
    "equal": ("tw_where(tw_equal(a, b), a, b + 1.0f)", lambda a, b: np.where(a == b, a, b + 1)),
    "not_equal": ("tw_where(tw_not_equal(a, b), a, b + 1.0f)", lambda a, b: np.where(a != b, a, b + 1)),
    "masks": (
        "tw_where((tw_less(a, b) & ~tw_equal(a, a + 0.0f)) | tw_greater(b, a), a, b)",
        lambda a, b: np.where(((a < b) & (a != a)) | (b > a), a, b),
    ),
    "arithmetic": ("(a + b) * (a - b) / (tw_abs(b) + 1.0f)", None),
}
REDUCTIONS = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
NAN_IGNORING = {"larger": np.maximum, "smaller": np.minimum}
"""Which do not say what they make of NaN."""
SPECIALS = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 1e-42, -1e-42, 8388607.5, -8388607.5, 8388609.0),
        *(3e9, -3e9, 3e38, -3e38, np.inf, -np.inf, np.nan),
    ],
    np.float32,
)

BODY = (
    "\n".join(
        f"EXPORT void {name}(const float *p, const float *q, float *out) {{\n"
        f"  tw_vec a = tw_load(p), b = tw_load(q);\n  (void)b;\n  tw_store(out, {expression});\n}}"
        for name, (expression, _) in (UNARY | BINARY).items()
    )
    + "\n".join(
        f"EXPORT void reduce_{name}(const float *p, const float *q, float *out) {{\n"
        f"  (void)q;\n  out[0] = tw_reduce_{name}(tw_load(p));\n}}"
        for name in (*REDUCTIONS, *NAN_IGNORING)
    )
    + """
EXPORT void copy_part(const float *p, float *out, long n) { tw_store_part(out, tw_load_part(p, n), n); }
EXPORT void load_part(const float *p, float *out, long n) { tw_store(out, tw_load_part(p, n)); }
EXPORT void first(const float *p, const float *q, float *out, long n) { tw_store(out, tw_first(tw_load(p), tw_load(q), n)); }
EXPORT void load_strided(const float *p, long stride, long n, float *out) { tw_store(out, tw_load_strided(p, stride, n)); }
EXPORT void store_strided(float *p, long stride, const float *v, long n) { tw_store_strided(p, stride, tw_load(v), n); }
EXPORT void transpose(const float *p, float *out) {
  tw_vec v[TW_LANES];
  TW_EACH_LANE(v[lane] = tw_load(p + lane * TW_LANES);)
  tw_transpose(v);
  TW_EACH_LANE(tw_store(out + lane * TW_LANES, v[lane]);)
}
"""
)


def library(dialect: VectorDialect, compiler: str) -> ctypes.CDLL:
    return dialect_library(dialect, compiler, BODY)


def pointer(array: Floats) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def pairs(lanes: int) -> list[tuple[Floats, Floats]]:
    """Vectors in which every special value meets every other one, and random ones."""
    left, right = (np.ascontiguousarray(side).ravel() for side in np.meshgrid(SPECIALS, SPECIALS))
    random = np.random.default_rng(0)
    left = np.concatenate([left, 10 * random.standard_normal(600, np.float32)])
    right = np.concatenate([right, 10 * random.standard_normal(600, np.float32)])
    return [(left[i : i + lanes], right[i : i + lanes]) for i in range(0, left.size - lanes + 1, lanes)]


@every_dialect
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_lanewise_functions(dialect: VectorDialect, compiler: str, name: str) -> None:
    function = getattr(library(dialect, compiler), name)
    meaning = (UNARY | BINARY)[name][1]
    for a, b in pairs(dialect.lanes):
        out = np.zeros(dialect.lanes, np.float32)
        function(pointer(a), pointer(b), pointer(out))
        with np.errstate(all="ignore"):
            if meaning is None:
                np.testing.assert_allclose(out, (a + b) * (a - b) / (np.abs(b) + np.float32(1)), rtol=1e-5)
                continue
            expected = np.asarray(meaning(a) if name in UNARY else meaning(a, b), np.float32)
        np.testing.assert_array_equal(out, expected, f"{name} of {a} {b}")


@every_dialect
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_fold_halves(dialect: VectorDialect, compiler: str, name: str) -> None:
    function, combine = getattr(library(dialect, compiler), f"reduce_{name}"), REDUCTIONS[name]
    for a, _ in pairs(dialect.lanes):
        out, expected = np.zeros(1, np.float32), a
        with np.errstate(all="ignore"):
            while expected.size > 1:
                expected = combine(expected[: expected.size // 2], expected[expected.size // 2 :])
        function(pointer(a), pointer(a), pointer(out))
        np.testing.assert_array_equal(out, expected)


def check_parts(dialect: VectorDialect, compiler: str) -> None:
    functions, lanes = library(dialect, compiler), dialect.lanes
    source, target = GuardedMemory(4096), GuardedMemory(4096)
    for n, at_end in product(range(lanes + 1), (False, True)):
        values, out = source.place(n, at_end=at_end), target.place(n, at_end=at_end)
        values[:], out[:] = np.arange(1, n + 1), np.nan
        functions.copy_part(pointer(values), pointer(out), ctypes.c_long(n))
        np.testing.assert_array_equal(out, values)
        full = np.full(lanes, np.nan, np.float32)
        functions.load_part(pointer(values), pointer(full), ctypes.c_long(n))
        np.testing.assert_array_equal(full, np.arange(1, lanes + 1) * (np.arange(lanes) < n))
        inner = np.full(2 * lanes, -1, np.float32)
        functions.copy_part(pointer(values), pointer(inner), ctypes.c_long(n))
        assert (inner[n:] == -1).all()


@every_dialect
def test_parts_touch_nothing_else(dialect: VectorDialect, compiler: str) -> None:
    in_child(check_parts, dialect, compiler)


@every_dialect
def test_first_takes_lanes_of_both(dialect: VectorDialect, compiler: str) -> None:
    a, b = np.arange(dialect.lanes, dtype=np.float32), -np.ones(dialect.lanes, np.float32)
    for n in range(dialect.lanes + 1):
        out = np.zeros(dialect.lanes, np.float32)
        library(dialect, compiler).first(pointer(a), pointer(b), pointer(out), ctypes.c_long(n))
        np.testing.assert_array_equal(out, np.where(np.arange(dialect.lanes) < n, a, b))


def check_strided(dialect: VectorDialect, compiler: str) -> None:
    functions, lanes = library(dialect, compiler), dialect.lanes
    source, target = GuardedMemory(4096), GuardedMemory(4096)
    for n, stride, at_end in product(range(lanes + 1), (1, 3, 0, -2), (False, True)):
        count = (n - 1) * abs(stride) + 1 if n else 0
        values, out = source.place(count, at_end=at_end), target.place(count, at_end=at_end)
        values[:], out[:] = np.arange(count), np.nan
        start, index = max(0, -stride * (n - 1)), np.arange(n) * stride
        loaded = np.full(lanes, np.nan, np.float32)
        steps = (ctypes.c_long(stride), ctypes.c_long(n))
        functions.load_strided(pointer(values[start:]), *steps, pointer(loaded))
        np.testing.assert_array_equal(loaded[:n], values[start + index])
        assert not loaded[n:].any()
        functions.store_strided(pointer(out[start:]), steps[0], pointer(loaded), steps[1])
        np.testing.assert_array_equal(out[start + index], loaded[:n])
        assert np.isnan(np.delete(out, start + index)).all()


@every_dialect
def test_strided_access_touches_nothing_else(dialect: VectorDialect, compiler: str) -> None:
    in_child(check_strided, dialect, compiler)


@every_dialect
def test_transpose(dialect: VectorDialect, compiler: str) -> None:
    square = np.arange(dialect.lanes**2, dtype=np.float32).reshape(dialect.lanes, dialect.lanes)
    out = np.empty_like(square)
    library(dialect, compiler).transpose(pointer(square), pointer(out))
    assert (out == square.T).all()


@every_dialect
@pytest.mark.parametrize("name", NAN_IGNORING)
def test_careless_reductions_fold_numbers(dialect: VectorDialect, compiler: str, name: str) -> None:
    function = getattr(library(dialect, compiler), f"reduce_{name}")
    for left, right in pairs(dialect.lanes):
        if not np.isnan(left).any():
            out = np.empty(1, np.float32)
            function(pointer(left), pointer(right), pointer(out))
            assert out[0] == NAN_IGNORING[name].reduce(left)
