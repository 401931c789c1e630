"""A mapping of bounded size that keeps what is used."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


RELEASED_AT_ONCE = 2
"""Forgotten values that an addition lets go: a library that is unloaded takes a millisecond, for which all threads wait."""


class Recent(Generic[KeyT, ValueT]):
    """At most `limit` entries: two generations, and forgotten ones that are let go one by one.

    When the young generation is full it becomes the old one, which is forgotten. An old entry that is asked for is young again,
    so that what was used within the last `limit / 3` additions stays. Reading a young entry is one look into a dictionary,
    without a lock. Safe from several threads.

    >>> recent = Recent(6)
    >>> for number in range(3):
    ...     recent.put(number, str(number))
    >>> recent.get(0), recent.put(3, "3"), recent.put(4, "4"), recent.get(1), recent.get(0)
    ('0', None, None, None, '0')
    """

    def __init__(self, limit: int, when_forgetting: Callable[[], None] = lambda: None) -> None:
        """`when_forgetting` is called whenever entries were forgotten: whoever holds values elsewhere drops them there."""
        self._most_young = max(1, limit // 3)
        self._when_forgetting = when_forgetting
        self._young: dict[KeyT, ValueT] = {}
        self._old: dict[KeyT, ValueT] = {}
        self._forgotten: list[ValueT] = []
        self._lock = threading.Lock()

    def get(self, key: KeyT) -> ValueT | None:
        """The value of a key, which counts as a use."""
        value = self._young.get(key)
        if value is None:
            value = self._old.get(key)
            if value is not None:
                self.put(key, value)
        return value

    def put(self, key: KeyT, value: ValueT) -> None:
        """Add an entry, or replace its value."""
        self._put(key, value, replaces=True)

    def setdefault(self, key: KeyT, value: ValueT) -> ValueT:
        """The value of a key; this one, for all who ask for it, where there was none."""
        return self._put(key, value, replaces=False)

    def _put(self, key: KeyT, value: ValueT, *, replaces: bool) -> ValueT:
        with self._lock:
            known = None if replaces else self._young.get(key, self._old.get(key))
            found = value if known is None else known
            is_full = len(self._young) >= self._most_young and key not in self._young
            if is_full:
                self._forgotten += self._old.values()
                self._old, self._young = self._young, {}
            self._young[key] = found
            released = [self._forgotten.pop() for _ in self._forgotten[:RELEASED_AT_ONCE]]
        del released  # without the lock
        if is_full:
            self._when_forgetting()
        return found

    def items(self) -> list[tuple[KeyT, ValueT]]:
        """All entries, the longest unused first."""
        with self._lock:
            return [*{**self._old, **self._young}.items()]

    def values(self) -> list[ValueT]:
        """All values, the longest unused first."""
        with self._lock:
            return list({**self._old, **self._young}.values())
