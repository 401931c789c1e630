"""Where measurements are made: behind one interface this process, or the machines of a Dask cluster.

In a cluster one measurement is made at a time on each machine, machines that are alike work together, and lost workers are
replaced. A worker is any `dask worker` with this package. Tasks go to workers whose machine is of the kind that plans are for;
a lock on every host (`alone`) lets one task at a time measure there, however many workers it has. What a lost worker had is given
to another one. Answers come back to the client, which alone writes them: nothing is written twice.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from filelock import FileLock, Timeout

from tilewright import __version__
from tilewright.errors import TilewrightError, needs_packages
from tilewright.machine.machine import Machine
from tilewright.runtime import calibration
from tilewright.runtime.tuning.database import machine_key

LOG = logging.getLogger("tilewright.tune")
Answer = TypeVar("Answer")
Task = tuple[Any, ...]
"""Arguments of a function."""


def alone(function: Callable[..., Answer], task: Task, waits: Callable[[], None] = lambda: None) -> Answer:
    """A task, while no other measures on this host, whichever process it is of. `waits` is called where it has to wait."""
    lock = FileLock(Path(tempfile.gettempdir()) / f"tilewright-measures-{os.getuid()}.lock")
    try:
        held = lock.acquire(timeout=0)
    except Timeout:
        waits()
        held = lock.acquire()
    with held:
        return function(*task)


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


ADDRESS = re.compile(r"(tcp|tls|ucx|ws|wss|inproc)://\S+")
"""Of a scheduler: `distributed` leaves half a client behind where it is given anything else."""
CONNECT_S = 5.0
LOOK_S = 1.0
"""Between looks at which workers are there."""
PATIENCE_S = 60.0
"""For a worker, where none is left."""


def described() -> tuple[Machine, str]:
    """The worker that this runs on: its machine, and the release that it has."""
    return calibration.ensure(), __version__


class SchedulerLost(TilewrightError):
    """The cluster cannot be asked any more. What was measured is kept."""


class Cluster(AbstractContextManager["Cluster"]):
    """The cluster of a scheduler, as an `Executor`, for a `with` statement."""

    def __init__(self, address: str) -> None:
        """Raises `TilewrightError` without `distributed`, for what is no address, and where no scheduler answers."""
        if not ADDRESS.fullmatch(address):
            raise TilewrightError(f"{address} is no address of a scheduler", hint="it prints its own: tcp://HOST:PORT")
        with needs_packages("a cluster", "tune", address):
            from distributed import Client
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        self._address = address
        self._known: dict[str, tuple[Machine, str]] = {}
        try:
            self._client = Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as problem:
            raise TilewrightError(
                "no scheduler answers", where=address, why=str(problem), hint="start one: dask scheduler; dask worker ADDRESS"
            ) from None

    def __exit__(self, *_: object) -> None:
        """Leave the cluster; what it still measures is given up."""
        self._client.close(timeout=CONNECT_S)

    def machines(self) -> list[Machine]:
        """One of every kind that workers run on. Raises `TilewrightError` where there is no worker, or of another release."""
        found = {machine_key(machine): machine for machine, _ in self._workers().values()}
        if not found:
            raise TilewrightError(
                "the cluster has no workers that answer",
                where=self._address,
                why=f"{len(self._asked(self._client.nthreads))} are there",
                hint=f"start some, where this package is installed: dask worker {self._address}",
            )
        return list(found.values())

    def run(self, machine: Machine, function: Callable[..., Answer], tasks: Iterable[Task]) -> Iterator[tuple[int, Answer]]:
        """As `Executor.run`. Raises `SchedulerLost` where the scheduler goes away, `TilewrightError` where no worker is left."""
        running = _Running(self, machine_key(machine), function, enumerate(tasks))
        try:
            yield from running.answers()
        finally:
            running.give_up()

    def alive(self, key: str) -> list[str]:
        """The addresses of workers on machines of this kind."""
        return [address for address, (machine, _) in self._workers().items() if machine_key(machine) == key]

    def submit(self, function: Callable[..., Answer], task: Task, workers: list[str]) -> Any:
        """A future of a task on one of some workers."""
        return self._asked(
            lambda: self._client.submit(alone, function, task, workers=workers, allow_other_workers=False, pure=False)
        )

    def first_of(self, futures: list[Any]) -> list[Any]:
        """Those that end first. Raises `TimeoutError` where none does within `LOOK_S`."""
        from distributed import wait

        with self._client.as_current():
            return list(wait(futures, timeout=LOOK_S, return_when="FIRST_COMPLETED").done)

    def _workers(self) -> dict[str, tuple[Machine, str]]:
        """Those that are there now, by address."""
        there = list(self._asked(self._client.nthreads))
        fresh = [address for address in there if address not in self._known]
        if fresh:
            self._known |= self._asked(lambda: self._client.run(described, workers=fresh, on_error="ignore"))
        found = {address: self._known[address] for address in there if address in self._known}
        for address, (_, release) in found.items():
            if release != __version__:
                raise TilewrightError(
                    f"a worker has release {release} of this package", where=address, hint=f"install {__version__} there"
                )
        return found

    def _asked(self, question: Callable[[], Any]) -> Any:
        """What the scheduler says. Raises `SchedulerLost` where it says nothing."""
        if self._client.status != "running":
            raise self.lost(f"the connection is {self._client.status}")
        try:
            return question()
        except (OSError, TimeoutError, CancelledError, AttributeError) as problem:
            raise self.lost(str(problem) or type(problem).__name__) from None

    @property
    def is_there(self) -> bool:
        """Whether the client has a connection."""
        return bool(self._client.status == "running")

    def lost(self, why: str) -> SchedulerLost:
        """That the scheduler is not there."""
        return SchedulerLost(
            "the scheduler has gone away",
            where=self._address,
            why=why,
            hint="what was measured is kept: start it again, and the same command goes on where it was",
        )


class _Running:
    """The tasks of one `run`: those that wait, those that workers have, and how often each was given to one."""

    def __init__(self, cluster: Cluster, key: str, function: Callable[..., Any], tasks: Iterator[tuple[int, Task]]) -> None:
        self._cluster, self._key, self._function, self._tasks = cluster, key, function, tasks
        self._given: dict[Any, tuple[int, Task, list[str]]] = {}
        """By future: the number, the task, and the workers that may do it."""
        self._again: list[tuple[int, Task]] = []
        self._seen_s = time.monotonic()
        """When there was a worker."""

    def answers(self) -> Iterator[tuple[int, Any]]:
        """As they come in, each once."""
        self._give()
        while self._given or self._again:
            for future in self._done():
                number, *_ = self._given.pop(future)
                yield number, self._answer(future)
            self._give()

    def give_up(self) -> None:
        """Cancel what workers still have."""
        if self._cluster.is_there:
            for future in self._given:
                future.cancel()
        self._given.clear()

    def _give(self) -> None:
        """Give every worker a task; take back those whose workers are all gone."""
        workers = self._cluster.alive(self._key)
        for future, (number, task, able) in list(self._given.items()):
            if not set(able) & set(workers):
                del self._given[future]
                future.cancel()
                self._again.append((number, task))
        if workers:
            self._seen_s = time.monotonic()
        elif time.monotonic() - self._seen_s > PATIENCE_S:
            raise TilewrightError(
                f"no worker of {self._key} is left",
                why=f"none has come for {PATIENCE_S:.0f} s",
                hint="what was measured is kept: start workers, and the same command goes on where it was",
            )
        while len(self._given) < len(workers):
            following = self._again.pop() if self._again else next(self._tasks, None)
            if following is None:
                return
            number, task = following
            self._given[self._cluster.submit(self._function, task, workers)] = number, task, workers

    def _done(self) -> list[Any]:
        """Futures that have ended, after a while at most."""
        if not self._given:
            time.sleep(LOOK_S)
            return []
        try:
            return self._cluster.first_of(list(self._given))
        except TimeoutError:
            return []
        except (CancelledError, OSError) as problem:
            raise self._cluster.lost(str(problem) or type(problem).__name__) from None

    def _answer(self, future: Any) -> Any:
        """The answer. Raises `TilewrightError` where workers died with the task: Dask gives it to several."""
        from distributed import KilledWorker

        try:
            return future.result(timeout=CONNECT_S)
        except KilledWorker as problem:
            hint = "run without --scheduler to see why"
            raise TilewrightError("a task kills the workers that it is given to", why=str(problem), hint=hint) from None
        except (CancelledError, TimeoutError) as problem:
            raise self._cluster.lost(str(problem) or type(problem).__name__) from None
