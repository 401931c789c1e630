"""How far `tilewright tune` is, on stderr: a bar with the time that is left, or lines now and then where there is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from tilewright.tune.pipeline.trials import Progress

LINES_S = 10.0
"""Between lines."""


@contextmanager
def tuning_progress() -> Iterator[Callable[[str], Progress]]:
    """By the name of a chain, what shows how many of its plans are measured."""
    if not sys.stderr.isatty():
        yield _lines
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(compact=True))
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:

        def bar(chain: str) -> Progress:
            number = bars.add_task(chain, total=None)
            return lambda done, total: bars.update(number, completed=done, total=total)

        yield bar


def _lines(chain: str) -> Progress:
    """The first, the last, and some between; the time that is left is by what was measured since the first."""
    first: tuple[float, int] | None = None
    last_s, last = 0.0, (-1, -1)

    def progress(done: int, total: int) -> None:
        nonlocal first, last_s, last
        now = time.monotonic()
        first = first or (now, done)
        if (done, total) == last or (0 < done < total and last[0] >= 0 and now - last_s < LINES_S):
            return
        last_s, last = now, (done, total)
        click.echo(f"{chain}: {done} of {total} plans{_left(now - first[0], done - first[1], total - done)}", err=True)

    return progress


def _left(spent_s: float, measured: int, left: int) -> str:
    """The time for what is left at the pace so far.

    >>> _left(2.0, 24, 76), _left(2.0, 0, 76), _left(2.0, 24, 0)
    (', 6 s left', '', '')
    """
    return f", {spent_s / measured * left:.0f} s left" if measured and left else ""
