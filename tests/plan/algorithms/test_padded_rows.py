"""Padded rows: products over the rows of a padded image; the oracle is the interpreter of the operator as it is written."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.algorithms.test_algorithms import CASES, check, convolved, names
from tests.support.algorithms import forced
from tilewright import compiler
from tilewright.machine import Machine
from tilewright.plan.algorithms import padded_rows

NAME = padded_rows.ALGORITHM.name
APPLIES = (
    *("windows that fit", "padded", "unevenly padded", "dilated", "groups", "a volume", "integers", "an empty batch"),
    *("with steps", "with steps along columns"),
)


@pytest.mark.parametrize("name", CASES)
def test_rows_of_any_length_compute_the_operator(name: str) -> None:
    shapes, attributes, _ = CASES[name]
    with patch.multiple(padded_rows, LEAST_COLUMNS=1, LEAST_USED=0.0):
        graph = convolved(*shapes, **attributes)
        assert NAME in names(graph) or name not in APPLIES
        check(graph)


@given(st.data())
def test_any_windows(data: st.DataObject) -> None:
    def numbers(least: int, most: int, count: int = 2) -> tuple[int, ...]:
        return data.draw(st.tuples(*[st.integers(least, most)] * count))

    group, channels, filters, batch = (data.draw(st.integers(1, most)) for most in (2, 3, 3, 2))
    attributes = {"strides": numbers(1, 3), "dilations": numbers(1, 2), "pads": numbers(0, 3, 4), "group": group}
    with patch.multiple(padded_rows, LEAST_COLUMNS=1, LEAST_USED=0.0):
        check(convolved((batch, group * channels, *numbers(5, 9)), (group * filters, channels, *numbers(1, 3)), **attributes))


def test_short_rows_and_rows_that_leave_lanes_unused_are_left_to_others() -> None:
    assert NAME in names(convolved((1, 8, 9, 200), (16, 8, 3, 3), pads=(1, 1, 1, 1)))
    assert NAME in names(convolved((1, 8, 9, 800), (16, 8, 3, 3), pads=(1, 1, 1, 1), strides=(2, 2)))
    assert NAME not in names(convolved((1, 8, 200, 56), (16, 8, 3, 3), pads=(1, 1, 1, 1)))
    with patch.object(padded_rows, "LEAST_USED", 0.95):
        assert NAME not in names(convolved((1, 8, 200, 65), (16, 8, 3, 3), pads=(1, 1, 1, 1)))


def test_the_padded_rows_and_their_product_may_be_one_chain() -> None:
    graph = convolved((1, 16, 64, 512), (32, 16, 3, 3), pads=(1, 1, 1, 1))
    with forced(NAME):
        plan = compiler.plan(graph, Machine.named("cascadelake-6240"), fuse=True)
    assert {operator.kind for operator in plan.plans[-1].chain.operators} == {"pad", "conv"}
