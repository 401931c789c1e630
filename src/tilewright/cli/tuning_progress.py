"""How far `tilewright tune` is, on stderr: a bar with the time that is left, or lines now and then where there is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

LINES_S = 10.0
"""Between lines."""

Told = Callable[[int, int], None]
"""As `tune.pipeline.trials.Told`."""


@contextmanager
def tuning_progress() -> Iterator[Callable[[str], Told]]:
    """Of every chain what is to be told how many of its plans are measured."""
    if not sys.stderr.isatty():
        yield _lines
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(compact=True))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:

        def bar(chain: str) -> Told:
            number = bars.add_task(chain, total=None)
            return lambda done, total: bars.update(number, completed=done, total=total)

        yield bar


def _lines(chain: str) -> Told:
    """The first, the last, and one in a while."""
    begin = told_s = time.monotonic()

    def told(done: int, total: int) -> None:
        nonlocal told_s
        now = time.monotonic()
        if 0 < done < total and now - told_s < LINES_S:
            return
        told_s = now
        left = f", {(now - begin) / done * (total - done):.0f} s left" if 0 < done < total else ""
        click.echo(f"{chain}: {done} of {total} plans{left}", err=True)

    return told
