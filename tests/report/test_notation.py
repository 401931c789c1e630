from __future__ import annotations

import dataclasses

from tests.support.hand_plans import attention_chain
from tilewright.graph.expressions.index import axis
from tilewright.graph.expressions.scalar import Literal, Load, Parameter, apply
from tilewright.graph.types import Access, Axis, Guard, Operator
from tilewright.report.notation import access_text, formula

READ = Access("x", (axis("m") * 2 + 1, axis("n")))


def test_contractions_and_row_operators_name_what_they_reduce() -> None:
    scores, weights, _ = attention_chain().operators
    assert formula(scores) == "scores[b,m,l] = sum(k) q[b,m,k] * k[b,k,l]"
    assert formula(weights) == "weights[b,m,l] = softmax(l) scores[b,m,l]"


def test_maps_are_infix_with_parentheses_inside() -> None:
    body = apply("add", apply("multiply", Load(0), Literal(0.125)), apply("exp", Parameter("shift")))
    operator = Operator("y", "map", (Axis("m", 4), Axis("n", 4)), (READ,), Access("y", (axis("m"), axis("n"))), body)
    assert formula(operator) == "y[m,n] = (x[2*m+1,n] * 0.125) + exp($shift)"


def test_guards_are_mentioned_with_the_value_outside() -> None:
    guarded = dataclasses.replace(READ, guard=Guard((axis("m") - axis("n"),), float("-inf")))
    assert access_text(guarded) == "padded(x[2*m+1,n], -inf)"
