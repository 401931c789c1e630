"""First calls in a copy of the process: crashes and endless loops stay there."""

import ctypes
import itertools
import os
import signal

import pytest

from tilewright.tune.pipeline.first_calls import returns


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


def test_a_call_that_raises_did_not_return():
    assert not returns(lambda: {}["missing"])
