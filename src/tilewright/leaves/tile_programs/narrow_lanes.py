"""Maps of integers whose lanes may be as narrow as their elements: results are the same modulo the width.

Sums, differences and products of wrapped integers wrap to the same bits. Comparisons and bounds want their operands as they are:
elements, constants, and what selects among these.
"""

from __future__ import annotations

from tilewright.block.statements import VectorLoops
from tilewright.graph.exactness import INTEGERS, WRAPPING
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Scalar
from tilewright.graph.expressions.scalar_functions import COMPARISONS
from tilewright.graph.types import element_bytes
from tilewright.leaves.tile_programs.values import clamped

WRAPPING_TOO = WRAPPING | {"square", "abs", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"}
"""Functions whose lowest bits depend on nothing but those of their operands."""
BOUNDS = frozenset(("maximum", "minimum"))
CONNECTIVES = frozenset(("logical_and", "logical_or", "logical_xor", "logical_not"))


def lane_type(loops: VectorLoops) -> str:
    """The type in which a map is computed: that of its elements where that is enough."""
    types = {operand.dtype for operand in (*loops.reads, loops.write)}
    computed, (dtype, *others) = loops.computed_type, sorted(types)
    is_narrower = {computed, dtype} <= INTEGERS and element_bytes(dtype) < element_bytes(computed)
    return dtype if is_narrower and not others and _wraps(loops.operator.body, dtype) else computed


def _wraps(scalar: Scalar, dtype: str) -> bool:
    """Whether the lowest bits are right if it is computed in that type."""
    match scalar:
        case Apply("abs", (operand,)):
            return _is_exact(operand, dtype)
        case Apply("where", (condition, yes, no)):
            return _is_condition(condition, dtype) and _wraps(yes, dtype) and _wraps(no, dtype)
        case Apply(function, operands) if function in WRAPPING_TOO:
            return all(_wraps(operand, dtype) for operand in operands)
        case Literal(value):
            return value == int(value)
        case _:
            return _is_exact(scalar, dtype)


def _is_exact(scalar: Scalar, dtype: str) -> bool:
    """Whether it has the same value in that type."""
    match scalar:
        case Load():
            return True
        case Literal(value):
            return value == clamped(value, dtype)
        case Apply("where", (condition, yes, no)):
            return _is_condition(condition, dtype) and _is_exact(yes, dtype) and _is_exact(no, dtype)
        case Apply(function, operands):
            return function in BOUNDS and all(_is_exact(operand, dtype) for operand in operands)
        case _:
            return False


def _is_condition(scalar: Scalar, dtype: str) -> bool:
    """Whether it holds for the same lanes."""
    match scalar:
        case Apply(function, operands) if function in CONNECTIVES:
            return all(_is_condition(operand, dtype) for operand in operands)
        case Apply(function, operands) if function in COMPARISONS:
            return all(_is_exact(operand, dtype) for operand in operands)
        case _:
            return _is_exact(scalar, dtype)
