"""Compilers as processes: slots are given back, and a child that is forked meanwhile has all of its own."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tilewright.machine.cores import usable_cores
from tilewright.runtime.compilation import processes
from tilewright.runtime.compilation.processes import Processes, TimeIsUp


def test_a_program_answers() -> None:
    answer = Processes().run(["sh", "-c", "echo out; echo err >&2; exit 3"], 20, os.environ)
    assert (answer.returncode, answer.stdout, answer.stderr) == (3, b"out\n", b"err\n")


@contextmanager
def all_slots_taken(directory: Path) -> Iterator[None]:
    """As many programs run as there are cores, all at once; they end with the block."""
    script = f"touch {directory}/$$; until [ -e {directory}/go ]; do sleep 0.01; done"
    with ThreadPoolExecutor(usable_cores()) as pool:
        running = [pool.submit(run, "sh", "-c", script) for _ in range(usable_cores())]
        try:
            while len(list(directory.iterdir())) < usable_cores():
                assert not any(future.done() for future in running), "a program waits for a slot that another one has"
                time.sleep(0.01)
            yield
        finally:
            (directory / "go").touch()
    assert all(future.result().returncode == 0 for future in running)


def run(*command: str) -> CompletedProcess[bytes]:
    return Processes().run(command, 20, os.environ)


def test_slots_are_given_back_whatever_happens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for _ in range(usable_cores() + 1):
        with pytest.raises(TimeIsUp):
            Processes().run(["sleep", "60"], 0.05, os.environ)
        with pytest.raises(FileNotFoundError):
            Processes().run(["/nowhere/cc"], 20, os.environ)
    monkeypatch.setattr(processes, "SLOT_WAIT_S", 60.0)
    with all_slots_taken(tmp_path):
        pass


def test_who_waited_long_enough_starts_without_a_slot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A compiler that hangs does not keep others from starting."""
    with all_slots_taken(tmp_path):
        monkeypatch.setattr(processes, "SLOT_WAIT_S", 0.05)
        assert run("true").returncode == 0


def test_a_forked_child_has_all_slots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(processes, "SLOT_WAIT_S", 60.0)
    with all_slots_taken(tmp_path):
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # a child that waits for a slot is killed
            os._exit(run("true").returncode)
        assert os.waitpid(child, 0)[1] == 0


def test_nothing_is_started_after_an_interruption() -> None:
    stopped = Processes()
    stopped.kill()
    with pytest.raises(InterruptedError):
        stopped.run(["true"], 20, os.environ)
