"""Variants compiled, checked against NumPy and called for the first time, in a process of its own.

The process is forked when the table is there, so that only numbers of variants go to it, and names of libraries come back.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import resource
import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks.studies.tuned.variants import Entry
from tilewright.runtime.memory import new_result
from tilewright.tune.schedules.cases import Case
from tilewright.tune.schedules.timing import TOLERANCE, Runnable, library, loaded

CORE = max(os.sched_getaffinity(0))
"""Of all that this study does: the last that the process may use."""
NICE = -10
"""The C compiler has 5 more: it would get nothing beside ordinary processes."""
PER_LIBRARY = 48
"""Variants of one compilation: the micro kernels are compiled once for all of them."""
LONGEST_BUILD_S = 60.0
"""After which a process that builds is taken for stuck; `multiprocessing.TimeoutError` is raised, and the next run goes on."""
LONGEST_CALLS = 500
"""Of the planner's choice, as predicted, that this takes if they last longer: first calls of large problems do."""
FIRST_CALLS_S = 2e-3
"""First calls are repeated for so long, and the least counts: a fresh library begins with page faults."""

Result: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True, slots=True)
class Built:
    """A library of variants."""

    numbers: tuple[int, ...]
    """Positions in the table."""
    path: Path
    artifacts: bytes
    first_s: tuple[float | None, ...]
    """Of every variant, processor seconds of a call; None where the result is wrong."""
    seconds_each: float
    """Processor seconds of lowering, compiling and checking, for each variant."""

    def runnables(self, case: Case, entries: Sequence[Entry], result: Result) -> dict[int, Runnable]:
        """By position in the table."""
        found = loaded(pickle.loads(self.artifacts), [entries[number].plan for number in self.numbers], self.path)
        return {number: Runnable(one, case.inputs, result) for number, one in zip(self.numbers, found, strict=True)}


def built(case: Case, entries: Sequence[Entry], wanted: Sequence[int], directory: Path) -> Iterator[Built]:
    """Libraries of the wanted variants as they become ready; `case` has its inputs and reference before it forks."""
    assert case.reference is not None
    groups = list(libraries([(number, entries[number].instructions) for number in wanted]))
    global _work
    _work = (case, entries, directory)
    with multiprocessing.get_context("fork").Pool(1, _settle) as pool:
        ready = pool.imap(_build, groups)
        for _ in groups:
            yield ready.next(max(LONGEST_BUILD_S, LONGEST_CALLS * entries[0].predicted_s))


def libraries(wanted: Iterable[tuple[int, Hashable]], size: int = PER_LIBRARY) -> Iterator[tuple[int, ...]]:
    """Numbers in groups of the same instruction set, two of which may not meet in one file; groups in order as they fill.

    >>> list(libraries([(0, "a"), (1, "b"), (2, "a"), (3, "a")], 2))
    [(0, 2), (1,), (3,)]
    """
    groups: dict[Hashable, list[int]] = {}
    for number, instructions in wanted:
        groups.setdefault(instructions, []).append(number)
        if len(groups[instructions]) == size:
            yield tuple(groups.pop(instructions))
    yield from map(tuple, groups.values())


_work: tuple[Case, Sequence[Entry], Path] | None = None


def _settle() -> None:
    os.sched_setaffinity(0, {CORE})
    os.setpriority(os.PRIO_PROCESS, 0, NICE)


def _build(numbers: tuple[int, ...]) -> Built:
    assert _work is not None
    case, entries, directory = _work
    begin = _processor_s()
    path = directory / f"{numbers[0]}.so"
    plans = [entries[number].plan for number in numbers]
    artifacts = library(plans, path)
    result = new_result(case.reference.shape, np.dtype(np.float32))
    first_s = tuple(_first_s(case, Runnable(one, case.inputs, result)) for one in loaded(artifacts, plans, path))
    return Built(numbers, path, pickle.dumps(artifacts), first_s, (_processor_s() - begin) / len(numbers))


def _first_s(case: Case, runnable: Runnable) -> float | None:
    """Processor seconds of a call: what others do on this core counts little."""
    runnable.result.fill(np.nan)
    least = spent = _called_s(runnable)
    if case.error(runnable.result) > TOLERANCE:
        return None
    while spent < FIRST_CALLS_S:
        seconds = _called_s(runnable)
        least, spent = min(least, seconds), spent + seconds
    return least


def _called_s(runnable: Runnable) -> float:
    begin = time.process_time()
    runnable()
    return time.process_time() - begin


def _processor_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
