"""Arenas: nothing that is alive together overlaps, and little more is taken than is ever alive."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tilewright.plan.whole_model.arena import Interval, most_alive, placed, slots

STEPS = 12


@st.composite
def interval(draw: st.DrawFn) -> Interval:
    first = draw(st.integers(0, STEPS - 1))
    return Interval(draw(st.sampled_from([0, 1, 16, 17, 48, 64, 1024])), first, draw(st.integers(first, STEPS - 1)))


intervals = st.lists(interval(), max_size=14)


def alive(one: Interval) -> set[int]:
    return set(range(one.first, one.last + 1))


@given(intervals)
def test_nothing_that_is_alive_together_overlaps(some: list[Interval]) -> None:
    arena = placed(some)
    for (a, x), (b, y) in combinations(zip(some, arena.offsets, strict=True), 2):
        if alive(a) & alive(b):
            assert set(range(x, x + a.size)).isdisjoint(range(y, y + b.size))


@given(intervals)
def test_the_size_lies_between_what_is_alive_and_the_sum(some: list[Interval]) -> None:
    arena = placed(some)
    by_step = [sum(one.size for one in some if step in alive(one)) for step in range(STEPS)]
    assert most_alive(some) == max(by_step)
    assert most_alive(some) <= arena.size <= sum(one.size for one in some)
    assert all(offset + one.size <= arena.size for offset, one in zip(arena.offsets, some, strict=True))


@given(intervals)
def test_tenants_of_a_slot_are_never_alive_together(some: list[Interval]) -> None:
    chosen = slots(some)
    for (a, x), (b, y) in combinations(zip(some, chosen, strict=True), 2):
        assert x != y or not alive(a) & alive(b)
    most = max((sum(step in alive(one) for one in some) for step in range(STEPS)), default=0)
    assert set(chosen) == set(range(most))


@given(st.lists(st.integers(1, 99), min_size=1, max_size=30))
def test_a_plain_chain_takes_what_two_neighbours_take(sizes: list[int]) -> None:
    some = [Interval(size, step, step + 1) for step, size in enumerate(sizes)]
    pairs = [a + b for a, b in zip(sizes, [*sizes[1:], 0], strict=True)]
    assert most_alive(some) == max(pairs)
    assert placed([Interval(7, one.first, one.last) for one in some]).size == (14 if len(some) > 1 else 7)
    assert max(slots(some)) <= 1
