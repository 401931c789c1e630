"""The scalar functions as expressions of the vector vocabulary, by the names of `graph.scalar_functions`."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.graph.scalar_functions import AS_STORED, REPORT_NOT_FINITE, ROUNDED
from tilewright.kernels.functions.lane_functions import OF_ONE, OF_TWO
from tilewright.kernels.functions.vector_functions import VECTOR_FUNCTIONS

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
    "less": "tw_less({}, {})",
    "less_equal": "tw_less_equal({}, {})",
    "greater": "tw_greater({}, {})",
    "greater_equal": "tw_greater_equal({}, {})",
    "equal": "tw_equal({}, {})",
    "not_equal": "tw_not_equal({}, {})",
    "isnan": "tw_isnan({})",
    "isinf": "tw_isinf({})",
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
