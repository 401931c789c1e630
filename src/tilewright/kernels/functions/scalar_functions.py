"""The scalar functions of `graph.expressions.scalar_functions` in C: in lanes of a vector, and in one element type.

Functions of vectors that are not written as steps have a text that stands only in files that use them. Rounding and tests are a
few instructions. The others take lane by lane what `double_functions` computes, rounded to float32: the error is below 0.5001
units in the last place, at the speed of scalar code.

In one element type they are called `tw_<function>_<type>`: integers wrap around, doubles follow IEEE 754. Nothing is undefined:
integers are added, subtracted and multiplied without a sign, a division by 0 gives 0, as NumPy's integer ones do, and shifts by
the width or more leave nothing but the sign. Division of integers cuts off the fraction.

One function reports NaN and infinities to whoever called an entry point: `caller` names its context.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from tilewright.graph.expressions.scalar_functions import AS_STORED, REPORT_NOT_FINITE, ROUNDED
from tilewright.kernels.c_files import CTexts
from tilewright.kernels.conversions import BITS, CONVERSIONS
from tilewright.kernels.dialects.instructions import with_instructions
from tilewright.kernels.dialects.vector_functions import VECTOR_FUNCTIONS
from tilewright.kernels.element_access import C_TYPES, HALVES
from tilewright.kernels.functions.double_functions import DOUBLE_FUNCTIONS
from tilewright.kernels.helpers import Helper, filled, paragraphs

TEXTS = CTexts(__file__)

_LIGHT = paragraphs(with_instructions(TEXTS["light"]))
LIGHT: Mapping[str, Helper] = MappingProxyType({helper.name.removeprefix("tw_"): helper for helper in _LIGHT})
OF_ONE = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "expm1", "log1p")
OF_TWO = ("pow", "mod", "fmod")
TWO_OPERANDS = (*OF_TWO, "whole_quotient", "rounded_quotient")
SECOND = {
    "OTHER": ", const float *y",
    "LANE": ", y[i]",
    "VECTOR": ", tw_vec w",
    "ARRAY": ", y[TW_LANES]",
    "STORE": "  tw_store(y, w);\n",
    "ARGUMENT": ", y",
}
NAMES: Mapping[str, str] = {"round": "nearest", "floor_divide": "whole_quotient"}
"""Of functions whose name the vocabulary has for something else."""


def lane_functions(functions: Iterable[str]) -> list[Helper]:
    """These functions, of those that are here; what rounds also rounds quotients (`rounded_quotient`)."""
    named = {NAMES.get(function, function) for function in functions}
    named |= {"rounded_quotient"} if "nearest" in named else set()
    return [_helper(name) for name in sorted(named) if name in (*LIGHT, *OF_ONE, *OF_TWO)]


def _helper(name: str) -> Helper:
    if name in LIGHT:
        return replace(LIGHT[name], uses=(BITS,)) if name in AS_STORED.values() else LIGHT[name]
    second = SECOND if name in TWO_OPERANDS else dict.fromkeys(SECOND, "")
    return Helper(f"tw_lanes_{name}", filled(TEXTS["by_lanes"], {**second, "NAME": name}), (DOUBLE_FUNCTIONS[name],))


VALUES: Mapping[str, str] = {
    "add": "({} + {})",
    "subtract": "({} - {})",
    "multiply": "({} * {})",
    "divide": "({} / {})",
    "negative": "(-{})",
    "reciprocal": "(tw_splat(1.0f) / {})",
    "square": "({0} * {0})",
    "sqrt": "tw_sqrt({})",
    "abs": "tw_abs({})",
    "floor": "tw_floor({})",
    "maximum": "tw_maximum({}, {})",
    "minimum": "tw_minimum({}, {})",
    **{name: f"tw_{name}({{}})" for name in (*VECTOR_FUNCTIONS, "ceil", "trunc", "sign", *AS_STORED.values())},
    **{name: f"tw_lanes_{name}({{}})" for name in OF_ONE},
    **{name: f"tw_lanes_{name}({{}}, {{}})" for name in OF_TWO},
    "round": "tw_nearest({})",
    "floor_divide": "tw_whole_quotient({}, {})",
    REPORT_NOT_FINITE: "tw_report_not_finite(caller, {})",
    ROUNDED: "{}",
}
CONDITIONS: Mapping[str, str] = {
    **{name: f"tw_{name}({{}}, {{}})" for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")},
    **{name: f"tw_{name}({{}})" for name in ("isnan", "isinf")},
}
CONNECTIVES: Mapping[str, str] = {
    "logical_and": "({} & {})",
    "logical_or": "({} | {})",
    "logical_xor": "({} ^ {})",
    "logical_not": "(~{})",
}
"""Of masks."""
VECTOR_TEXTS = frozenset((*VALUES, *CONDITIONS, *CONNECTIVES, "where"))
"""Every function that vectors of float32 have."""


REPORT = Helper("tw_not_finite", TEXTS["not_finite"])
OF_VECTORS = Helper("tw_report_not_finite", TEXTS["report_of_vectors"], (REPORT,))
OF_DOUBLES = Helper("tw_report_not_finite_float64", TEXTS["report_of_doubles"], (REPORT,))


def reports(functions: Iterable[str], helper: Helper) -> list[Helper]:
    """The helper, where it is among the functions.

    >>> reports(["exp"], OF_VECTORS)
    []
    """
    return [helper] if REPORT_NOT_FINITE in functions else []


OF_INTEGERS = TEXTS["whole"] + TEXTS["comparisons"]
NAME = re.compile(r" tw_(\w+?)_(?:@A@|float64)\(.*\) {")
WHOLE_FUNCTIONS = frozenset(NAME.findall(OF_INTEGERS))
"""The functions of integers; all others take a double, which is converted back."""
REAL_FUNCTIONS = frozenset(NAME.findall(TEXTS["real"] + TEXTS["comparisons"]))


def has_double_form(function: str) -> bool:
    """Whether a function of doubles of that name can be emitted."""
    return function in REAL_FUNCTIONS or function in DOUBLE_FUNCTIONS or function == REPORT_NOT_FINITE


def scalar_functions(accumulator: str, functions: Iterable[str]) -> list[Helper]:
    """The arithmetic of scalar loops in this type, and these functions; what is not of integers is of doubles."""
    called = tuple(functions)
    whole = [] if accumulator == "float64" else [Helper(f"tw_add_{accumulator}", _typed(OF_INTEGERS, accumulator))]
    of_doubles = [DOUBLE_FUNCTIONS[name] for name in called if name in DOUBLE_FUNCTIONS]
    return [CONVERSIONS, REAL_ARITHMETIC, *whole, *of_doubles, *reports(called, OF_DOUBLES)]


def element_memory(dtypes: Iterable[str]) -> list[Helper]:
    """Loads and stores of single elements of these types."""
    return [_memory(dtype) for dtype in sorted(set(dtypes))]


def _memory(name: str) -> Helper:
    text, needed = (TEXTS["memory_half"], (CONVERSIONS,)) if name in HALVES else (TEXTS["memory"], ())
    return Helper(f"tw_get_{name}", _typed(text, name), needed)


def _typed(text: str, name: str) -> str:
    word = "unsigned long" if name.endswith("64") else "unsigned"
    return filled(text, {"IS_SIGNED": int(not name.startswith("u")), "A": name, "T": C_TYPES[name], "U": word})


REAL_ARITHMETIC = Helper("tw_add_float64", _typed(TEXTS["comparisons"], "float64") + TEXTS["real"])
