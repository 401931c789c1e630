"""Where measurements are made: behind one interface this process, or the machines of a cluster (`cluster.py`)."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from filelock import FileLock, Timeout

from tilewright.machine.machine import Machine
from tilewright.runtime import calibration

LOG = logging.getLogger("tilewright.tune")
Answer = TypeVar("Answer")
Task = tuple[Any, ...]
"""Arguments of a function."""


def alone(function: Callable[..., Answer], task: Task, waits: Callable[[], None] = lambda: None) -> Answer:
    """A task, while no other measures on this host, whichever process it is of. `waits` is called where it has to wait."""
    lock = FileLock(Path(tempfile.gettempdir()) / f"tilewright-measures-{os.getuid()}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waits()
        lock.acquire()
    try:
        return function(*task)
    finally:
        lock.release()


class Executor(Protocol):
    """Runs functions on machines of one kind, one at a time on each."""

    def machines(self) -> list[Machine]:
        """One of every kind there is, as it describes and has calibrated itself."""
        ...

    def run(self, machine: Machine, function: Callable[..., Answer], tasks: Iterable[Task]) -> Iterator[tuple[int, Answer]]:
        """The answers of a function to tasks, on machines of this kind, each with the number of its task, as they come in.

        A task is asked for when a machine is free, so that it can depend on earlier answers. Every task is answered once.
        """
        ...


class Here:
    """This process."""

    def machines(self) -> list[Machine]:
        """This one."""
        return [calibration.ensure()]

    def run(self, machine: Machine, function: Callable[..., Answer], tasks: Iterable[Task]) -> Iterator[tuple[int, Answer]]:
        """One after the other, and none beside those of other processes."""
        for number, task in enumerate(tasks):
            yield number, alone(function, task, _waits)


@cache
def _waits() -> None:
    """Say so, once."""
    LOG.warning("another run measures on this machine; this one waits for it")


HERE = Here()
