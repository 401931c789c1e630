"""Turns at the interpreter's lock are short while kernels are compiled ahead, and as before afterwards, whoever ends first."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack

import pytest

from tilewright.runtime import turns


def test_the_last_of_several_restores() -> None:
    usual_s = sys.getswitchinterval()
    first, second = ExitStack(), ExitStack()
    first.enter_context(turns.short())
    second.enter_context(turns.short())
    first.close()
    assert sys.getswitchinterval() == pytest.approx(turns.SHORT_TURN_S)
    second.close()
    assert sys.getswitchinterval() == pytest.approx(usual_s)


def test_turns_that_are_shorter_stay() -> None:
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(turns.SHORT_TURN_S / 4)
    try:
        with turns.short():
            assert sys.getswitchinterval() == pytest.approx(turns.SHORT_TURN_S / 4)
    finally:
        sys.setswitchinterval(usual_s)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_has_the_usual_turns() -> None:
    usual_s = sys.getswitchinterval()
    with turns.short():
        if not (child := os.fork()):
            os._exit(abs(sys.getswitchinterval() - usual_s) > 1e-6)
        assert os.waitpid(child, 0)[1] == 0
