"""Counts of planning work: what planning does, in numbers that are the same on every computer.

    with counting() as counts:
        plan_chain(chain, machine)
    counts[Counted.SEARCHES]

Nobody counts unless somebody asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from tilewright.arrays import Quantity


class Counted(StrEnum):
    """A kind of work; the value is the text that benchmarks print."""

    PLANS_ASKED = "plans asked"
    """Plans of groups of operators as one chain that a partition compared; those that were not made came from memory."""
    PLANS = "plans made"
    TAKEN_OVER = "divisions taken over"
    """Groups of operators that were not searched, since one of their form was, with numbers near theirs."""
    SEARCHES = "searches made"
    ORDERS = "orders bounded"
    """Orders of outer loops for which a lower bound was found."""
    ORDERS_PRICED = "orders priced"
    """Those that the bound did not rule out."""
    CANDIDATES = "candidates priced"
    """Loops and tiles of one operator among which the cheapest was looked for."""
    PRICINGS = "pricings"
    """Evaluations of the price of one operator, for one schedule or for an array of them, lower bounds included."""
    ELEMENTS = "array elements"
    """Elements of the prices that they gave."""


Counts: TypeAlias = Counter[Counted]

_counts: ContextVar[Counts | None] = ContextVar("counts_of_planning", default=None)


@contextmanager
def counting() -> Iterator[Counts]:
    """What is planned inside the context, by this thread, is counted.

    >>> with counting() as counts:
    ...     count(Counted.PLANS)
    >>> counts[Counted.PLANS], counts[Counted.SEARCHES]
    (1, 0)
    """
    counts: Counts = Counter()
    token = _counts.set(counts)
    try:
        yield counts
    finally:
        _counts.reset(token)


def count(kind: Counted, times: int = 1) -> None:
    """Count a piece of work, or several."""
    if (counts := _counts.get()) is not None:
        counts[kind] += times


def count_elements(kind: Counted, figures: Quantity) -> None:
    """Count the elements of an array, 1 of a plain value."""
    if (counts := _counts.get()) is not None:
        counts[kind] += np.size(figures)
