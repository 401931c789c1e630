"""Unroll factors of the three loops of a matrix product, which of them a register file can hold, and searches for the best.

Every search asks for speeds, within a budget of distinct measurements.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from tilewright.records import record

MOST_STEPS = 8
"""Of the loop over k: beyond, nothing but the text grows."""


class Factors(NamedTuple):
    """How many iterations of i, j and k are written out; `columns` is a multiple of the lanes of a vector."""

    rows: int
    columns: int
    steps: int


@record
class Registers:
    """A register file: its vectors and their lanes."""

    count: int
    lanes: int

    def holds(self, factors: Factors) -> bool:
        """Whether sums, a row of B and one element of A fit, so that no sum is spilled.

        >>> Registers(32, 16).holds(Factors(6, 64, 1)), Registers(32, 16).holds(Factors(7, 64, 1))
        (True, False)
        """
        vectors = factors.columns // self.lanes
        is_vectors = factors.columns % self.lanes == 0 and min(factors) >= 1
        return is_vectors and factors.steps <= MOST_STEPS and factors.rows * vectors + vectors + 1 <= self.count

    def all_factors(self) -> Iterator[Factors]:
        """Every legal choice.

        >>> sum(1 for _ in Registers(16, 8).all_factors())
        240
        """
        for rows, vectors, steps in product(range(1, self.count), range(1, self.count), range(1, MOST_STEPS + 1)):
            factors = Factors(rows, vectors * self.lanes, steps)
            if self.holds(factors):
                yield factors

    @property
    def first(self) -> Factors:
        """Where every search begins: one vector, as in the paper's Figure 5."""
        return Factors(1, self.lanes, 1)


Speed = Callable[[Factors], float]
"""Flops per second of the product with these factors."""


class BudgetSpent(Exception):
    """No more measurements are allowed."""


@dataclass(slots=True)
class Trace:
    """Speeds measured so far, in order; asking for one again is free."""

    speed: Speed
    budget: int
    found: dict[Factors, float] = field(default_factory=dict)
    start: Factors | None = None
    """Where searches that move step by step begin; None: with one vector."""
    ahead: Callable[[Sequence[Factors]], None] = lambda factors: None
    """Is told what will be asked for next, where a search knows that: it may be measured together."""

    def __call__(self, factors: Factors) -> float:
        """The speed. Raises `BudgetSpent` where it would have to be measured and may not."""
        if factors not in self.found:
            if len(self.found) >= self.budget:
                raise BudgetSpent
            self.found[factors] = self.speed(factors)
        return self.found[factors]

    def best(self, evaluations: int | None = None) -> Factors:
        """The fastest of the first so many measurements."""
        seen = list(self.found)[:evaluations]
        return max(seen, key=self.found.__getitem__)


Searcher = Callable[[Trace, Registers, int], None]
"""Fills a trace, from a seed, until the budget is spent or nothing is left to try."""


def at_random(trace: Trace, registers: Registers, seed: int) -> None:
    """All factors, in an order drawn at random."""
    every = list(registers.all_factors())
    wanted = random.Random(seed).sample(every, len(every))[: trace.budget]
    trace.ahead(wanted)
    with suppress(BudgetSpent):
        for one in wanted:
            trace(one)


def hill_climbing(trace: Trace, registers: Registers, seed: int) -> None:
    """To the fastest neighbour as long as it is faster; from a random place where none is. The first climb begins as all do."""
    source = random.Random(seed)
    every = list(registers.all_factors())
    here = trace.start or registers.first
    with suppress(BudgetSpent):
        while len(trace.found) < len(every):
            speeds = {one: trace(one) for one in (here, *neighbours(here, registers))}
            fastest = max(speeds, key=speeds.__getitem__)
            here = fastest if speeds[fastest] > speeds[here] else source.choice(every)


def neighbours(factors: Factors, registers: Registers) -> Iterator[Factors]:
    """Legal factors one step away.

    >>> list(neighbours(Factors(1, 16, 1), Registers(32, 16)))
    [Factors(rows=2, columns=16, steps=1), Factors(rows=1, columns=32, steps=1), Factors(rows=1, columns=16, steps=2)]
    """
    for action in range(6):
        moved = step(factors, action, registers.lanes)
        if registers.holds(moved):
            yield moved


def step(factors: Factors, action: int, lanes: int) -> Factors:
    """The factors after an action: 0 and 1 more and fewer rows, 2 and 3 columns (by vectors), 4 and 5 steps."""
    which, sign = action // 2, 1 - 2 * (action % 2)
    sizes = list(factors)
    sizes[which] += sign * (lanes if which == 1 else 1)
    return Factors(*sizes)
