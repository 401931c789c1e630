"""First calls in a copy of the process: crashes and endless loops stay there."""

import ctypes
import itertools
import os
import signal
from types import SimpleNamespace

import pytest

from tilewright.tune.pipeline import work
from tilewright.tune.pipeline.work import returns


def test_what_a_call_writes_is_not_seen():
    written = []
    assert returns(lambda: written.append(1))
    assert not written


@pytest.mark.parametrize(
    "call",
    [
        lambda: ctypes.string_at(0),
        lambda: os.kill(os.getpid(), signal.SIGILL),
        lambda: os.kill(os.getpid(), signal.SIGBUS),
        lambda: os.abort(),
    ],
    ids=["no address", "no instruction", "no memory", "abort"],
)
def test_crashes_stay_in_the_copy(call):
    assert not returns(call)


def test_a_call_without_an_end_is_ended():
    assert not returns(lambda: sum(0 for _ in itertools.count()), limit_s=0.05)


def test_a_call_that_waits_for_ever_is_ended(monkeypatch):
    monkeypatch.setattr(work, "WAITING_S", 0.05)
    assert not returns(signal.pause, limit_s=1e-3)


@pytest.mark.parametrize(("first_s", "turns"), [(0.31, 1), (0.29, 1 + work.TURNS)])
def test_a_variant_whose_first_call_takes_three_times_the_best_is_called_once(first_s, turns):
    seconds = iter([first_s, *[0.2] * work.TURNS])
    called = []
    runnable = SimpleNamespace(seconds=lambda *turn_s: called.append(turn_s) or next(seconds))
    assert work._timed(runnable, best_s=0.1) == (first_s if turns == 1 else 0.2)
    assert len(called) == turns


def test_a_call_that_raises_did_not_return():
    assert not returns(lambda: {}["missing"])
