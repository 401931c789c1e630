"""Trees of integer expressions, built by the functions that fold them, and evaluated by Python's integers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tilewright.block import integers
from tilewright.block.integers import IntegerExpression, Variable, VariableKind

VARIABLES = {name: Variable(VariableKind.EXTENT, name) for name in "abc"}
POINTS = [{"a": a, "b": b, "c": c} for a in (-3, 0, 1, 7) for b in (-1, 0, 4) for c in (1, 2, 6)]
FUNCTIONS: dict[str, tuple[Callable[..., IntegerExpression], Callable[..., int]]] = {
    "+": (operator.add, operator.add),
    "-": (operator.sub, operator.sub),
    "*": (operator.mul, operator.mul),
    "minimum": (integers.minimum, min),
    "maximum": (integers.maximum, max),
    "floor": (lambda x: x // 3, lambda x: x // 3),
    "quotient": (lambda x: integers.quotient(x, 3), lambda x: int(math.copysign(abs(x) // 3, x))),
    "remainder": (lambda x: integers.remainder(x, 3), lambda x: int(math.fmod(x, 3))),
    "up": (lambda x: integers.round_up(integers.maximum(x, 0), 4), lambda x: -(-max(x, 0) // 4) * 4),
    "down": (lambda x: integers.round_down(integers.maximum(x, 0), 4), lambda x: max(x, 0) // 4 * 4),
    "one": (lambda x: integers.quotient(x, 1) + integers.remainder(x, 1), lambda x: x),
    "equal": (integers.equal, operator.eq),
    "unequal": (integers.unequal, operator.ne),
    "less": (integers.less, operator.lt),
    "any": (lambda x, y: integers.any_of(integers.less(x, y), integers.less(y, 2)), lambda x, y: x < y or y < 2),
    "all": (lambda x, y: integers.all_of(integers.less(x, y), integers.less(y, 2)), lambda x, y: x < y and y < 2),
    "choose": (lambda x, y: integers.choose(integers.less(x, y), x, y + 1), lambda x, y: x if x < y else y + 1),
}
UNARY = ("floor", "quotient", "remainder", "up", "down", "one")
leaves = st.one_of(st.integers(-6, 9), st.sampled_from(sorted(VARIABLES)))
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(UNARY), inner),
        st.tuples(st.sampled_from(sorted(FUNCTIONS.keys() - set(UNARY))), inner, inner),
    ),
    max_leaves=8,
)


def built(tree: Any) -> IntegerExpression:
    """The expression of a tree."""
    if isinstance(tree, tuple):
        return FUNCTIONS[tree[0]][0](*map(built, tree[1:]))
    return VARIABLES[tree] if isinstance(tree, str) else tree


def literal(tree: Any, point: dict[str, int]) -> int:
    """What it is for these variables."""
    if isinstance(tree, tuple):
        return int(FUNCTIONS[tree[0]][1](*(literal(operand, point) for operand in tree[1:])))
    return point[tree] if isinstance(tree, str) else tree
