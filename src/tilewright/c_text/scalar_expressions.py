"""Scalar expressions as text of C: in vectors of floats, and of integers that wrap.

Lanes of int32 are unsigned in C: there sums, differences and products wrap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from tilewright.errors import InternalError
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Scalar
from tilewright.graph.multiply_adds import multiply_add, rounded_quotient
from tilewright.kernels.functions.scalar_functions import CONDITIONS, CONNECTIVES, VALUES
from tilewright.kernels.helpers import Helper

Leaf: TypeAlias = Callable[[Scalar], str]


def vector_text(scalar: Scalar, leaf: Leaf, known: Mapping[Scalar, str] = MappingProxyType({})) -> str:
    """The C expression of type tw_vec for a scalar expression; `leaf` names what is not an `Apply`, `known` what has a name.

    >>> from tilewright.graph.expressions.scalar import Load, apply
    >>> vector_text(apply("maximum", Load(0), Load(1)), lambda load: f"x{load.read}")
    'tw_maximum(x0, x1)'
    """
    if scalar in known:
        return known[scalar]
    if not isinstance(scalar, Apply):
        return leaf(scalar)
    fused = multiply_add(scalar, known)
    if fused is not None:
        return f"tw_multiply_add({', '.join(vector_text(part, leaf, known) for part in fused)})"
    quotient = rounded_quotient(scalar, known)
    if quotient is not None:
        return f"tw_rounded_quotient({', '.join(vector_text(part, leaf, known) for part in quotient)})"
    if scalar.function == "where":
        condition, yes, no = scalar.operands
        chosen = (vector_text(value, leaf, known) for value in (yes, no))
        return f"tw_where({', '.join((_mask_text(condition, leaf, known), *chosen))})"
    if scalar.function in NAN_IGNORING and any(_is_number(operand) for operand in scalar.operands):
        number, bounded = sorted(scalar.operands, key=lambda operand: not _is_number(operand))
        return (
            f"tw_{NAN_IGNORING[scalar.function]}({', '.join(vector_text(operand, leaf, known) for operand in (number, bounded))})"
        )
    if scalar.function in CONDITIONS or scalar.function in CONNECTIVES:
        return f"tw_where({_mask_text(scalar, leaf, known)}, tw_splat(1.0f), tw_splat(0.0f))"
    if scalar.function not in VALUES:
        raise InternalError(f"no C text for the scalar function {scalar.function}")
    return VALUES[scalar.function].format(*(vector_text(operand, leaf, known) for operand in scalar.operands))


def _is_number(scalar: Scalar) -> bool:
    """Whether it is a literal that is not NaN: as the first operand of `tw_larger` it gives way to a NaN in the second."""
    return isinstance(scalar, Literal) and not math.isnan(scalar.value)


def _mask_text(condition: Scalar, leaf: Leaf, known: Mapping[Scalar, str]) -> str:
    if isinstance(condition, Apply) and condition.function in CONDITIONS:
        return CONDITIONS[condition.function].format(*(vector_text(operand, leaf, known) for operand in condition.operands))
    if isinstance(condition, Apply) and condition.function in CONNECTIVES:
        return CONNECTIVES[condition.function].format(*(_mask_text(operand, leaf, known) for operand in condition.operands))
    return f"tw_not_equal({vector_text(condition, leaf, known)}, tw_splat(0.0f))"


def literal_text(value: float) -> str:
    """A float32 literal in C.

    >>> literal_text(0.125), literal_text(float("-inf")), literal_text(1e300)
    ('0.125f', '-__builtin_inff()', '__builtin_inff()')
    """
    with np.errstate(over="ignore"):
        rounded = float(np.float32(value))
    if math.isnan(rounded):
        return '__builtin_nanf("")'
    if math.isinf(rounded):
        return "__builtin_inff()" if rounded > 0 else "-__builtin_inff()"
    text = repr(rounded)
    return f"{text}f" if any(mark in text for mark in ".e") else f"{text}.0f"


NAN_IGNORING: Mapping[str, str] = {"maximum": "larger", "minimum": "smaller"}
"""What takes their place where it does not matter what becomes of NaN: one instruction instead of three."""


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

    >>> from tilewright.graph.expressions.scalar import apply
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
