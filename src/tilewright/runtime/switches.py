"""Switches that are on inside of a `with` statement, for whoever runs in its context."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Switch:
    """Off, until somebody enters `on()`.

    >>> switch = Switch(ContextVar("example", default=False))
    >>> with switch.on():
    ...     switch.is_on
    True
    >>> switch.is_on
    False
    """

    _state: ContextVar[bool]

    @property
    def is_on(self) -> bool:
        """Whether the caller is inside."""
        return self._state.get()

    @contextmanager
    def on(self) -> Iterator[None]:
        """Inside, the switch is on."""
        token = self._state.set(True)
        try:
            yield
        finally:
            self._state.reset(token)
