"""Memory of planning: answers to exactly equal questions, kept for the life of a process.

An answer may depend on nothing but its question, so that no plan depends on what a process planned before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar, cast

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_forgets: list[Callable[[], None]] = []


def remembered(most: int) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """A function of hashable arguments whose last answers, so many, are kept.

    >>> asked = []
    >>> double = remembered(8)(lambda number: asked.append(number) or 2 * number)
    >>> double(3), double(3), asked
    (6, 6, [3])
    """

    def decorated(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        cached = lru_cache(maxsize=most)(function)
        _forgets.append(cached.cache_clear)
        return cast(Callable[Arguments, Result], cached)

    return decorated


def forget_all() -> None:
    """Answer every question anew from here on."""
    for forget in _forgets:
        forget()
