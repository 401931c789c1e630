"""Progress of a long preparation (planning, compiling, packing): a line on a terminal, log records elsewhere.

Sessions and jitted functions open `preparing`; whatever takes time inside calls `step`. Short preparations show nothing.

>>> with preparing("bert"):
...     step("compiling", 3, 12)
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import monotonic
from typing import TextIO, TypeVar

SILENT_S = 1.0
"""Nothing is shown before."""
LINE_INTERVAL_S = 0.1
RECORD_INTERVAL_S = 5.0
ItemT = TypeVar("ItemT")
ERASE_LINE = "\r\x1b[K"


@dataclass(slots=True)
class Preparation:
    """What is prepared, since when, and when it was shown last."""

    name: str
    began_s: float = field(default_factory=lambda: monotonic())
    shown_s: float | None = None
    line: TextIO | None = None
    """The terminal that shows a line now."""

    def show(self, activity: str, done: int, total: int) -> None:
        """Write a line or a record, unless it is too soon."""
        now_s = monotonic()
        elapsed_s = now_s - self.began_s
        terminal = sys.stderr if sys.stderr is not None and sys.stderr.isatty() else None
        interval_s = RECORD_INTERVAL_S if terminal is None else LINE_INTERVAL_S
        if elapsed_s < SILENT_S or (self.shown_s is not None and now_s - self.shown_s < interval_s):
            return
        self.shown_s = now_s
        text = f"{self.name}: {activity}, {done} of {total}, {elapsed_s:.0f} s"
        if terminal is None:
            from logging import getLogger  # after seconds of work, and not on the way of every start

            getLogger("tilewright.progress").info("%s", text)
        else:
            self.line = terminal
            terminal.write(f"{ERASE_LINE}tilewright: {text}")
            terminal.flush()

    def erase(self) -> None:
        """Take the line away."""
        if self.line is not None:
            self.line.write(ERASE_LINE)
            self.line.flush()


_current: ContextVar[Preparation | None] = ContextVar("preparation", default=None)


@contextmanager
def preparing(name: str) -> Iterator[None]:
    """A preparation of that name, unless it is part of a larger one."""
    if _current.get() is not None:
        yield
        return
    preparation = Preparation("".join(character for character in name if character.isprintable()))
    token = _current.set(preparation)
    try:
        yield
    finally:
        _current.reset(token)
        preparation.erase()


def step(activity: str, done: int, total: int) -> None:
    """So much of an activity is done."""
    preparation = _current.get()
    if preparation is not None:
        preparation.show(activity, done, total)


def counted(items: Iterable[ItemT], activity: str, total: int) -> Iterator[ItemT]:
    """The items; each that comes is a step.

    >>> list(counted("ab", "packing", 2))
    ['a', 'b']
    """
    for number, item in enumerate(items, 1):
        step(activity, number, total)
        yield item
