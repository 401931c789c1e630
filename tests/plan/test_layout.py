"""Offsets of a layout against NumPy: pad, reshape, transpose, ravel."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilewright.graph.expressions.index import axis
from tilewright.plan.layout import Layout, panels, row_major

EMPTY = -1


def memory_of(array: Any, layout: Layout) -> Any:
    """The elements of an array in the order of a layout; what is filled up is EMPTY. Leading dimensions are slower than all."""
    before = array.ndim - len(layout.order)
    cuts = [[size for cut, size in layout.blocks if cut == dimension] for dimension in range(len(layout.order))]
    extents = array.shape[before:]
    blocks = [-(-extent // prod(cut)) for extent, cut in zip(extents, cuts, strict=True)]
    filling = [(0, count * prod(cut) - extent) for extent, count, cut in zip(extents, blocks, cuts, strict=True)]
    whole = np.pad(array, [*[(0, 0)] * before, *filling], constant_values=EMPTY)
    shape, places = list(whole.shape[:before]), dict[int, Iterator[int]]()
    for dimension, (count, cut) in enumerate(zip(blocks, cuts, strict=True)):
        places[dimension] = iter(range(len(shape), len(shape) + 1 + len(cut)))
        shape += [count, *cut]
    order = [*range(before), *(next(places[dimension]) for dimension in (*layout.order, *(cut for cut, _ in layout.blocks)))]
    ordered = whole.reshape(shape).transpose(order)
    if ordered.ndim > 1:
        ordered = np.pad(ordered, [*[(0, 0)] * (ordered.ndim - 1), (0, layout.row_padding)], constant_values=EMPTY)
    return ordered.ravel()


def check(layout: Layout, shape: tuple[int, ...]) -> None:
    array = np.arange(prod(shape)).reshape(shape)
    memory = memory_of(array, layout)
    assert layout.elements(shape) == memory.size
    offset = layout.offset([axis(f"d{i}") for i in range(len(shape))], shape)
    for position in product(*map(range, shape)):
        place = offset.evaluate({f"d{i}": value for i, value in enumerate(position)})
        assert memory[int(place)] == array[position], (layout, shape, position)


def layouts(rank: int) -> st.SearchStrategy[Layout]:
    orders = st.permutations(range(rank)).map(tuple)
    blocks = st.lists(st.tuples(st.integers(0, rank - 1), st.integers(1, 4)), max_size=3).map(tuple)
    return st.builds(Layout, orders, blocks, st.integers(0, 3))


@given(st.data())
def test_every_element_lies_where_numpy_moves_it(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    leading = data.draw(st.integers(0, 1))
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=rank + leading, max_size=rank + leading)))
    check(data.draw(layouts(rank)), shape)


def test_layouts_by_name() -> None:
    for layout, shape in (
        (row_major(3), (2, 3, 5)),
        (row_major(2, row_padding=3), (4, 5)),
        (Layout((0, 2, 3, 1)), (2, 3, 4, 5)),
        (Layout((0, 1, 2, 3), ((1, 4),)), (2, 6, 3, 2)),
        (panels(4), (7, 10)),
        (panels(4, interleave=4), (10, 9)),
        (panels(4, interleave=2), (3, 5, 9)),
    ):
        check(layout, shape)


def test_strides_of_plain_layouts_are_those_of_numpy() -> None:
    array = np.zeros((2, 3, 4), np.uint8)
    assert str(row_major(3).offset([axis("a"), axis("b"), axis("c")], array.shape)) == "12*a + 4*b + c"
    assert array.strides == (12, 4, 1)


def test_panels_know_their_columns_and_their_interleave() -> None:
    assert (panels(64).panel_columns, panels(64).interleave) == (64, 1)
    assert (panels(32, 4).panel_columns, panels(32, 4).interleave) == (32, 4)
    assert (row_major(2).panel_columns, row_major(2).interleave, row_major(0).interleave) == (0, 1, 1)
    assert (Layout((0, 1, 2, 3), ((1, 16),)).panel_columns, Layout((0, 2, 3, 1)).interleave) == (0, 1)


def test_an_array_of_no_dimensions_is_one_element() -> None:
    assert row_major(0).elements(()) == 1
    assert row_major(0).offset([], ()).constant == 0
