"""C text of roundings that few files need: quotients of negative numbers, and data as integers."""

from __future__ import annotations

ROUNDING = {
    "tw_floor_divide": "TW_INLINE long tw_floor_divide(long a, long b) { return a / b - (a % b < 0); }",
    "tw_whole_below": """\
TW_INLINE long tw_whole_below(float x) { /* the largest integer that is not above x; at most 2^30 from 0, least for NaN */
  const long whole = x >= 0x1p30f ? 1L << 30 : x > -0x1p30f ? (long)x : -(1L << 30);
  return whole - ((float)whole > x);
}""",
    "tw_whole_above": """\
TW_INLINE long tw_whole_above(float x) { /* the least integer that is not below x; at most 2^30 from 0, least for NaN */
  const long whole = x >= 0x1p30f ? 1L << 30 : x > -0x1p30f ? (long)x : -(1L << 30);
  return whole + ((float)whole < x);
}""",
}
"""Functions of integer expressions that few files need."""


def with_rounding(chains: list[str]) -> list[str]:
    """The chains behind the functions of rounding that they mention."""
    return [*(text for name, text in ROUNDING.items() if any(name in chain for chain in chains)), *chains]
