"""Exact footprints against sets of elements."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.movements import bounding_box
from tilewright.graph.expressions.index import Index, axis, floordiv
from tilewright.graph.types import Access
from tilewright.plan.regions.footprint import distinct_elements, distinct_values, swept_elements


def enumerated(access: Access, tiles: dict[str, int]) -> int:
    names = sorted(tiles)
    points = (dict(zip(names, point, strict=True)) for point in product(*(range(tiles[name]) for name in names)))
    return len({tuple(index.evaluate(point) for index in access.indices) for point in points})


def test_a_strided_row_counts_what_is_read_and_not_its_bounding_box() -> None:
    row = Access("x", (axis("w") * 4 + axis("kw"),))
    assert distinct_elements(row, {"w": 8, "kw": 3}) == 24
    assert bounding_box(row, {"w": 8, "kw": 3}) == 31


@given(st.lists(st.integers(-6, 6).filter(bool), min_size=1, max_size=3), st.lists(st.integers(1, 7), min_size=3, max_size=3))
def test_one_dimension_is_counted_exactly(factors: list[int], counts: list[int]) -> None:
    tiles = {f"a{i}": counts[i] for i in range(len(factors))}
    index = sum((axis(name) * factor for name, factor in zip(tiles, factors, strict=True)), axis("a0") * 0)
    access = Access("x", (index,))
    assert distinct_elements(access, tiles) == enumerated(access, tiles)


def test_a_diagonal_counts_its_axis_once() -> None:
    assert distinct_elements(Access("x", (axis("i"), axis("i"))), {"i": 5}) == 5


def test_divisions_are_bounded_from_above() -> None:
    access = Access("x", (floordiv(axis("i"), 4),))
    assert enumerated(access, {"i": 10}) <= distinct_elements(access, {"i": 10}) <= 10


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 12), st.integers(1, 5), st.integers(1, 5))
def test_halos_count_for_every_tile_that_reads_them(stride: int, kernel: int, size: int, tile: int, kernel_tile: int) -> None:
    access = Access("x", (axis("h") * stride + axis("kh"), axis("c")))
    sizes, tiles = {"h": size, "kh": kernel, "c": 3}, {"h": tile, "kh": kernel_tile, "c": 2}
    blocks = product(*(_blocks(sizes[name], tiles[name]) for name in sizes))
    expected = sum(enumerated(access, dict(zip(sizes, block, strict=True))) for block in blocks)
    assert swept_elements(access, tiles, sizes) == expected


def _blocks(size: int, tile: int) -> list[int]:
    return [min(tile, size - start) for start in range(0, size, tile)]


def test_tile_sizes_may_be_arrays() -> None:
    access = Access("x", (axis("w") * 4 + axis("kw"), axis("c")))
    counted = distinct_elements(access, {"w": np.array([[1], [8]]), "kw": 3, "c": np.array([1, 2])})
    assert counted.tolist() == [[3, 6], [24, 48]]
    three = Access("x", (axis("a") + axis("b") * 3 + axis("c") * 7,))
    assert distinct_elements(three, {"a": np.array([1, 3]), "b": 2, "c": 2}).tolist() == [4, 12]


@pytest.mark.parametrize("seed", range(20))
def test_sums_of_many_terms_have_as_many_values_as_enumerated(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(50):
        terms = [(source.choice((1, 2, 3, 7, 16, 50, 200)), source.randint(1, 6)) for _ in range(source.randint(3, 4))]
        index = Index(tuple((f"a{at}", factor) for at, (factor, _) in enumerate(terms)))
        tiles = {f"a{at}": count for at, (_, count) in enumerate(terms)}
        values = {sum(f * x for (f, _), x in zip(terms, xs, strict=True)) for xs in product(*(range(c) for _, c in terms))}
        assert int(distinct_values(index, tiles)) == len(values)


def test_dimensions_of_any_length_are_counted_at_once() -> None:
    long = 1 << 40
    index = Index((("a", 2 * long), ("b", long), ("c", 1)))
    assert int(distinct_values(index, {"a": 2, "b": 2, "c": long})) == 4 * long


def test_the_values_of_long_terms_that_reach_over_each_other_are_bounded() -> None:
    index = Index((("a", 3), ("b", 2), ("c", 1)))
    assert int(distinct_values(index, {"a": 1 << 20, "b": 1 << 20, "c": 1 << 20})) == 6 * ((1 << 20) - 1) + 1
