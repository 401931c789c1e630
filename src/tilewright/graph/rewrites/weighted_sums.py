"""Sums of weighted points: which operators are such sums."""

from __future__ import annotations

from tilewright.graph.scalar import Load, subexpressions
from tilewright.graph.types import Operator


def is_weighted_sum(operator: Operator) -> bool:
    """Whether an operator adds up products of its points and another read."""
    reduction = operator.reduction
    if reduction is None or len(reduction.states) != 1 or reduction.states[0].combine != "add":
        return False
    weighs = any(isinstance(node, Load) for node in subexpressions(reduction.states[0].contribution))
    return weighs and not operator.write.axes() & {axis.name for axis in operator.reduction_axes()}
