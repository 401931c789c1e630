from __future__ import annotations

from collections.abc import Callable
from itertools import count

from tilewright_bench.measurement.rounds import LEAST_ROUNDS, Turn, interleaved


def recorded(names: str, calls: list[str]) -> dict[str, Callable[[], float]]:
    """Contenders that write down their turns and take a second."""
    return {name: lambda name=name: (calls.append(name), 1.0)[1] for name in names}


def test_every_other_round_goes_in_reverse_order() -> None:
    calls: list[str] = []
    found = interleaved(recorded("abc", calls), 3, lambda: 1e9)
    assert "".join(calls) == "abccbaabc"
    assert [set(one) for one in found] == [set("abc")] * 3


def test_the_peak_beside_a_turn_is_the_larger_of_before_and_after() -> None:
    peaks = iter([3.0, 1.0, 2.0])
    (only,) = interleaved(recorded("ab", []), 1, lambda: next(peaks))
    assert only == {"a": Turn(1.0, 3.0), "b": Turn(1.0, 2.0)}


def test_rounds_beyond_the_least_end_with_the_budget() -> None:
    assert len(interleaved(recorded("a", []), 9, lambda: 1.0, budget_s=0.0)) == LEAST_ROUNDS
    assert len(interleaved(recorded("a", []), 2, lambda: 1.0, budget_s=0.0)) == 2
    assert len(interleaved(recorded("a", []), 9, lambda: 1.0)) == 9


def test_rounds_without_contenders_measure_the_peak() -> None:
    numbers = count()
    assert interleaved({}, 2, lambda: float(next(numbers))) == [{}, {}]
    assert next(numbers) == 2
