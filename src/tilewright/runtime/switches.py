"""Switches that are on inside of a `with` statement, for whoever runs in its context."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


@contextmanager
def switched_on(switch: ContextVar[bool]) -> Iterator[None]:
    """Inside, the switch is on.

    >>> switch = ContextVar("example", default=False)
    >>> with switched_on(switch):
    ...     switch.get()
    True
    >>> switch.get()
    False
    """
    token = switch.set(True)
    try:
        yield
    finally:
        switch.reset(token)
