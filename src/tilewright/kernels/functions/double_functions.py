"""The scalar functions of doubles that are more than an instruction, in C without any library.

They are Taylor series after a reduction of the argument: no table, no fitted coefficient. The largest errors that were seen, and
that tests/kernels/functions/test_double_functions.py allows, in units of the last place: 1 for exp, log and atan, 4 for all
others, but 12 for erf and 40 for pow (where the result is next to the largest double). Rounded to float32 each is off by less
than 0.5001 units.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tilewright.kernels.functions.doubles.error_function import ERF, ERFC, GELU
from tilewright.kernels.functions.doubles.exponentials import (
    ACOSH,
    ASINH,
    ATANH,
    COSH,
    EXP,
    EXPM1,
    GELU_TANH,
    LOG,
    LOG1P,
    SIGMOID,
    SILU,
    SINH,
    TANH,
)
from tilewright.kernels.functions.doubles.powers import POW
from tilewright.kernels.functions.doubles.rounding import (
    AS_BFLOAT16,
    AS_FLOAT16,
    CEIL,
    FLOOR,
    FLOOR_DIVIDE,
    FMOD,
    MOD,
    ROUND,
    TRUNC,
)
from tilewright.kernels.functions.doubles.trigonometry import ACOS, ASIN, ATAN, COS, SIN, TAN
from tilewright.kernels.helpers import Helper

DOUBLE_FUNCTIONS: Mapping[str, Helper] = MappingProxyType(
    {
        "trunc": TRUNC,
        "floor": FLOOR,
        "ceil": CEIL,
        "round": ROUND,
        "as_float16": AS_FLOAT16,
        "as_bfloat16": AS_BFLOAT16,
        "fmod": FMOD,
        "mod": MOD,
        "floor_divide": FLOOR_DIVIDE,
        "exp": EXP,
        "expm1": EXPM1,
        "log": LOG,
        "log1p": LOG1P,
        "sin": SIN,
        "cos": COS,
        "tan": TAN,
        "atan": ATAN,
        "asin": ASIN,
        "acos": ACOS,
        "sinh": SINH,
        "cosh": COSH,
        "tanh": TANH,
        "asinh": ASINH,
        "acosh": ACOSH,
        "atanh": ATANH,
        "sigmoid": SIGMOID,
        "silu": SILU,
        "erfc": ERFC,
        "erf": ERF,
        "gelu": GELU,
        "gelu_tanh": GELU_TANH,
        "pow": POW,
    }
)
"""By the names of `graph.scalar_functions`: each is the C function `tw_<name>_float64`."""
