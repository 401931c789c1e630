"""What goes wrong on a card: it is told in a line, and ends no run, which may be the only one that there is."""

from __future__ import annotations

from tilewright.errors import TilewrightError

FAILURES = (Exception,)
"""What a contender raises: errors of its own, `RuntimeError` of the card, whatever a compiler below it has."""


def told(problem: Exception) -> str:
    """An error in a line.

    >>> told(TilewrightError("no tiles", why="they do not fit")), told(ValueError())
    ('no tiles (they do not fit)', 'ValueError: no message')
    """
    first = (str(problem).strip().splitlines() or ["no message"])[0]
    if isinstance(problem, TilewrightError):
        return f"{first}{f' ({problem.why})' if problem.why else ''}"
    return f"{type(problem).__name__}: {first}"
