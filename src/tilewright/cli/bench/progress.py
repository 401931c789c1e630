"""How far a benchmark is: a bar on a terminal, a line per case elsewhere; always on stderr."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import Progress as Bar

from tilewright.cli.bench.cases import ChainCase
from tilewright.cli.bench.chains import Options, chain_cases
from tilewright.cli.bench.harness import CaseResult
from tilewright.cli.bench.table import OWN
from tilewright.report import units


class Progress:
    """A context that hears of every case before and after it."""

    def __init__(self, options: Options) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._total = len(chain_cases(options))
        self._done = 0
        self._bar = Bar(console=self._console, transient=True) if self._console.is_terminal else None
        self._task = self._bar.add_task("chains", total=self._total) if self._bar else None

    def __enter__(self) -> Progress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar:
            self._bar.stop()

    def update(self, case: ChainCase, result: CaseResult | None) -> None:
        """Called with None before a case, with its result after."""
        self._done += result is not None
        if self._bar and self._task is not None:
            self._bar.update(self._task, completed=self._done, description=describe(case))
        elif result is not None:
            own = result.timing(OWN)
            seconds = units.seconds(own.seconds) if own and own.seconds is not None else "wrong"
            self._console.print(f"[{self._done}/{self._total}] {describe(case)}: {seconds}", markup=False)


def describe(case: ChainCase) -> str:
    """`G2 with softmax`."""
    return f"{case.name} with softmax" if case.softmax else case.name
