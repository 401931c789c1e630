from __future__ import annotations

import pytest

from tilewright.tune import timing
from tilewright.tune.timing import LONG_CALL_S, seconds_per_call


class Clock:
    """A clock that stands still but for the calls that are timed."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.calls = 0

    def perf_counter(self) -> float:
        return self.now_s

    def call(self, *seconds: float) -> None:
        """Takes the seconds of its turn, the last ones for good."""
        self.now_s += seconds[min(self.calls, len(seconds) - 1)]
        self.calls += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(timing.time, "perf_counter", made.perf_counter)
    return made


def test_the_call_that_warms_the_caches_does_not_count(clock: Clock) -> None:
    assert seconds_per_call(lambda: clock.call(0.05, 0.001), turn_s=0.002) == pytest.approx(0.001)
    assert clock.calls == 3


def test_a_turn_has_one_call_at_least(clock: Clock) -> None:
    assert seconds_per_call(lambda: clock.call(0.05), turn_s=0.002) == pytest.approx(0.05)
    assert clock.calls == 2


def test_a_long_call_is_the_whole_turn(clock: Clock) -> None:
    assert seconds_per_call(lambda: clock.call(LONG_CALL_S)) == LONG_CALL_S
    assert clock.calls == 1
