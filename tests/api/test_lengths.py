"""Which extents are dynamic dimensions, and how many kernels that takes."""

from __future__ import annotations

import random

import pytest

from tilewright.api.lengths import FIXED, MOST_CUTS, PLANNED, PLANNED_BATCH, DynamicDimensions, symbols
from tilewright.api.ranges import LARGEST
from tilewright.graph.types import SymbolicExtent


def learned(*calls: tuple[int, ...], dynamic: bool | None = None) -> DynamicDimensions:
    lengths = DynamicDimensions(dynamic)
    for extents in calls:
        lengths.learn(extents)
    return lengths


def shared(lengths: DynamicDimensions, extents: tuple[int, ...]) -> list[list[int]]:
    """The positions of each symbol."""
    return list(symbols(lengths.ranges.key(extents)).values())


def test_a_range_begins_at_one_and_is_split_where_an_answer_changes() -> None:
    lengths = learned((8,), (9,))
    assert lengths.ranges.range_of(0, 1) == (1, LARGEST) == lengths.ranges.range_of(0, LARGEST)
    assert lengths.ranges.range_of(0, LARGEST + 1)[0] == LARGEST + 1
    assert lengths.split([0], 65)
    assert (lengths.ranges.range_of(0, 64), lengths.ranges.range_of(0, 65)) == ((1, 64), (65, LARGEST))
    assert not lengths.split([0], 65)
    assert lengths.ranges.key((64,)) != lengths.ranges.key((65,))
    assert lengths.ranges.key((65,)) == lengths.ranges.key((4096,))


def test_ranges_are_split_at_few_places_only() -> None:
    lengths = learned((8,), (9,))
    assert sum(lengths.split([0], begin) for begin in range(2, 50)) < MOST_CUTS


def test_a_range_of_one_value_is_specialised() -> None:
    lengths = learned((8,), (9,))
    assert lengths.split([0], 2)
    assert lengths.ranges.key((1,)) == (1,)
    assert shared(lengths, (2,)) == [[0]]


def test_the_first_call_is_specialised() -> None:
    assert learned((3, 5)).ranges.key((3, 5)) == (3, 5)
    assert learned((3, 5), dynamic=False).ranges.key((3, 5)) == (3, 5)
    assert shared(learned((3, 5), dynamic=True), (3, 5)) == [[0], [1]]


def test_extents_that_stay_equal_share_a_symbol() -> None:
    lengths = learned((2, 8, 64, 8, 64), (2, 9, 64, 9, 64))
    assert shared(lengths, (2, 12, 64, 12, 64)) == [[1, 3]]
    assert shared(lengths, (2, 12, 64, 13, 64)) == [[1], [3]]


def test_extents_that_were_apart_share_none() -> None:
    lengths = learned((8, 8), (9, 9), (9, 10))
    assert shared(lengths, (12, 12)) == [[0], [1]]


def test_zero_stays_what_it_is_and_one_beside_another_value_is_a_broadcast() -> None:
    lengths = learned((4, 4), (4, 1), (7, 7), (0, 7))
    assert shared(lengths, (1, 1)) == [[0, 1]]
    assert lengths.ranges.key((0, 1))[0] == 0
    assert shared(lengths, (12, 12)) == [[0, 1]]
    assert lengths.ranges.key((12, 1))[1] == 1
    assert lengths.ranges.key((1, 12))[0] == 1
    assert learned((1,), (5,)).ranges.key((5,)) == (5,)


def test_refused_ranges_are_specialised() -> None:
    lengths = learned((8, 8), (9, 9))
    lengths.split([0, 1], 17)
    lengths.specialise([1], (10, 10))
    assert shared(lengths, (10, 10)) == [[0]]
    assert lengths.ranges.key((10, 10)) != lengths.ranges.key((10, 11))
    assert shared(lengths, (20, 20)) == [[0, 1]]


def test_declared_names_are_dimensions_from_the_first_call_on() -> None:
    lengths = DynamicDimensions(None, (3, 2), ("batch", "length", FIXED, "batch", "length"))
    lengths.learn((8, 8, 64, 8, 8))
    assert shared(lengths, (8, 8, 64, 8, 8)) == [[0, 3], [1, 4]]
    assert lengths.ranges.key((8, 8, 64, 8, 8)) == lengths.ranges.key((1, 300, 64, 1, 300))
    assert lengths.ranges.key((8, 8, 64, 8, 9)) != lengths.ranges.key((8, 8, 64, 8, 8))


def test_where_names_fail_calls_tell_which_extents_are_one() -> None:
    lengths = DynamicDimensions(None, (1, 1), ("rows", "columns"))
    lengths.learn((8, 8))
    assert shared(lengths, (8, 8)) == [[0], [1]]
    assert lengths.forget_names()
    assert shared(lengths, (8, 8)) == [[0, 1]]
    assert not lengths.forget_names()


def test_what_shows_nothing_is_not_kept() -> None:
    lengths = learned((8, 8), (9, 9), *((n, n) for n in range(100)))
    assert len(lengths.seen) == 2


def test_described_extents_are_symbols_with_the_range() -> None:
    lengths = learned((2, 8, 8), (2, 9, 9))
    symbol = SymbolicExtent("s0", 1, LARGEST, PLANNED)
    assert lengths.described(lengths.ranges.key((2, 40, 40)), (2, 40, 40), [1]) == [2, symbol, symbol]
    assert lengths.described(lengths.ranges.key((2, 40, 40)), (2, 40, 40), []) == [2, 40, 40]


def test_ranges_are_planned_for_the_same_value_whatever_call_comes_first() -> None:
    for extents in ((2, 3, 64), (7, 500, 64)):
        lengths = DynamicDimensions(True, (3,))
        lengths.learn(extents)
        hints = [
            e.hint for e in lengths.described(lengths.ranges.key(extents), extents, (0, 1, 2)) if isinstance(e, SymbolicExtent)
        ]
        assert hints == [PLANNED_BATCH, PLANNED, PLANNED]


@pytest.mark.parametrize("seed", range(20))
def test_a_key_never_joins_calls_that_differ_in_more_than_lengths_of_a_bucket(seed: int) -> None:
    choice = random.Random(seed)
    calls = [tuple(choice.choice((0, 1, 2, 3, 5, 16, 17)) for _ in range(4)) for _ in range(30)]
    lengths, by_key = DynamicDimensions(None), {}
    for extents in calls:
        lengths.learn(extents)
    lengths.split([0, 2], choice.choice((2, 3, 16)))
    for extents in calls:
        by_key.setdefault(lengths.ranges.key(extents), []).append(extents)
    for key, together in by_key.items():
        for extents in together:
            own = lengths.described(key, extents, symbols(key))
            assert own == lengths.described(key, together[0], symbols(key))
            for position, extent in enumerate(own):
                if isinstance(extent, SymbolicExtent):
                    assert extent.low <= extents[position] <= extent.high
                    assert all(extents[other] == extents[position] for other, e in enumerate(own) if e is extent)


def test_orders_of_lengths_need_two_kernels() -> None:
    for order in (range(1, 4097), range(4096, 0, -1), random.Random(0).sample(range(1, 4097), 4096)):
        lengths, keys, exact = DynamicDimensions(None), set(), set()
        for n in order:
            extents = (2, n, 64, n)
            if extents not in exact and lengths.ranges.key(extents) not in keys:
                lengths.learn(extents)
                keys.add(lengths.ranges.key(extents))
                exact.add(extents)
        assert len(keys) <= 3
