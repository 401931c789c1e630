"""Neighbours as one chain: by which algorithms two operators are one kernel, and what that costs.

An algorithm that copies all windows, or cuts a line or tiles out of its sums, leaves a tensor in memory in which no loop over
blocks can hold producer and consumer. Two operators are one chain where neither leaves one, alone and with the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from tilewright.graph.types import Operator
from tilewright.plan.algorithms.definition import Algorithm
from tilewright.plan.whole_model.algorithm_prices import NO_PLAN, AlgorithmPrices, Part, PartTime
from tilewright.records import record


@record
class Neighbour:
    """One of two operators, alone as a part of the graph, and the times of the algorithms that apply to it."""

    operator: Operator
    part: Part
    times: Mapping[Algorithm, PartTime]


@record
class OneChain:
    """Algorithms of two operators as one chain, and its time, or the least that it takes."""

    ways: tuple[Algorithm, Algorithm]
    time: PartTime


def cheapest_chain(prices: AlgorithmPrices, both: Part, first: Neighbour, second: Neighbour, limit_s: float) -> OneChain | None:
    """The algorithms by which two operators, which are a part together, cost least as one chain; None where none makes one.

    Chains that take more than a limit are not planned: of these it is the one that may cost least. Algorithms that cost least
    alone come first, so that others are seldom planned.
    """
    best: OneChain | None = None
    for ways in sorted(
        _candidates(prices, first, second), key=lambda ways: first.times[ways[0]].thread_s + second.times[ways[1]].thread_s
    ):
        named = {first.operator.name: ways[0], second.operator.name: ways[1]}
        if not prices.is_one_group(both, named):
            continue
        known_s = limit_s if best is None or best.time.is_bound else min(limit_s, best.time.cores_s)
        time = prices.time_as_one_chain(both, named, known_s)
        if time != NO_PLAN and (best is None or _rank(time) < _rank(best.time)):
            best = OneChain(ways, time)
    return best


def _rank(time: PartTime) -> tuple[bool, PartTime]:
    return time.is_bound, time


def _candidates(prices: AlgorithmPrices, first: Neighbour, second: Neighbour) -> Iterator[tuple[Algorithm, Algorithm]]:
    """Pairs of algorithms of which each leaves nothing in memory alone."""
    whole = ([algorithm for algorithm in one.times if _is_whole(prices, one, algorithm)] for one in (first, second))
    yield from product(*whole)


def _is_whole(prices: AlgorithmPrices, one: Neighbour, algorithm: Algorithm) -> bool:
    return not algorithm.reads_tiles and prices.is_one_group(one.part, {one.operator.name: algorithm})
