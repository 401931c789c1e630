"""Which extents become lengths, and how many kernels that takes."""

from __future__ import annotations

import random

import pytest

from tilewright.api.lengths import DynamicDimensions, described, shape_bucket, symbols
from tilewright.graph.types import SymbolicExtent


def learned(*calls: tuple[int, ...], dynamic: bool | None = None) -> DynamicDimensions:
    lengths = DynamicDimensions(dynamic)
    for extents in calls:
        lengths.learn(extents)
    return lengths


def shared(lengths: DynamicDimensions, extents: tuple[int, ...]) -> list[list[int]]:
    """The positions of each symbol."""
    return list(symbols(lengths.key(extents)).values())


def test_every_length_has_one_bucket_of_a_factor_of_four() -> None:
    assert all(shape_bucket(n)[0] <= n <= shape_bucket(n)[1] for n in range(2, 5000))
    found = sorted({shape_bucket(n) for n in range(2, 4097)})
    assert found == [(2, 4), (5, 16), (17, 64), (65, 256), (257, 1024), (1025, 4096)]


def test_the_first_call_is_specialised() -> None:
    assert learned((3, 5)).key((3, 5)) == (3, 5)
    assert learned((3, 5), dynamic=False).key((3, 5)) == (3, 5)
    assert shared(learned((3, 5), dynamic=True), (3, 5)) == [[0], [1]]


def test_extents_that_stay_equal_share_a_symbol() -> None:
    lengths = learned((2, 8, 64, 8, 64), (2, 9, 64, 9, 64))
    assert shared(lengths, (2, 12, 64, 12, 64)) == [[1, 3]]
    assert shared(lengths, (2, 12, 64, 13, 64)) == [[1], [3]]


def test_extents_that_were_apart_share_none() -> None:
    lengths = learned((8, 8), (9, 9), (9, 10))
    assert shared(lengths, (12, 12)) == [[0], [1]]


def test_zero_and_one_stay_what_they_are_and_tell_nothing_of_equality() -> None:
    lengths = learned((4, 4), (4, 1), (7, 7), (0, 7))
    assert lengths.key((1, 1)) == (1, 1)
    assert lengths.key((0, 1)) == (0, 1)
    assert shared(lengths, (12, 12)) == [[0, 1]]
    assert shared(lengths, (12, 1)) == [[0]]
    assert learned((1,), (5,)).key((5,)) == (5,)


def test_refused_buckets_are_specialised() -> None:
    lengths = learned((8, 8), (9, 9))
    lengths.specialise([1], (10, 10))
    assert shared(lengths, (10, 10)) == [[0]]
    assert lengths.key((10, 10)) != lengths.key((10, 11))
    assert shared(lengths, (20, 20)) == [[0, 1]]


def test_what_shows_nothing_is_not_kept() -> None:
    lengths = learned((8, 8), (9, 9), *((n, n) for n in range(100)))
    assert len(lengths.seen) == 2


def test_described_extents_are_symbols_with_the_bucket() -> None:
    lengths = learned((2, 8, 8), (2, 9, 9))
    symbol = SymbolicExtent("s0", 17, 64, 64)
    assert described(lengths.key((2, 40, 40)), (2, 40, 40), [1]) == [2, symbol, symbol]
    assert described(lengths.key((2, 40, 40)), (2, 40, 40), []) == [2, 40, 40]


@pytest.mark.parametrize("seed", range(20))
def test_a_key_never_joins_calls_that_differ_in_more_than_lengths_of_a_bucket(seed: int) -> None:
    choice = random.Random(seed)
    calls = [tuple(choice.choice((0, 1, 2, 3, 5, 16, 17)) for _ in range(4)) for _ in range(30)]
    lengths, by_key = DynamicDimensions(None), {}
    for extents in calls:
        lengths.learn(extents)
    for extents in calls:
        by_key.setdefault(lengths.key(extents), []).append(extents)
    for key, together in by_key.items():
        for extents in together:
            own = described(key, extents, symbols(key))
            assert own == described(key, together[0], symbols(key))
            for position, extent in enumerate(own):
                if isinstance(extent, SymbolicExtent):
                    assert extent.low <= extents[position] <= extent.high
                    assert all(extents[other] == extents[position] for other, e in enumerate(own) if e is extent)


def test_orders_of_lengths_need_eight_kernels_at_most() -> None:
    for order in (range(1, 4097), range(4096, 0, -1), random.Random(0).sample(range(1, 4097), 4096)):
        lengths, keys = DynamicDimensions(None), set()
        for n in order:
            extents = (2, n, 64, n)
            if lengths.key(extents) not in keys:
                lengths.learn(extents)
                keys.add(lengths.key(extents))
        assert len(keys) <= 8
