"""Values of scalar expressions where some of its leaves are known and all others are finite numbers."""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf, isnan

import numpy as np

from tilewright.graph.scalar import Apply, Literal, Scalar
from tilewright.graph.scalar_functions import FUNCTIONS


def known_value(scalar: Scalar, known: Mapping[Scalar, float]) -> float | None:
    """The value of an expression if it is the same whatever finite numbers the other leaves are; None if not, or if it is NaN.

    >>> from tilewright.graph.scalar import Point, State, apply
    >>> known_value(apply("exp", apply("subtract", Point(), State("max"))), {Point(): float("-inf")})
    0.0
    """
    if scalar in known:
        return known[scalar]
    if isinstance(scalar, Literal):
        return scalar.value
    if not isinstance(scalar, Apply):
        return None
    operands = [known_value(operand, known) for operand in scalar.operands]
    found = [operand for operand in operands if operand is not None]
    if len(found) == len(operands):
        with np.errstate(all="ignore"):
            value: float | None = float(FUNCTIONS[scalar.function].numpy(*found))
    else:
        value = _partly_known(scalar.function, operands)
    return None if value is None or isnan(value) else value


def _partly_known(function: str, operands: list[float | None]) -> float | None:
    """The value of a function of some known operands and some finite ones that are not known."""
    match function, operands:
        case "where", (None, this, that):
            return this if this == that else None
        case "where", (condition, this, that):
            return this if condition else that
        case (("add" | "subtract"), (left, right)):
            beside = right if right is None or function == "add" else -right
            return next((bound for bound in (left, beside) if bound is not None and isinf(bound)), None)
        case "multiply", (left, right):
            return 0.0 if 0.0 in (left, right) else None
        case "divide", (left, right):
            return 0.0 if left == 0.0 or (right is not None and isinf(right)) else None
        case (("maximum" | "minimum"), (left, right)):
            strongest = float("inf") if function == "maximum" else float("-inf")
            return strongest if strongest in (left, right) else None
        case _:
            return None
