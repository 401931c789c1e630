"""The scalar functions of `graph.expressions.scalar_functions` in C, in lanes of a vector: those of endings of micro kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilewright.graph.expressions.scalar_functions import AS_STORED, ROUNDED
from tilewright.kernels.c_files import CTexts
from tilewright.kernels.dialects.instructions import with_instructions
from tilewright.kernels.dialects.vector_functions import VECTOR_FUNCTIONS
from tilewright.kernels.helpers import Helper, paragraphs

ROUNDING = tuple(paragraphs(with_instructions(CTexts(__file__)["rounding"])))
OF_ONE = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "expm1", "log1p")
OF_TWO = ("pow", "mod", "fmod")


def lane_functions(functions: Iterable[str]) -> tuple[Helper, ...]:
    """What rounds, and rounds quotients, where a function does."""
    return ROUNDING if "round" in functions else ()


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
