"""Integer expressions beside the evaluation of the same tree by Python's integers."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from tests.support.integers import POINTS, VARIABLES, built, literal, trees
from tilewright.block.integers import Operation, evaluated, nodes


@given(trees)
def test_folding_keeps_the_value(tree: Any) -> None:
    expression = built(tree)
    for point in POINTS:
        assert evaluated(expression, {VARIABLES[name]: value for name, value in point.items()}) == literal(tree, point)


@given(trees)
def test_an_expression_without_variables_is_an_integer(tree: Any) -> None:
    constant = literal(tree, POINTS[0])
    expression = built(_at(tree, POINTS[0]))
    assert type(expression) is int
    assert expression == constant


def _at(tree: Any, point: dict[str, int]) -> Any:
    if isinstance(tree, tuple):
        return (tree[0], *(_at(operand, point) for operand in tree[1:]))
    return point.get(tree, tree)


def test_a_term_that_is_subtracted_vanishes() -> None:
    a, b = VARIABLES["a"], VARIABLES["b"]
    assert (a + b + 2 - b, a - a, [node.function for node in nodes(a - b)]) == (a + 2, 0, ["subtract"])
    assert isinstance(a + 1, Operation)
