"""Progress of a benchmark: a bar on a terminal, a line per case elsewhere; always on stderr."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import Progress as Bar

from tilewright.report import units
from tilewright_bench.cases.case import Case
from tilewright_bench.measurement.contender import TILEWRIGHT
from tilewright_bench.measurement.harness import CaseResult


class Progress:
    """A context that hears of every case before and after it."""

    def __init__(self, title: str, total: int) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._title = title
        self._total = total
        self._done = 0
        self._bar = Bar(console=self._console, transient=True) if self._console.is_terminal else None
        self._task = self._bar.add_task(title, total=total) if self._bar else None

    def __enter__(self) -> Progress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar:
            self._bar.stop()

    def update(self, case: Case, result: CaseResult | None) -> None:
        """Called with None before a case, with its result after."""
        self._done += result is not None
        if self._bar and self._task is not None:
            self._bar.update(self._task, completed=self._done, description=f"{self._title}: {describe(case)}")
        elif result is not None:
            timing = result.timing(TILEWRIGHT)
            failed = timing.failure if timing and timing.failure else "wrong"
            seconds = units.seconds(timing.seconds) if timing and timing.seconds is not None else failed
            self._console.print(f"{self._title} [{self._done}/{self._total}] {describe(case)}: {seconds}", markup=False)


def describe(case: Case) -> str:
    """The row and the beginning of the table's title, as `G2 (plain chains)`."""
    return f"{case.name} ({case.table.partition(', ')[0]}{', prepacked' if case.prepacked else ''})"
