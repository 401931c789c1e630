"""C text of expressions of int32 in vectors, whose lanes are unsigned in C: there sums, differences and products wrap."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.graph.scalar import Apply, Literal, Load, Scalar
from tilewright.kernels.helpers import Helper

OPERATORS = {"add": "+", "subtract": "-", "multiply": "*"}
NATURALS = Helper(
    "tw_naturals",
    """\
#ifndef TW_NATURALS
#define TW_NATURALS
typedef unsigned tw_naturals __attribute__((vector_size(4 * TW_LANES)));
TW_INLINE tw_naturals tw_splat_natural(int x) { return (tw_naturals)tw_splat_int(x); }
TW_INLINE tw_naturals tw_shift_naturals(tw_naturals x, int bits) { return (tw_naturals)((tw_int)x >> bits); }
#endif
""",
)
"""Lanes of int32 as they are computed; micro kernels may bring them, too: the text may be repeated within a translation unit."""


def natural_text(scalar: Scalar, load: Callable[[int], str]) -> str:
    """The C expression of type tw_naturals for an expression of int32; `load` names what a read gives.

    >>> from tilewright.graph.scalar import apply
    >>> natural_text(apply("multiply", Load(0), Literal(3.0)), "x_{}".format)
    '(x_0 * tw_splat_natural(3))'
    """
    match scalar:
        case Load(read):
            return load(read)
        case Literal(value):
            return f"tw_splat_natural({int(value)})"
        case Apply("negative", (operand,)):
            return f"(-{natural_text(operand, load)})"
        case Apply("right_shift", (left, Literal(bits))):
            return f"tw_shift_naturals({natural_text(left, load)}, {int(bits)})"
        case Apply(function, (left, right)):
            return f"({natural_text(left, load)} {OPERATORS[function]} {natural_text(right, load)})"
    raise AssertionError(f"{scalar} is not computed in vectors of integers")
