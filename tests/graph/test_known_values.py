"""Values of expressions of which one operand is known, whatever finite number the other is."""

from __future__ import annotations

from math import inf, nan

import pytest

from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.expressions.scalar_functions import known_value

X = Load(0)


@pytest.mark.parametrize(
    ("function", "operands", "value"),
    [
        ("where", (X, 3.0, 3.0), 3.0),
        ("where", (X, 3.0, 4.0), None),
        ("where", (1.0, 3.0, X), 3.0),
        ("where", (0.0, X, 4.0), 4.0),
        ("add", (X, inf), inf),
        ("add", (X, 2.0), None),
        ("subtract", (-inf, X), -inf),
        ("subtract", (X, inf), -inf),
        ("subtract", (X, 0.0), None),
        ("multiply", (X, 0.0), 0.0),
        ("multiply", (2.0, X), None),
        ("multiply", (X, inf), None),
        ("divide", (0.0, X), 0.0),
        ("divide", (X, -inf), 0.0),
        ("divide", (X, 2.0), None),
        ("divide", (2.0, X), None),
        ("maximum", (X, inf), inf),
        ("maximum", (X, -inf), None),
        ("minimum", (-inf, X), -inf),
        ("minimum", (X, inf), None),
        ("exp", (X,), None),
        ("add", (1.0, 2.0), 3.0),
        ("subtract", (inf, inf), None),
        ("add", (X, nan), None),
    ],
)
def test_what_does_not_depend_on_the_other_operand(function: str, operands: tuple[object, ...], value: float | None):
    given = [Literal(one) if isinstance(one, float) else one for one in operands]
    assert known_value(apply(function, *given), {}) == value
