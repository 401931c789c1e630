"""Helper functions of generated C: each names the helpers that it calls, so that a prelude is the closure of what is declared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from tilewright.records import record

INLINE = "#define TW_INLINE static inline __attribute__((always_inline, unused))\n"
"""Of helpers, and of what they are called by."""


@record
class Helper:
    """A piece of C with one or several functions; helpers of the same name have the same text."""

    name: str
    text: str = field(compare=False, repr=False)
    uses: tuple[Helper, ...] = field(default=(), compare=False, repr=False)
    """The helpers that its text calls."""


def closure(helpers: Iterable[Helper]) -> tuple[Helper, ...]:
    """The helpers and all that they use, in the order of their names, but each behind those that it uses.

    >>> first = Helper("tw_first", "...")
    >>> [helper.name for helper in closure([Helper("tw_and", "...", uses=(first,)), first])]
    ['tw_first', 'tw_and']
    """
    found: dict[Helper, None] = {}
    for helper in sorted(helpers, key=lambda helper: helper.name):
        _collect(helper, found)
    return tuple(found)


def texts(helpers: Iterable[Helper]) -> list[str]:
    """The C of the closure."""
    return [helper.text for helper in closure(helpers)]


def _collect(helper: Helper, found: dict[Helper, None]) -> None:
    if helper not in found:
        for used in helper.uses:
            _collect(used, found)
        found[helper] = None
