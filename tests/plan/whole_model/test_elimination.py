"""Elimination of variables finds what trying every assignment finds."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from tilewright.plan.whole_model.layout_choice import Table, cheapest

VARIABLES = "abcdef"


@st.composite
def tables(draw: st.DrawFn) -> list[Table]:
    found = []
    for variables in draw(st.lists(st.lists(st.sampled_from(VARIABLES), min_size=1, max_size=3, unique=True), max_size=7)):
        costs = {assignment: draw(st.integers(0, 9)) for assignment in product((0, 1), repeat=len(variables))}
        found.append(Table(tuple(variables), costs))
    return found


@given(tables())
def test_no_assignment_is_cheaper(given_tables: list[Table]) -> None:
    values = dict.fromkeys(VARIABLES, (0, 1))
    found = cheapest(values, given_tables)
    assert list(found) == list(VARIABLES)
    every = (dict(zip(VARIABLES, assignment, strict=True)) for assignment in product((0, 1), repeat=len(VARIABLES)))
    least = min(sum(table.at(assignment) for table in given_tables) for assignment in every)
    assert sum(table.at(found) for table in given_tables) == least


def test_of_equal_sums_the_earlier_values() -> None:
    assert cheapest({"a": (0, 1), "b": (0, 1)}, []) == {"a": 0, "b": 0}
