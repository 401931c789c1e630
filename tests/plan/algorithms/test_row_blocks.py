"""Row blocks: copies of a few rows at a time; the oracle is the interpreter of the operator as it is written."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.algorithms.test_algorithms import CASES, check, convolved, names
from tests.support.algorithms import forced
from tilewright import compiler
from tilewright.machine import Machine
from tilewright.plan.algorithms import windows_by_columns

NAME = windows_by_columns.ROW_BLOCKS.name
APPLIES = ("padded", "unevenly padded", "groups", "an empty batch", "integers")
"""Rows of their outputs can be divided."""


@pytest.mark.parametrize("name", CASES)
def test_blocks_of_any_size_compute_the_operator(name: str) -> None:
    shapes, attributes, _ = CASES[name]
    with patch.object(windows_by_columns, "LEAST_PIXELS", 1):
        graph = convolved(*shapes, **attributes)
        assert NAME in names(graph) or name not in APPLIES
        check(graph)


@given(st.data())
def test_any_windows(data: st.DataObject) -> None:
    def numbers(least: int, most: int, count: int = 2) -> tuple[int, ...]:
        return data.draw(st.tuples(*[st.integers(least, most)] * count))

    group, channels, filters, batch = (data.draw(st.integers(1, most)) for most in (2, 3, 3, 2))
    attributes = {"strides": numbers(1, 3), "dilations": numbers(1, 2), "pads": numbers(1, 3, 4), "group": group}
    with (
        patch.object(windows_by_columns, "LEAST_PIXELS", 1),
        patch.object(windows_by_columns, "COPY_SHARE", data.draw(st.sampled_from([0.0, 0.5]))),
    ):
        check(convolved((batch, group * channels, *numbers(3, 9)), (group * filters, channels, *numbers(1, 3)), **attributes))


@pytest.mark.parametrize(("name", "together"), [(NAME, True), ("im2col", False)])
def test_the_copy_of_a_block_may_stay_with_its_product(name: str, together: bool) -> None:
    """A loop over blocks holds both; a copy that several axes walk in every dimension goes through memory."""
    graph = convolved((1, 3, 112, 112), (64, 3, 7, 7), strides=(2, 2), pads=(3, 3, 3, 3))
    with forced(name):
        plan = compiler.plan(graph, Machine.named("cascadelake-6240"), fuse=True)
    kinds = [{operator.kind for operator in each.chain.operators} for each in plan.plans]
    assert any({"unfold", "conv"} <= each for each in kinds) == together


def test_small_images_and_single_rows_have_no_blocks() -> None:
    assert NAME not in names(convolved((1, 8, 7, 7), (16, 8, 3, 3)))
    assert NAME not in names(convolved((1, 8, 3, 999), (16, 8, 3, 3)))
    assert NAME not in names(convolved((1, 8, 64, 64), (8, 1, 3, 3), group=8, pads=(1, 1, 1, 1)))
