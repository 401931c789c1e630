"""Scalar functions that few kernels need, in the vector vocabulary: their text stands only in files that use them.

Rounding and tests are a few instructions. The others take lane by lane what `double_functions` computes, rounded to float32: the
error is below 0.5001 units in the last place, at the speed of scalar code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from tilewright.kernels.double_functions import double_functions

# 2^23 plus a number below it has no fraction.
LIGHT: Mapping[str, str] = MappingProxyType(
    {
        "ceil": "TW_INLINE tw_vec tw_ceil(tw_vec v) { return -tw_floor(-v); }\n",
        "trunc": """\
TW_INLINE tw_vec tw_trunc(tw_vec v) { return tw_where(tw_less(v, tw_splat(0.0f)), -tw_floor(-v), tw_floor(v)); }
""",
        "nearest": """\
TW_INLINE tw_vec tw_nearest(tw_vec v) {
  const tw_vec size = tw_abs(v);
  const tw_vec whole = (tw_vec)((tw_int)((size + 0x1p23f) - 0x1p23f) | ((tw_int)v & (-0x7fffffff - 1)));
  return tw_where(tw_less(size, tw_splat(0x1p23f)), whole, v);
}
""",
        "sign": """\
TW_INLINE tw_vec tw_sign(tw_vec v) {
  const tw_vec zero = tw_splat(0.0f);
  return tw_where(tw_greater(v, zero), tw_splat(1.0f), tw_where(tw_less(v, zero), tw_splat(-1.0f), v));
}
""",
        "isnan": "TW_INLINE tw_mask tw_isnan(tw_vec v) { return tw_not_equal(v, v); }\n",
        "isinf": "TW_INLINE tw_mask tw_isinf(tw_vec v) { return tw_equal(tw_abs(v), tw_splat(__builtin_inff())); }\n",
    }
)
OF_ONE = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "expm1", "log1p")
OF_TWO = ("pow", "mod", "fmod", "floor_divide")
BY_LANES = """\
static __attribute__((noinline, unused)) void tw_each_@NAME@(float *x@OTHER@) {
  for (long i = 0; i < TW_LANES; i++)
    x[i] = (float)tw_@NAME@_float64(x[i]@LANE@);
}
TW_INLINE tw_vec tw_lanes_@NAME@(tw_vec v@VECTOR@) {
  float x[TW_LANES]@ARRAY@;
  tw_store(x, v);
@STORE@  tw_each_@NAME@(x@ARGUMENT@);
  return tw_load(x);
}
"""
SECOND = {
    "OTHER": ", const float *y",
    "LANE": ", y[i]",
    "VECTOR": ", tw_vec w",
    "ARRAY": ", y[TW_LANES]",
    "STORE": "  tw_store(y, w);\n",
    "ARGUMENT": ", y",
}
TOUCHES_VALUE = "TW_INLINE tw_vec @PREFIX@@NAME@(tw_vec v@VECTOR@) { return v@SUM@; }\n"
TOUCHES_MASK = "TW_INLINE tw_mask tw_@NAME@(tw_vec v) { return v < 0; }\n"
NAMES: Mapping[str, str] = {"round": "nearest"}
"""Of functions whose name the vocabulary has for something else."""


def lane_functions(functions: Iterable[str]) -> list[str]:
    """The texts of these functions, of those that are here, with all that they call."""
    names = _names(functions)
    by_lanes = [name for name in names if name not in LIGHT]
    texts = (_filled(BY_LANES, name) for name in by_lanes)
    return [*double_functions(by_lanes), *(LIGHT[name] for name in names if name in LIGHT), *texts]


def touched_lane_functions(functions: Iterable[str]) -> list[str]:
    """The same for traces of memory accesses, where values are nothing."""
    names = _names(functions)
    return [_filled(TOUCHES_MASK if name.startswith("is") else TOUCHES_VALUE, name) for name in names]


def _names(functions: Iterable[str]) -> list[str]:
    named = sorted({NAMES.get(function, function) for function in functions})
    return [name for name in named if name in (*LIGHT, *OF_ONE, *OF_TWO)]


def _filled(text: str, name: str) -> str:
    for key, value in SECOND.items():
        text = text.replace(f"@{key}@", value if name in OF_TWO else "")
    prefix = "tw_" if name in LIGHT else "tw_lanes_"
    return text.replace("@SUM@", " + w" if name in OF_TWO else "").replace("@PREFIX@", prefix).replace("@NAME@", name)
