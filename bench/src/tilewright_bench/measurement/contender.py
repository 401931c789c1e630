"""Who takes part in a benchmark: Tilewright and its peers, each in one or more variants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Generic, TypeVar

import numpy as np

from tilewright.tune.timing import seconds_per_call
from tilewright_bench.cases.case import TOLERANCE, Case

TILEWRIGHT = "tilewright"
PLAIN_READ = "plain-read"
"""Takes turns where reading binds a case, and no part in the comparison."""
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
    note: str = ""
    """How it computes the case, for the report."""
    tolerance: float = TOLERANCE
    """The error up to which its result is right: more than the usual one where it rounds its result to fewer bits."""

    def seconds(self) -> float:
        """Per execution, in a turn."""
        if self.remote_turn is not None:
            return self.remote_turn()
        return seconds_per_call(self.call) / self.executions


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
    hint: str = "in a checkout of Tilewright: pip install -e '.[bench]' -e ./bench"
    """How to get it."""
    matters: Callable[[], bool] = always
    """Whether it is measured where it is not asked for by name."""
    may_fail: bool = True
    """Whether a case that it cannot do is a row with its reason, or the end of the benchmark."""

    def missing(self) -> tuple[str, ...]:
        """The packages that are not installed."""
        return tuple(package for package in self.packages if installed(package) is None)


def installed(package: str) -> str | None:
    """The version of an installed distribution, None where it is not installed.

    >>> installed("no-such-package") is None
    True
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
