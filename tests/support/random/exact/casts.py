"""Casts between all element types at their extremes, through chains of functions, comparisons and choices."""

from __future__ import annotations

from tests.support.random.exact.growing import Growing, grown
from tests.support.random.exact.program import Program

MOST_STEPS = 12
STEPS = (
    (Growing.cast, 6.0),
    (Growing.compare, 2.0),
    (Growing.choose, 1.5),
    (Growing.test, 0.7),
    (Growing.connect, 0.7),
    (Growing.compute, 2.5),
    (Growing.change, 1.5),
)


def program(seed: int) -> Program:
    """The program of a seed."""
    return grown(seed, STEPS, MOST_STEPS)
