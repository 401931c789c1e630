"""What Python code may ask about run-time extents while a function is traced."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.tracing.dynamic_dimensions import Length, whole
from tilewright.graph.types import SymbolicExtent

LOW, HIGH = 5, 16
S = Length("s", LOW, HIGH, 16)
COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("number", range(LOW - 2, HIGH + 3))
def test_comparisons_are_answered_where_all_values_agree(compare: Callable[[Any, Any], bool], number: int) -> None:
    answers = {compare(value, number) for value in range(LOW, HIGH + 1)}
    if len(answers) == 1:
        assert compare(S, number) is answers.pop()
    else:
        with pytest.raises(UnsupportedOperation, match=r"s may be 5 to 16"):
            compare(S, number)


def test_symbols_are_equal_to_themselves_and_unknown_beside_others() -> None:
    assert SymbolicExtent("s", LOW, HIGH, 16) == S
    assert SymbolicExtent("t", 17, 64, 64) != S
    assert SymbolicExtent("t", 17, 64, 64) > S
    assert S != "s"
    assert S
    with pytest.raises(UnsupportedOperation, match="whether s == t is not known"):
        _ = SymbolicExtent("t", LOW, HIGH, 16) == S


def test_the_graph_gets_plain_extents() -> None:
    assert type(whole(S)) is SymbolicExtent
    assert {S: 1}[S] == 1
