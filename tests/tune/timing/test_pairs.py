from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tilewright.tune.timing import LEAST_PAIRS, MOST_PAIRS, fastest, pair, ratios


def test_the_order_within_a_pair_changes() -> None:
    calls: list[str] = []
    for number in (0, 1, 2):
        pair(lambda: calls.append("first") or 1.0, lambda: calls.append("second") or 2.0, number)
    assert calls == ["second", "first", "first", "second", "second", "first"]


def test_ratios_are_those_within_pairs() -> None:
    """All calls become slower from pair to pair, and every ratio stays."""
    turns: list[float] = []

    def seconds(factor: float) -> float:
        turns.append(factor)
        return factor * 2.0 ** ((len(turns) + 1) // 2)

    assert ratios(lambda: seconds(1.0), [lambda: seconds(3.0)], budget_s=0.0) == [3.0]
    assert ratios(lambda: 1.0, [lambda: 0.5, lambda: 4.0], budget_s=0.0) == [0.5, 4.0]


@pytest.mark.parametrize(("budget_s", "pairs"), [(0.0, LEAST_PAIRS), (60.0, MOST_PAIRS)])
def test_pairs_are_taken_while_the_budget_lasts(budget_s: float, pairs: int) -> None:
    calls: list[float] = []
    ratios(lambda: calls.append(1.0) or 1.0, [lambda: 1.0], budget_s=budget_s)
    assert len(calls) == pairs


def noisy(source: random.Random, seconds: float) -> Callable[[], float]:
    """A clock of turns that other programs disturb by up to a third."""
    return lambda: seconds * source.lognormvariate(0.0, 0.15)


def test_a_copy_of_the_reference_is_not_faster() -> None:
    """Of five copies the least median is below 0.98 in most runs: fresh pairs say that this was chance."""
    judged = []
    for seed in range(40):
        source = random.Random(seed)
        judged.append(fastest(noisy(source, 1.0), [noisy(source, 1.0)] * 5, budget_s=0.0))
    assert sum(found is not None and found.is_faster for found in judged) <= 1


def test_a_faster_candidate_is_elected_and_kept() -> None:
    source = random.Random(0)
    found = fastest(noisy(source, 1.0), [noisy(source, 1.1), noisy(source, 0.7), noisy(source, 1.0)], budget_s=0.0)
    assert found is not None
    assert found.number == 1
    assert found.is_faster
    assert fastest(lambda: 1.0, [], budget_s=0.0) is None
