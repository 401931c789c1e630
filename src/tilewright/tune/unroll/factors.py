"""Unroll factors of the three loops of a matrix product, and which of them a register file can hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

MOST_STEPS = 8
"""Of the loop over k: beyond, nothing but the text grows."""


class Factors(NamedTuple):
    """How many iterations of i, j and k are written out; `columns` is a multiple of the lanes of a vector."""

    rows: int
    columns: int
    steps: int


@dataclass(frozen=True, slots=True)
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
