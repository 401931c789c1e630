"""C functions that values call (`codegen/expressions.py`): quotients of negative numbers, and data as integers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.codegen.expressions import Value, operations
from tilewright.kernels.element_access import C_TYPES, reading, suffix
from tilewright.kernels.helpers import Helper

FLOOR_DIVIDE = Helper("tw_floor_divide", "TW_INLINE long tw_floor_divide(long a, long b) { return a / b - (a % b < 0); }\n")
WHOLE_BELOW = Helper(
    "tw_whole_below",
    """\
TW_INLINE long tw_whole_below(float x) { /* the largest integer that is not above x; at most 2^30 from 0, least for NaN */
  const long whole = x >= 0x1p30f ? 1L << 30 : x > -0x1p30f ? (long)x : -(1L << 30);
  return whole - ((float)whole > x);
}
""",
)
WHOLE_ABOVE = Helper(
    "tw_whole_above",
    """\
TW_INLINE long tw_whole_above(float x) { /* the least integer that is not below x; at most 2^30 from 0, least for NaN */
  const long whole = x >= 0x1p30f ? 1L << 30 : x > -0x1p30f ? (long)x : -(1L << 30);
  return whole + ((float)whole < x);
}
""",
)
HELPERS: Mapping[str, Helper] = {
    **{helper.name: helper for helper in (FLOOR_DIVIDE, WHOLE_BELOW, WHOLE_ABOVE)},
    **{f"tw_read{suffix(dtype)}": helper for dtype in C_TYPES for helper in reading([dtype])},
}
"""By the names of operations. In traces data says nothing."""


def value_helpers(value: Value) -> Iterator[Helper]:
    """The helpers that the text of a value calls, beside `tw_min` and `tw_max`, which every file has."""
    return (HELPERS[name] for name in operations(value) if name in HELPERS)
