"""Variants of convolution as a GEMM, beyond `test_algorithms.py`: what they compute, where they apply, what plans make of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.algorithms.test_algorithms import CASES, check, convolved, names
from tests.support.algorithms import forced
from tilewright import compiler
from tilewright.machine import Machine
from tilewright.plan.algorithms import convolution_gemm
from tilewright.plan.reasons import OtherAlgorithm

CASCADELAKE = Machine.named("cascadelake-6240")
WITHOUT_LIMITS = {"LEAST_BLOCK_PIXELS": 1, "LEAST_ROW_PIXELS": 1, "LEAST_LANES_USED": 0.0, "LEAST_PIXELS_IN_PLACE": 1 << 20}
DIVIDED = ("padded", "unevenly padded", "groups", "an empty batch", "integers")
"""Rows of their outputs can be divided."""
ONE_FILTER = ("by channel", "by channel at a point", "by channel at every other point", "more taps than a body takes")
"""One for each channel: nothing to put along lanes."""
APPLIES = {
    "row blocks": DIVIDED,
    "padded rows": (*DIVIDED, "windows that fit", "dilated", "a volume", "with steps", "with steps along columns"),
    "filter lanes": tuple(name for name in CASES if name not in (*ONE_FILTER, "one dimension at a point")),
}
PADS = {"pads": (1, 1, 1, 1)}


@contextmanager
def any_size(**limits: float) -> Iterator[None]:
    """Inside, variants are offered for images of any size."""
    with patch.multiple(convolution_gemm, **(WITHOUT_LIMITS | limits)):
        yield


@pytest.mark.parametrize("variant", APPLIES)
@pytest.mark.parametrize("name", CASES)
def test_sums_are_those_of_the_operator(name: str, variant: str) -> None:
    shapes, attributes, _ = CASES[name]
    with any_size():
        graph = convolved(*shapes, **attributes, is_constant=variant == "filter lanes")
        assert variant in names(graph) or name not in APPLIES[variant]
        check(graph, variant)
    assert "filter lanes" not in names(convolved(*shapes, **attributes)), "filters that are given are not packed ahead"


@pytest.mark.parametrize("variant", ["row blocks", "padded rows"])
@given(st.data())
def test_any_windows(variant: str, data: st.DataObject) -> None:
    def numbers(least: int, most: int, count: int = 2) -> tuple[int, ...]:
        return data.draw(st.tuples(*[st.integers(least, most)] * count))

    group, channels, filters, batch = (data.draw(st.integers(1, most)) for most in (2, 3, 3, 2))
    attributes = {"strides": numbers(1, 3), "dilations": numbers(1, 2), "pads": numbers(1, 3, 4), "group": group}
    shapes = (batch, group * channels, *numbers(3, 9)), (group * filters, channels, *numbers(1, 3))
    with any_size(COPY_SHARE=data.draw(st.sampled_from([0.0, 0.5]))):
        check(convolved(*shapes, **attributes), variant)


OFFERED: dict[str, list[tuple[bool, tuple[int, ...], tuple[int, ...], dict[str, Any]]]] = {
    "row blocks": [
        (False, (1, 8, 7, 7), (16, 8, 3, 3), {}),
        (False, (1, 8, 3, 999), (16, 8, 3, 3), {}),
        (False, (1, 8, 64, 64), (8, 1, 3, 3), PADS | {"group": 8}),
    ],
    "padded rows": [
        (True, (1, 8, 9, 200), (16, 8, 3, 3), PADS),
        (True, (1, 8, 9, 800), (16, 8, 3, 3), PADS | {"strides": (2, 2)}),
        (False, (1, 8, 200, 56), (16, 8, 3, 3), PADS),
        (False, (1, 8, 200, 65), (16, 8, 3, 3), PADS),
    ],
}
"""Small images and single rows have no blocks; short rows, and rows that leave lanes unused, are left to others."""


@pytest.mark.parametrize("variant", OFFERED)
def test_sizes_decide(variant: str) -> None:
    with patch.object(convolution_gemm, "LEAST_LANES_USED", 0.95):
        found = [variant in names(convolved(x, w, **attributes)) for _, x, w, attributes in OFFERED[variant]]
    assert found == [offered for offered, *_ in OFFERED[variant]]


@pytest.mark.parametrize(
    ("variant", "copy", "x", "w", "attributes", "together"),
    [
        ("row blocks", "unfold", (1, 3, 112, 112), (64, 3, 7, 7), {"pads": (3, 3, 3, 3), "strides": (2, 2)}, True),
        ("im2col", "unfold", (1, 3, 112, 112), (64, 3, 7, 7), {"pads": (3, 3, 3, 3), "strides": (2, 2)}, False),
        ("padded rows", "pad", (1, 16, 64, 512), (32, 16, 3, 3), PADS, True),
        ("padded rows", "unfold", (1, 3, 129, 129), (32, 3, 3, 3), {"strides": (2, 2)}, True),
    ],
)
def test_a_copy_may_stay_with_its_product(variant: str, copy: str, x: Any, w: Any, attributes: Any, together: bool) -> None:
    """One loop holds both; a copy that several axes walk in every dimension goes through memory."""
    with forced(variant):
        plan = compiler.plan(convolved(x, w, **attributes), CASCADELAKE, fuse=True)
    kinds = [{operator.kind for operator in each.chain.operators} for each in plan.plans]
    assert any({copy, "conv"} <= each for each in kinds) == together


@pytest.mark.parametrize(("channels", "filters", "size", "wins"), [(512, 512, 7, True), (64, 64, 56, False)])
def test_small_images_with_many_filters_have_these_along_lanes(channels: int, filters: int, size: int, wins: bool) -> None:
    """Seven pixels leave most of a vector empty; large results are scattered over as many pages as there are filters."""
    graph = convolved((1, channels, size, size), (filters, channels, 3, 3), **PADS, is_constant=True)
    rejected = [loser for plan in compiler.plan(graph, CASCADELAKE).plans for loser in plan.rejected]
    lost = {loser.alternative.algorithm for loser in rejected if isinstance(loser.alternative, OtherAlgorithm)}
    assert not lost & {"filter lanes"}, "windows are read in their place"
    assert ("filters in place" not in lost) == wins
