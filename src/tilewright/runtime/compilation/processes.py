"""Programs that are run and waited for, each with a time limit, in a process group that is killed as a whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence

from tilewright.machine.cores import usable_cores

SLOT_WAIT_S = 10.0
NICENESS = 5
"""Added to this process's: a third of its share of a core that both want."""
_slots = threading.BoundedSemaphore(usable_cores())
"""More compilers than cores end no sooner, and keep threads that call finished kernels from the cores. A compiler that hangs
keeps its slot: who has waited so long starts without one."""


def _forget_slots() -> None:
    """In a forked child: the threads that have slots are not there to give them back."""
    global _slots
    _slots = threading.BoundedSemaphore(usable_cores())


os.register_at_fork(after_in_child=_forget_slots)


class TimeIsUp(Exception):
    """A program did not end in time; it and its children were killed."""


class Processes:
    """Programs that run beside each other. A group of their own keeps Ctrl-C from them: whoever is interrupted kills them."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._is_over = False

    def run(self, command: Sequence[str], limit_s: float, environment: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
        """Wait for a program. Raises `TimeIsUp`, or `OSError` where it cannot be started."""
        with _slot(), self._started(command, environment) as process:
            try:
                output, errors = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                _kill(process)
                raise TimeIsUp from None
            except BaseException:
                _kill(process)
                raise
            finally:
                self._running.discard(process)
            return subprocess.CompletedProcess(command, process.returncode, output, errors)

    def kill(self) -> None:
        """End all that run, and start no more."""
        with self._lock:
            self._is_over = True
            for process in [*self._running]:
                _kill(process)

    def _started(self, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_over:
                raise InterruptedError("no more programs are started")
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                process_group=0,
            )
            self._running.add(process)
        _give_way(process)
        return process


@contextlib.contextmanager
def _slot() -> Iterator[None]:
    slots = _slots
    has_slot = slots.acquire(timeout=SLOT_WAIT_S)
    try:
        yield
    finally:
        if has_slot:
            slots.release()


def _give_way(process: subprocess.Popen[bytes]) -> None:
    """Let threads that call finished kernels have the cores first."""
    with contextlib.suppress(OSError):  # it has ended, or its group may not be changed
        os.setpriority(os.PRIO_PGRP, process.pid, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:  # not waited for yet: the number is still its own
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
