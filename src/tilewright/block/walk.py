"""Walk over a block program: its loops block by block, with the value that every variable has where a statement stands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import prod

from tilewright.block.integers import IntegerExpression, Variable, evaluated
from tilewright.block.memory import Range
from tilewright.block.program import Region, entered
from tilewright.block.statements import For, If, Let, Rounded, Statement


class Walk(ABC):
    """What one thread does. `statement` gets all that is neither a loop, nor a condition, nor a definition."""

    def __init__(self, variables: Mapping[Variable, int]) -> None:
        self.values = dict(variables)

    @abstractmethod
    def statement(self, node: Statement) -> None:
        """Run a statement where the walk stands."""

    def blocks(self, region: Region, share: Iterable[int]) -> None:
        """Some blocks of a region, by their numbers, and what is done before the first of them."""
        trips = self.trips(region)
        numbers = list(product(*map(range, trips)))
        self.body(region.setup)
        before: Sequence[int] = ()
        for block in (numbers[number] for number in share):
            self.block(region, trips, block, before)
            before = block

    def trips(self, region: Region) -> list[int]:
        """How many blocks each distributed loop of a region has."""
        return [self.at(loop.trips) for loop in region.parallel]

    def block(self, region: Region, trips: Sequence[int], block: Sequence[int], before: Sequence[int]) -> None:
        """A block of a region, by its number along each distributed loop, after the block `before` (none: empty)."""
        for position, (axis, number) in enumerate(zip(region.parallel, block, strict=True)):
            start = (trips[position] - 1 - number if axis.descends else number) * axis.tile
            self._enter(axis.block, start, axis.tile, self.at(axis.whole.size))
            if position + 1 < len(block) and block[: position + 1] != before[: position + 1]:
                self.body(entered(axis.body))
        self.body(region.block)

    def body(self, statements: Iterable[Statement]) -> None:
        """Statements in order."""
        for node in statements:
            match node:
                case For():
                    self._loop(node)
                case If(condition, body):
                    self.body(body if self.at(condition) else ())
                case Let(variable, value) if not isinstance(value, Rounded):
                    self.values[variable] = self.at(value)
                case _:
                    self.statement(node)

    def at(self, value: IntegerExpression) -> int:
        """What an expression is here."""
        return value if isinstance(value, int) else evaluated(value, self.values)

    def _loop(self, loop: For) -> None:
        start, stop = self.at(loop.whole.start), self.at(loop.whole.stop)
        for at in range(start, max(stop, start + loop.may_be_empty), loop.tile):
            self._enter(loop.block, at, loop.tile, stop)
            self.body(loop.body)

    def _enter(self, block: Range, start: int, tile: int, stop: int) -> None:
        if isinstance(block.start, Variable):
            self.values[block.start] = start
        if isinstance(block.size, Variable):
            self.values[block.size] = min(tile, stop - start)


def block_count(region: Region, variables: Mapping[Variable, int]) -> int:
    """How many blocks a region has."""
    return prod(evaluated(loop.trips, variables) for loop in region.parallel)
