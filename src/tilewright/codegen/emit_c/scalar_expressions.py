"""C text of scalar expressions, lane by lane, in the vocabulary of the vector dialects."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from tilewright.codegen.emit_c.multiply_adds import multiply_add
from tilewright.errors import InternalError
from tilewright.graph.scalar import Apply, Literal, Scalar
from tilewright.kernels.functions.vector_expressions import CONDITIONS, CONNECTIVES, VALUES

Leaf: TypeAlias = Callable[[Scalar], str]


def vector_text(scalar: Scalar, leaf: Leaf, known: Mapping[Scalar, str] = MappingProxyType({})) -> str:
    """The C expression of type tw_vec for a scalar expression; `leaf` names what is not an `Apply`, `known` what has a name.

    >>> from tilewright.graph.scalar import Load, apply
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
    quotient = _rounded_quotient(scalar, known)
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


def _rounded_quotient(scalar: Apply, known: Mapping[Scalar, str]) -> tuple[Scalar, ...] | None:
    """What is divided by what, where a quotient is rounded."""
    match scalar:
        case Apply("round", (Apply("divide", operands) as quotient,)) if quotient not in known:
            return operands
    return None


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


COMBINE: Mapping[str, str] = {
    "add": "{} + {}",
    "multiply": "{} * {}",
    **{name: f"tw_{name}({{}}, {{}})" for name in ("maximum", "minimum", "larger", "smaller")},
}
"""The associative functions of reductions, on vectors; `tw_reduce_<name>` folds the lanes of one."""
NAN_IGNORING: Mapping[str, str] = {"maximum": "larger", "minimum": "smaller"}
"""What takes their place where it does not matter what becomes of NaN: one instruction instead of three."""
