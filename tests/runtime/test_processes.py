"""Compilers as processes: slots are given back, and a child that is forked meanwhile has all of its own."""

from __future__ import annotations

import os
import threading

import pytest

from tilewright.machine.cores import usable_cores
from tilewright.runtime import processes
from tilewright.runtime.processes import Processes, TimeIsUp


def test_a_program_answers() -> None:
    answer = Processes().run(["sh", "-c", "echo out; echo err >&2; exit 3"], 20, os.environ)
    assert (answer.status, answer.output, answer.errors) == (3, b"out\n", b"err\n")


def test_slots_are_given_back_whatever_happens() -> None:
    for _ in range(usable_cores() + 1):
        with pytest.raises(TimeIsUp):
            Processes().run(["sleep", "60"], 0.05, os.environ)
        with pytest.raises(FileNotFoundError):
            Processes().run(["/nowhere/cc"], 20, os.environ)
    assert all(processes._slots.acquire(blocking=False) for _ in range(usable_cores()))
    for _ in range(usable_cores()):
        processes._slots.release()


def test_who_waited_long_enough_starts_without_a_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that hangs does not keep others from starting."""
    monkeypatch.setattr(processes, "SLOT_WAIT_S", 0.05)
    monkeypatch.setattr(processes, "_slots", threading.BoundedSemaphore(1))
    assert processes._slots.acquire(timeout=1)
    assert Processes().run(["true"], 20, os.environ).status == 0


def test_a_forked_child_has_all_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = [processes._slots.acquire(timeout=20) for _ in range(usable_cores())]
    child = os.fork()
    if child == 0:
        os._exit(0 if processes._slots.acquire(blocking=False) else 1)
    status = os.waitpid(child, 0)[1]
    for _ in slots:
        processes._slots.release()
    assert status == 0


def test_nothing_is_started_after_an_interruption() -> None:
    stopped = Processes()
    stopped.kill()
    with pytest.raises(InterruptedError):
        stopped.run(["true"], 20, os.environ)
