"""Where measurements are made: behind one interface this process, or the machines of a cluster (`cluster.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from tilewright.machine.machine import Machine
from tilewright.runtime import calibration

Answer = TypeVar("Answer")
Task = tuple[Any, ...]
"""Arguments of a function."""


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
        """One after the other."""
        for number, task in enumerate(tasks):
            yield number, function(*task)


HERE = Here()
