"""Who takes part in a benchmark: Tilewright and its peers, each in one or more variants."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Generic, TypeVar

import numpy as np

from tilewright.cli.bench.cases import Case

OWN = "tilewright"
PLAIN_READ = "plain-read"
"""Takes turns where reading binds a case, and no part in the comparison."""
TURN_S = 2e-3
"""Each turn lasts at least this long, and one call."""
LONG_CALL_S = 0.1
"""A call so long needs no warm caches, and none before it."""
CaseT = TypeVar("CaseT", bound=Case)


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to compute a case, ready to run: `call` does the work, `result` reads what the last call computed."""

    name: str
    call: Callable[[], object]
    result: Callable[[], np.ndarray[Any, Any]]
    executions: int = 1
    """Of the case in one call: more than one where a loop in C makes them."""
    remote_turn: Callable[[], float] | None = None
    """Seconds per execution in a turn, where a worker measures them."""

    def seconds(self) -> float:
        """Per execution in a turn: after one call that is not counted unless it is a long one."""
        if self.remote_turn is not None:
            return self.remote_turn()
        first_s = _elapsed_s(self.call)
        if first_s >= LONG_CALL_S:
            return first_s / self.executions
        calls, elapsed_s, start = 0, 0.0, time.perf_counter()
        while elapsed_s < TURN_S:
            self.call()
            calls += 1
            elapsed_s = time.perf_counter() - start
        return elapsed_s / (calls * self.executions)


def always() -> bool:
    """A peer that is measured wherever it is installed."""
    return True


@dataclass(frozen=True, slots=True)
class Peer(Generic[CaseT]):
    """A library that is measured. `packages` are the distributions that it needs; the first one gives its version."""

    name: str
    packages: tuple[str, ...]
    prepare: Callable[[CaseT, int], Iterable[Contender]]
    """Of a case and a number of threads; what this makes before it returns is not measured."""
    note: str
    """What is done ahead of the measurement, and in which settings it runs."""
    prepacked_note: str = ""
    """What becomes of the constants where right-hand sides are constant."""
    hint: str = "pip install tilewright[bench]"
    """How to get it."""
    matters: Callable[[], bool] = always
    """Whether it is measured where it is not asked for by name."""
    may_fail: bool = True
    """Whether a case that it cannot do is a row with its reason, or the end of the benchmark."""

    def missing(self) -> tuple[str, ...]:
        """The packages that are not installed."""
        return tuple(package for package in self.packages if installed(package) is None)


def _elapsed_s(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def installed(package: str) -> str | None:
    """The version of an installed distribution, None where it is not installed.

    >>> installed("no-such-package") is None
    True
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
