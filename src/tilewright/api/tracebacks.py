"""Tracebacks that end at the user's line: frames of this package are left out of errors that leave it.

`TILEWRIGHT_FULL_TRACEBACKS=1` keeps them. Bugs keep them always: `InternalError`s, and what is no message but was raised here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType

from tilewright import settings
from tilewright.errors import InternalError, is_bug

_PACKAGE = f"{os.path.dirname(os.path.dirname(__file__))}/"


class Shortened(AbstractContextManager[None]):
    """Errors leave the `with` statement with short tracebacks, once they were `told`: of the ways that are not of every call."""

    def __init__(self, told: Callable[[Exception], object] = lambda problem: None) -> None:
        self._told = told

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, Exception):
            self._told(problem)
            shorten(problem)


def shorten(problem: BaseException) -> None:
    """Leave this package's frames out of the traceback of an error, and of the errors behind it.

    The caller raises it again with a bare `raise`, which adds no frame of its own.
    """
    if isinstance(problem, InternalError) or is_bug(problem) or settings.current().full_tracebacks:
        return
    seen: set[int] = set()
    left: list[BaseException | None] = [problem]
    while left:
        linked = left.pop()
        if linked is None or id(linked) in seen:
            continue
        seen.add(id(linked))
        linked.__traceback__ = _foreign_frames(linked.__traceback__)
        left += [linked.__cause__, linked.__context__]


def _foreign_frames(trace: TracebackType | None) -> TracebackType | None:
    entries = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            entries.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    for entry in reversed(entries):
        kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept
