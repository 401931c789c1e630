"""Maps of integers whose lanes may be as narrow as their widest elements: results are the same modulo the width.

Sums, differences and products of wrapped integers wrap to the same bits. Comparisons and bounds want their operands as they are:
elements that the type of the lanes holds, constants, and what selects among these.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.block.statements import VectorLoops
from tilewright.graph.exactness import HALVES, INTEGERS, WRAPPING
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Scalar
from tilewright.graph.expressions.scalar_functions import COMPARISONS
from tilewright.graph.types import element_bytes
from tilewright.leaves.tile_programs.values import clamped

WRAPPING_TOO = WRAPPING | {"square", "abs", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"}
"""Functions whose lowest bits depend on nothing but those of their operands."""
BOUNDS = frozenset(("maximum", "minimum"))
CONNECTIVES = frozenset(("logical_and", "logical_or", "logical_xor", "logical_not"))

ROUNDED_ONCE = INTEGERS - {"int64", "uint64"}
"""Integers that become halves as they are: what is computed in floats has fewer lanes, and the same bits."""


def lane_type(loops: VectorLoops) -> str:
    """The type of the lanes of a map: integers as wide as its widest elements, where the result stays the same.

    Of an integer type, its lowest bits must be right (`_wraps`); of float32, every value must be an integer that the lanes hold
    (`_is_exact`). Halves that are only copied or rounded once stay what they are.
    """
    computed, types = loops.computed_type, {operand.dtype for operand in (*loops.reads, loops.write)}
    body = loops.operator.body
    if isinstance(body, Load) and loops.write.dtype in HALVES and (copied := loops.reads[body.read].dtype) in ROUNDED_ONCE:
        return copied
    if not types <= INTEGERS | {"bool"}:
        return computed
    width = max(map(element_bytes, types))
    if width >= element_bytes(computed):
        return computed
    names = sorted((f"int{8 * width}", f"uint{8 * width}"), key=lambda name: name not in types)
    reads = [read.dtype for read in loops.reads]
    is_enough = _wraps if computed in INTEGERS else _is_exact
    return next((name for name in names if is_enough(body, name, reads)), computed)


def _wraps(scalar: Scalar, dtype: str, reads: Sequence[str]) -> bool:
    """Whether the lowest bits are right if it is computed in that type, given the types of what it loads."""
    match scalar:
        case Load():
            return True
        case Apply("abs", (operand,)):
            return _is_exact(operand, dtype, reads)
        case Apply("where", (condition, yes, no)):
            return _is_condition(condition, dtype, reads) and _wraps(yes, dtype, reads) and _wraps(no, dtype, reads)
        case Apply(function, operands) if function in WRAPPING_TOO:
            return all(_wraps(operand, dtype, reads) for operand in operands)
        case _:
            return _is_exact(scalar, dtype, reads)


def _is_exact(scalar: Scalar, dtype: str, reads: Sequence[str]) -> bool:
    """Whether it has the same value in that type."""
    match scalar:
        case Load(read):
            return holds(dtype, reads[read])
        case Literal(value):
            return value == clamped(value, dtype)
        case Apply("where", (condition, yes, no)):
            return _is_condition(condition, dtype, reads) and _is_exact(yes, dtype, reads) and _is_exact(no, dtype, reads)
        case Apply(function, operands) if function in BOUNDS:
            return all(_is_exact(operand, dtype, reads) for operand in operands)
        case Apply(function):
            return function in COMPARISONS | CONNECTIVES and _is_condition(scalar, dtype, reads)
        case _:
            return False


def _is_condition(scalar: Scalar, dtype: str, reads: Sequence[str]) -> bool:
    """Whether it holds for the same lanes."""
    match scalar:
        case Apply(function, operands) if function in CONNECTIVES:
            return all(_is_condition(operand, dtype, reads) for operand in operands)
        case Apply(function, operands) if function in COMPARISONS:
            return all(_is_exact(operand, dtype, reads) for operand in operands)
        case _:
            return _is_exact(scalar, dtype, reads)


def holds(dtype: str, elements: str) -> bool:
    """Whether an integer type has all values of another, or of truth values.

    >>> holds("int8", "bool"), holds("int16", "uint8"), holds("int8", "uint8")
    (True, True, False)
    """
    if elements == "bool" or elements == dtype:
        return True
    is_wider = element_bytes(elements) < element_bytes(dtype)
    return is_wider and (elements.startswith("u") or not dtype.startswith("u"))
