"""C text of integer expressions, read by Python, whose operators bind alike."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from tests.support.integers import POINTS, VARIABLES, built, literal, trees
from tilewright.block.integers import choose, equal
from tilewright.c_text.integer_expressions import to_c

FUNCTIONS = {"tw_min": min, "tw_max": max, "tw_floor_divide": lambda a, b: a // b}
OPERATORS = {" / ": " // ", "&&": "and", "||": "or"}
OTHERS = ("choose", "quotient", "remainder")
"""What Python writes otherwise, or rounds otherwise where it is negative."""


@given(trees.filter(lambda tree: not any(name in str(tree) for name in OTHERS)))
def test_text_has_the_same_value(tree: Any) -> None:
    text = to_c(built(tree))
    for symbol, word in OPERATORS.items():
        text = text.replace(symbol, word)
    for point in POINTS:
        variables = {f"extent_{name}": value for name, value in point.items()}
        assert eval(text, FUNCTIONS, variables) == literal(tree, point)


def test_choices_stand_in_parentheses() -> None:
    a, b = VARIABLES["a"], VARIABLES["b"]
    assert to_c(choose(equal(a, 0), 3, b) * 2 - b) == "(extent_a == 0 ? 3 : extent_b) * 2 - extent_b"
