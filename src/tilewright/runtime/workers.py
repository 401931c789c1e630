"""Threads for work beside the caller's, while the interpreter still starts any."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def pool(count: int) -> Executor:
    """An executor of so many threads; of the caller's alone once the main thread has ended, when Python refuses new ones.

    >>> with pool(2) as workers:
    ...     list(workers.map(abs, [-1, 2]))
    [1, 2]
    """
    if not threading.main_thread().is_alive():
        return _Caller()
    from concurrent.futures import ThreadPoolExecutor  # 5 ms: not for the path of every import

    return ThreadPoolExecutor(count)


class _Caller(Executor):
    """Does at once what it is given."""

    def submit(self, function: Callable[P, R], /, *args: P.args, **options: P.kwargs) -> Future[R]:
        """A future that is done."""
        done: Future[R] = Future()
        try:
            done.set_result(function(*args, **options))
        except Exception as problem:
            done.set_exception(problem)
        return done
