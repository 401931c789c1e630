"""The table of a problem, measured: variants take turns beside the planner's choice, undisturbed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.studies.tuned.building import CORE, Built, built
from benchmarks.studies.tuned.problems import Problem
from benchmarks.studies.tuned.records import File, Header, Record
from benchmarks.studies.tuned.variants import Entry, models, table
from tilewright import compiler
from tilewright.runtime.memory import new_result
from tilewright.runtime.tuning import plans as tuned_plans
from tilewright.tune.schedules.cases import Case
from tilewright.tune.schedules.timing import Runnable, peak_flops_per_s

HOPELESS = 3.0
"""A variant whose first call takes so many times as long as the choice's is not timed."""
FIRST_TURNS = 2
NEAR = 1.15
"""Variants within this factor of the best in one of their first turns take more of them, and the median counts."""
MORE_TURNS = 3
LEAST_BEST = 0.9
"""Of the choice's time, for that comparison: a single disturbed turn is no best."""
LONG_CALL_S = 4e-3
"""A turn is one call of this length, or calls for `TURN_S` behind one that warms the caches."""
TURN_S = 1e-3


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """In real time on the core of the study: no ordinary process runs there meanwhile.

    Niceness would not do: where the kernel groups processes by session, it counts within a session only.
    """
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@dataclass(slots=True)
class Beside:
    """Turns of contenders between those of a reference."""

    reference: Callable[[], float]
    last_s: float = field(default=float("inf"))

    def ratio(self, contender: Callable[[], float]) -> float:
        """The contender's time over the reference's: the less of its turns before and after. Disturbances only add time."""
        seconds, before = contender(), self.last_s
        self.last_s = self.reference()
        return seconds / min(before, self.last_s)


def turn(runnable: Runnable, call_s: float) -> float:
    """Seconds of a call that takes about so long."""
    if call_s < LONG_CALL_S:
        return runnable.seconds(TURN_S)
    begin = time.perf_counter()
    runnable()
    return time.perf_counter() - begin


@dataclass(slots=True)
class Session:
    """The measurement of one problem."""

    case: Case
    entries: Sequence[Entry]
    file: File
    result: np.ndarray[tuple[int, ...], np.dtype[np.float32]]
    own: Runnable
    own_first_s: float
    choice_s: float
    best: float = 1.0

    def take(self, one: Built) -> None:
        """Time a library's variants and write them down."""
        beside = Beside(lambda: turn(self.own, self.choice_s))
        runnables, records = one.runnables(self.case, self.entries, self.result), []
        for number, first_s in zip(one.numbers, one.first_s, strict=True):
            begin = time.perf_counter()
            expected = None if first_s is None else first_s / self.own_first_s
            is_timed = expected is not None and expected < HOPELESS
            ratio = self._ratio(beside, runnables[number]) if is_timed else expected
            time_s = time.perf_counter() - begin if is_timed else 0.0
            records.append(record(self.entries[number], ratio, is_timed, one.seconds_each, time_s))
        self.file.append(records)

    def _ratio(self, beside: Beside, runnable: Runnable) -> float:
        with undisturbed():
            found = [beside.ratio(lambda: turn(runnable, self.choice_s)) for _ in range(FIRST_TURNS)]
            if min(found) >= NEAR * max(self.best, LEAST_BEST):
                return min(found)
            found += [beside.ratio(lambda: turn(runnable, self.choice_s)) for _ in range(MORE_TURNS)]
        self.best = min(self.best, median(found))
        return median(found)


def record(entry: Entry, ratio: float | None, is_timed: bool, build_s: float, time_s: float) -> Record:
    """What is kept of a variant."""
    predicted_s = entry.predicted_s if isfinite(entry.predicted_s) else None
    names = entry.digest, entry.source, str(entry.sampled.point)
    return Record(*names, predicted_s, entry.terms(), entry.code(), ratio, is_timed, build_s, time_s)


def measure(problem: Problem, count: int, file: File, seed: int = 0) -> int:
    """Measure what is missing of the first `count` variants of a problem's table; how many those were."""
    os.sched_setaffinity(0, {CORE})
    with tuned_plans.ignored(), TemporaryDirectory(prefix="tilewright-tuning-") as directory:
        begin = time.process_time()
        found = models(problem.case)
        planning_s = time.process_time() - begin
        entries = table(found, count, seed)
        known = {one.digest for one in file.records()}
        wanted = [number for number, entry in enumerate(entries) if entry.digest not in known]
        if wanted:
            begin = time.process_time()
            own = compiled_choice(entries[0], problem.case)
            session = _session(problem, entries, file, own, planning_s + time.process_time() - begin)
            _all(session, built(problem.case, entries, wanted, Path(directory)))
    return len(wanted)


def compiled_choice(entry: Entry, case: Case) -> Runnable:
    """The planner's choice as calls run it, on one thread."""
    return Runnable(compiler.build(entry.plan, threads=1), case.inputs, new_result(case.reference.shape, np.dtype(np.float32)))


def _session(problem: Problem, entries: Sequence[Entry], file: File, own: Runnable, planning_s: float) -> Session:
    own()
    begin = time.process_time()
    own()
    first_s = time.process_time() - begin
    with undisturbed():
        own()
        choice_s = min(turn(own, first_s) for _ in range(3))
        own_first_s = _first_s(own)
        peak = peak_flops_per_s()
    if file.header() is None:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
        file.write("header", vars_of(Header(problem.name, choice_s, peak, planning_s, commit)))
    best = min((one.ratio for one in file.records() if one.ratio is not None), default=1.0)
    result = new_result(problem.case.reference.shape, np.dtype(np.float32))
    return Session(problem.case, entries, file, result, own, own_first_s, choice_s, min(best, 1.0))


def vars_of(header: Header) -> dict[str, object]:
    """As JSON has it."""
    return {name: getattr(header, name) for name in Header.__dataclass_fields__}


def _first_s(own: Runnable) -> float:
    """Processor seconds of a call, the least of some."""
    found, spent = list[float](), 0.0
    while not found or spent < 2e-3:
        begin = time.process_time()
        own()
        found.append(time.process_time() - begin)
        spent += found[-1]
    return min(found)


def _all(session: Session, libraries: Iterator[Built]) -> None:
    """Every library as it becomes ready; ordinary processes have the core between variants."""
    for one in libraries:
        session.take(one)
        one.path.unlink(missing_ok=True)
