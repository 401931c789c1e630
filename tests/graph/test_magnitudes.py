"""Bounds on elements and neighbours of constants: never below what they bound, and exact at what kernels ask for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tilewright.graph.builders.builder import Builder
from tilewright.graph.constant_values import Magnitudes, magnitudes_of

Array = np.ndarray[Any, Any]
SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 9)) | st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 3))


def brute_force_pair(array: Array, dimension: int) -> int:
    """The largest sum of two neighbours of one sign, or one of them alone."""
    lines, found = np.moveaxis(array.astype(np.int64), dimension, 0), 0
    for one, other in pairwise(lines):
        for x, y in zip(one.ravel(), other.ravel(), strict=True):
            found = max(found, max(x, 0) + max(y, 0), -(min(x, 0) + min(y, 0)))
    return found


@given(st.sampled_from(["int8", "uint8", "int16"]).flatmap(lambda dtype: arrays(dtype, SHAPES)))
def test_bounds_hold_of_every_element_and_pair(array: Array) -> None:
    found = magnitudes_of(array)
    assert found is not None
    assert np.abs(array.astype(np.int64)).max() <= found.largest
    for dimension in range(array.ndim):
        assert brute_force_pair(array, dimension) <= found.pair(dimension)


@pytest.mark.parametrize(("first", "second", "bound"), [(100, 28, 128), (-100, -28, 128), (127, -128, 128), (100, 29, 254)])
def test_a_pair_is_within_128_exactly_where_its_signs_add_up_to_so_much(first: int, second: int, bound: int) -> None:
    array = np.zeros((200, 300), np.int8)
    array[151, 173], array[152, 173] = first, second
    found = magnitudes_of(array)
    assert found is not None
    assert (found.pair(0) <= 128) == (bound == 128)
    assert found.pair(0) <= max(bound, 2 * found.largest)


def test_what_only_one_line_in_many_has_is_found() -> None:
    array = np.full((1000, 1000), 60, np.int8)
    array[0, 0] = 70
    found = magnitudes_of(array)
    assert found is not None
    assert found.pair(0) > 128
    assert found.pair(1) > 128


def test_floats_vectors_and_nothing_at_all_have_no_bounds() -> None:
    for array in (np.zeros((2, 2), np.float32), np.zeros(4, np.int8), np.zeros((0, 4), np.int8), np.zeros((2, 2), np.int32)):
        assert magnitudes_of(array) is None


def test_constants_of_a_graph_have_bounds_and_arguments_have_not() -> None:
    builder = Builder("f")
    weights = builder.constant(np.full((2, 2), 127, np.int8))
    assert weights.magnitudes == Magnitudes(127, (254, 254))
    assert builder.input("x", (2, 2), "int8").magnitudes is None


def test_bounds_follow_dimensions() -> None:
    bounds = Magnitudes(127, (128, 254, 100))
    assert bounds.reordered((2, 0, 1)).pairs == (100, 128, 254)
    assert bounds.joined(((0,), (1, 2))).pairs == (128, 254)
