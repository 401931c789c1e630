"""Contenders in another process, for a library that needs another environment. The worker idles while others have their turns."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from tilewright_bench.measurement.contender import CaseT, Contender, Peer

STOP_S = 5.0


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that has contenders ready."""

    process: BaseProcess
    pipe: Connection

    def contenders(self, peer: Peer[CaseT], case: CaseT, threads: int, renamed: Callable[[str], str]) -> Iterator[Contender]:
        """Those that the peer makes of the case there, in the place of earlier ones. Raises what goes wrong there."""
        bare = replace(case)  # type: ignore[type-var]  # cases are dataclasses; the copy has not made its operands
        for number, (name, executions, tolerance) in enumerate(self._ask("prepare", peer.prepare, bare, threads)):
            call, result, turn = (partial(self._ask, order, number) for order in ("call", "result", "turn"))
            yield Contender(renamed(name), call, result, executions, turn, tolerance=tolerance)

    def stop(self) -> None:
        """End the process."""
        self.pipe.close()
        self.process.join(STOP_S)
        self.process.kill()

    def _ask(self, *order: Any) -> Any:
        self.pipe.send(order)
        done, answer = self.pipe.recv()
        if not done:
            raise answer
        return answer


def start(environment: Mapping[str, str]) -> Worker:
    """A process with these variables besides those of this one; it ends with this one, which Ctrl-C is left to."""
    context = multiprocessing.get_context("spawn")
    local, remote = context.Pipe()
    process = context.Process(target=serve, args=(remote,), daemon=True)
    with _set(environment), _interrupts_ignored():
        process.start()
    remote.close()
    worker = Worker(process, local)
    atexit.register(worker.stop)
    return worker


def serve(pipe: Connection) -> None:
    """Follow orders until the other end of the pipe is closed."""
    ready: list[Contender] = []
    while True:
        try:
            order, *arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((True, _follow(ready, order, arguments)))
        except Exception as problem:
            pipe.send((False, RuntimeError(f"{type(problem).__name__}: {problem}")))


def _follow(ready: list[Contender], order: str, arguments: list[Any]) -> Any:
    if order == "prepare":
        prepare, case, threads = arguments
        ready.clear()
        ready.extend(prepare(case, threads))
        return [(contender.name, contender.executions, contender.tolerance) for contender in ready]
    contender = ready[arguments[0]]
    if order == "call":
        contender.call()
        return None
    return contender.result() if order == "result" else contender.seconds()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Processes that are started inside inherit it; only the main thread may change it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _set(environment: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
