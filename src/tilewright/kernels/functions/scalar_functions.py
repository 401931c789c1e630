"""The scalar functions of `graph.expressions.scalar_functions` in C, in lanes of a vector.

Functions of vectors that are not written as steps have a text that stands only in files that use them. Rounding and tests are a
few instructions. The others take lane by lane what `double_functions` computes, rounded to float32: the error is below 0.5001
units in the last place, at the speed of scalar code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from tilewright.graph.expressions.scalar_functions import AS_STORED, ROUNDED
from tilewright.kernels.c_files import CTexts
from tilewright.kernels.conversions import BITS
from tilewright.kernels.dialects.instructions import with_instructions
from tilewright.kernels.dialects.vector_functions import VECTOR_FUNCTIONS
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
