"""Settings of the interpreter while kernels are prepared: as before afterwards, whoever prepares or forks meanwhile."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import pytest

import tilewright as tw
from tilewright.api.kernel import Lowered
from tilewright.interpreter_settings import MOST_YOUNG, SHORT_TURN_S, collector_waits, short_turns
from tilewright.plan.types import Plan


@pytest.fixture(autouse=True)
def collector_works() -> Iterator[None]:
    """Before and after every test."""
    assert gc.isenabled()
    yield
    is_enabled = gc.isenabled()
    gc.enable()
    assert is_enabled


def test_a_preparation_inside_another() -> None:
    with collector_waits():
        with collector_waits():
            assert not gc.isenabled()
        assert not gc.isenabled()


def test_errors_end_it() -> None:
    with pytest.raises(ValueError, match="inside"), collector_waits():
        raise ValueError("inside")


@pytest.fixture
def nothing_frozen() -> Iterator[None]:
    """As outside of tests, which freeze what they have imported."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.parametrize(("count", "collections"), [(MOST_YOUNG // 2, 1), (2 * MOST_YOUNG, 0)])
def test_very_many_new_objects_are_not_gone_through_at_once(nothing_frozen: None, count: int, collections: int) -> None:
    with collector_waits():
        kept = [[number] for number in range(count)]
        before = sum(generation["collections"] for generation in gc.get_stats())
    kept += [[number] for number in range(100)]
    assert sum(generation["collections"] for generation in gc.get_stats()) == before + collections


def test_the_last_of_several_threads_ends_it() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def prepare() -> None:
        with collector_waits():
            begun.set()
            may_end.wait()

    thread = threading.Thread(target=prepare)
    thread.start()
    begun.wait()
    with collector_waits():
        pass
    assert not gc.isenabled()
    may_end.set()
    thread.join()


def test_who_switched_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with collector_waits():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_fork_inside_collects() -> None:
    with collector_waits():
        child = os.fork()
        is_enabled = gc.isenabled()
        if not child:
            with collector_waits():
                is_paused = not gc.isenabled()
            os._exit(0 if is_enabled and is_paused and gc.isenabled() else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_functions_are_traced_with_it_and_compiled_without(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    compile_ = Lowered.compile
    monkeypatch.setattr(Lowered, "compile", lambda lowered: (seen.append(gc.isenabled()), compile_(lowered))[1])

    @tw.jit
    def doubled(x: tw.Array) -> tw.Array:
        seen.append(gc.isenabled())
        return x + x

    doubled(np.ones(3, np.float32))
    assert seen == [True, False]


def test_planning_leaves_little_to_collect() -> None:
    """Else memory would grow while the collector waits."""
    assert _planned(32)  # modules are loaded, whose classes leave cycles
    gc.collect()
    with collector_waits():
        assert _planned(64)
    assert gc.collect() < 1000


def _planned(extent: int) -> tuple[Plan, ...]:
    spec = tw.spec((extent, extent))
    return tw.jit(lambda a, b: tw.relu(a @ b) @ b).lower(spec, spec).model_plan.plans


def test_the_last_of_several_restores_turns() -> None:
    usual_s = sys.getswitchinterval()
    first, second = ExitStack(), ExitStack()
    first.enter_context(short_turns())
    second.enter_context(short_turns())
    first.close()
    assert sys.getswitchinterval() == pytest.approx(SHORT_TURN_S)
    second.close()
    assert sys.getswitchinterval() == pytest.approx(usual_s)


def test_turns_that_are_shorter_stay() -> None:
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(SHORT_TURN_S / 4)
    try:
        with short_turns():
            assert sys.getswitchinterval() == pytest.approx(SHORT_TURN_S / 4)
    finally:
        sys.setswitchinterval(usual_s)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_has_the_usual_turns() -> None:
    usual_s = sys.getswitchinterval()
    with short_turns():
        if not (child := os.fork()):
            os._exit(abs(sys.getswitchinterval() - usual_s) > 1e-6)
        assert os.waitpid(child, 0)[1] == 0
