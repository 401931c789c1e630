"""Neighbours as one chain: by which algorithms two operators are one kernel, and what that costs.

An algorithm that copies all windows, or cuts a line or tiles out of its sums, leaves a tensor in memory in which no loop over
blocks can hold producer and consumer. Two operators are one chain where neither leaves one, alone and with the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product

from tilewright.graph.types import Operator
from tilewright.plan.algorithms.definition import Algorithm
from tilewright.plan.reasons import Defeat, LossReason, OtherAlgorithm, OtherAlgorithms
from tilewright.plan.types import Rejected
from tilewright.plan.whole_model.algorithm_prices import NO_PLAN, AlgorithmPrices, Part, PartTime
from tilewright.records import record


@record
class Neighbour:
    """One of two operators, alone as a part of the graph, and the least that it and the maps behind it take by its algorithms."""

    operator: Operator
    part: Part
    least: Mapping[Algorithm, PartTime]


@record
class Ways:
    """Algorithms of two operators, and the time of these, or the least that they take."""

    algorithms: tuple[Algorithm, Algorithm]
    time: PartTime


@record
class Compared:
    """Two operators as one chain, if any algorithms make them one, and by the algorithms that are best alone."""

    operators: tuple[str, str]
    one: Ways | None
    apart: Ways
    is_one: bool
    """What was chosen."""

    def beside(self, rivals: Iterable[Compared]) -> Compared:
        """The same with the loser that would cost least among rivals, such as of images in another layout."""
        every = [self, *rivals]
        if self.is_one:
            return replace(self, apart=min((one.apart for one in every), key=_rank))
        return replace(self, one=min((one.one for one in every if one.one is not None), key=_rank, default=None))

    def rejected(self) -> Rejected | None:
        """The loser with its time and the winner's; None where the two are no chain."""
        if self.one is None:
            return None
        lost, won = (self.apart, self.one) if self.is_one else (self.one, self.apart)
        names = zip(lost.algorithms, self.operators, strict=True)
        ways = tuple(OtherAlgorithm(algorithm.name, operator) for algorithm, operator in names)
        reason = LossReason(Defeat.SLOWER_APART if self.is_one else Defeat.SLOWER_AS_ONE, is_bound=lost.time.is_bound)
        return Rejected(OtherAlgorithms(ways, not self.is_one), lost.time.cores_s, won.time.cores_s, "s", reason)


def cheapest_chain(prices: AlgorithmPrices, both: Part, first: Neighbour, second: Neighbour, limit_s: float) -> Ways | None:
    """The algorithms by which two operators, which are a part together, cost least as one chain; None where none makes one.

    Chains that take more than a limit on all cores are not planned: of these it is the one that may cost least.
    """
    best: Ways | None = None
    for bound in sorted(_bounds(prices, first, second), key=_rank):
        known_s = limit_s if best is None or best.time.is_bound else min(limit_s, best.time.cores_s)
        if best is not None and bound.time.cores_s >= known_s:
            break
        named = dict(zip((first.operator.name, second.operator.name), bound.algorithms, strict=True))
        if not _is_one(prices, both, first, second, named):
            continue
        is_slower = bound.time.cores_s >= known_s
        found = bound if is_slower else Ways(bound.algorithms, prices.time_as_one_chain(both, named, known_s))
        if found.time != NO_PLAN and (best is None or _rank(found) < _rank(best)):
            best = found
    return best


def _rank(ways: Ways) -> tuple[bool, PartTime]:
    return ways.time.is_bound, ways.time


def _bounds(prices: AlgorithmPrices, first: Neighbour, second: Neighbour) -> Iterator[Ways]:
    """The least that pairs of algorithms take: as much as alone, but for the tensor in between."""
    saved_s, options = prices.most_moving_seconds(first.operator.write.tensor), prices.options
    for (before, one), (after, other) in product(first.least.items(), second.least.items()):
        thread_s = max(one.thread_s + other.thread_s - saved_s, 0.0)
        cores_s = thread_s / options.machine.cores + options.coefficients.call_s
        yield Ways((before, after), PartTime(cores_s, thread_s, is_bound=True))


def _is_one(prices: AlgorithmPrices, both: Part, first: Neighbour, second: Neighbour, named: Mapping[str, Algorithm]) -> bool:
    """Whether algorithms leave nothing in memory, each alone and together."""
    for one in (first, second):
        algorithm = named[one.operator.name]
        if algorithm.reads_tiles or not prices.is_one_group(one.part, {one.operator.name: algorithm}):
            return False
    return prices.is_one_group(both, named)
