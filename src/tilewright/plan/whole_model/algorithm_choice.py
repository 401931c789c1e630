"""Choice of algorithms: every operator that can be computed in several ways is planned in each, and the cheapest is taken.

A way is priced with the maps behind the operator (bias, activation, sum with a shortcut), which become epilogues of its sums or
passes. An alternative whose arithmetic or traffic alone takes longer is not planned. Then neighbours are looked at as pairs: the
cheapest ways of two operators may be such that the two cannot be fused, while others save the tensor in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from math import inf, log

from tilewright import progress
from tilewright.coefficients import coefficients_for
from tilewright.graph.types import Graph, Operator
from tilewright.machine.machine import Machine
from tilewright.plan.algorithms import as_written
from tilewright.plan.algorithms.definition import Algorithm, Problem, applicable, beaten, expanded
from tilewright.plan.reasons import Defeat, LossReason, OtherAlgorithm
from tilewright.plan.types import ImageLayouts, ModelPlan, Rejected
from tilewright.plan.whole_model.algorithm_prices import NO_PLAN, AlgorithmPrices, Algorithms, Part, PartTime
from tilewright.plan.whole_model.forms import Near
from tilewright.plan.whole_model.groups import DataFlow
from tilewright.plan.whole_model.one_chain import Compared, Neighbour, Ways, cheapest_chain
from tilewright.precision import Precision
from tilewright.records import record

TURN = 0.1
"""How much the ratio of two algorithms' times may change (its logarithm) per unit of distance: an algorithm that won by less than
that is not taken over. In DenseNet-121 and MobileNetV2 it changes by 0.04 at most while channels grow."""
REGION_SHARE = 0.1
"""Neighbours of which a parallel region takes a larger share are best as one kernel, though its algorithms cost more alone."""


@record
class Chosen:
    """A graph whose operators are computed by the algorithms chosen for them, and those that lost, by operator."""

    graph: Graph
    rejected: Mapping[str, tuple[Rejected, ...]]
    apart: frozenset[str]
    """Tensors before which chains end (`Algorithm.reads_tiles`)."""
    images: ImageLayouts | None = None
    compared: Mapping[str, Compared] = field(default_factory=dict)
    """Neighbours as one chain and apart, by the second of them."""

    def beside(self, rivals: Iterable[Chosen]) -> Chosen:
        """The same with what it was compared to, of all rivals what would cost least."""
        others = [rival.compared for rival in rivals]
        compared = {name: own.beside(other[name] for other in others if name in other) for name, own in self.compared.items()}
        lost = {name: (loser,) for name, one in compared.items() if (loser := one.rejected()) is not None}
        return replace(self, rejected={name: (*lost.get(name, ()), *losers) for name, losers in self.rejected.items()})

    def reported(self, model_plan: ModelPlan) -> ModelPlan:
        """A plan of the graph, each chain with the algorithms that lost for its operators."""
        plans = model_plan.plans
        if self.rejected:
            lost = ([loser for op in plan.chain.operators for loser in self.rejected.get(op.name, ())] for plan in plans)
            plans = tuple(replace(plan, rejected=(*losers, *plan.rejected)) for plan, losers in zip(plans, lost, strict=True))
        return replace(model_plan, plans=plans, images=self.images)


def choose_algorithms(prices: AlgorithmPrices, precision: Precision = Precision.FLOAT32) -> Chosen:
    """Expand every operator of a graph by the cheapest of the algorithms that apply to it and keep a precision.

    Operators that depend on constants alone are evaluated as they are written.
    """
    graph, machine = prices.graph, prices.options.machine
    choice = _Choice(graph, machine, precision, prices, DataFlow(graph))
    for operator in progress.counted(graph.operators, "choosing algorithms", len(graph.operators)):
        choice.choose(operator)
    if prices.options.fuse is not False:
        choice.choose_pairs()
    others = {name: algorithm for name, algorithm in choice.chosen.items() if algorithm != as_written.AS_WRITTEN}
    if others:
        whole = expanded(graph, others, prices.constants, machine)
        graph = prices.simplified(whole, frozenset((*graph.inputs, *graph.outputs)))
    return Chosen(graph, choice.rejected(), choice.apart(), compared=choice.compared)


@record
class _Offers:
    """The algorithms of an operator with the times of it and of the maps behind it."""

    operator: Operator
    algorithms: tuple[Algorithm, ...]
    times: Mapping[Algorithm, PartTime]
    least_s: Mapping[Algorithm, float]
    """On one thread, by arithmetic or traffic alone."""
    best: Algorithm
    beaten: frozenset[Algorithm]
    """Those that are not faster whatever their numbers are."""
    source: str = ""
    """The operator of which the times are, if the choice was taken over from it."""

    def margin(self) -> float:
        """The logarithm of the ratio by which the best won against all that are not beaten whatever their numbers are."""
        rivals = self.times.keys() - self.beaten - {self.best}
        others = [self.times[algorithm].cores_s for algorithm in rivals]
        return log(min(others, default=inf) / self.times[self.best].cores_s)

    def rejected(self, winner: Algorithm) -> Iterator[Rejected]:
        """The algorithms that lost, by the times of their plans or by the least that they can cost."""
        won = self.times[winner]
        for algorithm, time in self.times.items():
            if algorithm != winner and time != NO_PLAN:
                is_slower = time.is_bound or time >= won
                defeat = Defeat.SLOWER_THAN if is_slower else Defeat.SLOWER_WITH_NEIGHBOUR
                reason = LossReason(defeat, winner.name, time.is_bound, self.source)
                yield Rejected(OtherAlgorithm(algorithm.name, self.operator.name), time.cores_s, won.cores_s, "s", reason)


@record
class _Pair:
    """Two neighbours: other algorithms than the best alone, or None where these stay, and by how much that was decided."""

    other: tuple[Algorithm, Algorithm] | None
    margin: float = inf
    """The logarithm of the ratio of the times."""


@dataclass(slots=True)
class _Choice:
    graph: Graph
    machine: Machine
    precision: Precision
    prices: AlgorithmPrices
    flow: DataFlow
    chosen: dict[str, Algorithm] = field(default_factory=dict)
    offers: dict[str, _Offers] = field(default_factory=dict)
    planned: Near[_Offers] = field(default_factory=Near)
    """Offers that are not taken over."""
    pairs: Near[_Pair] = field(default_factory=Near)
    compared: dict[str, Compared] = field(default_factory=dict)
    """Neighbours as one chain and apart, by the second of them."""
    parts: dict[tuple[str, ...], Part] = field(default_factory=dict)
    """By the names of their operators, but for the maps behind them."""

    def rejected(self) -> dict[str, tuple[Rejected, ...]]:
        """The algorithms that lost, by operator."""
        return {name: tuple(offers.rejected(self.chosen[name])) for name, offers in self.offers.items()}

    def apart(self) -> frozenset[str]:
        """What algorithms read by tiles."""
        chosen = (operator for operator in self.graph.operators if operator.name in self.chosen)
        return frozenset(read.tensor for op in chosen if self.chosen[op.name].reads_tiles for read in op.reads)

    def choose(self, operator: Operator) -> None:
        """Keep the cheapest algorithm of an operator."""
        if operator.write.tensor in self.prices.constants:
            return
        algorithms = applicable(self._problem(operator), self.precision)
        if len(algorithms) > 1:
            self.offers[operator.name] = self._offers(operator, algorithms)
            self.chosen[operator.name] = self.offers[operator.name].best
        elif algorithms:
            self.chosen[operator.name] = algorithms[0]

    def _problem(self, operator: Operator) -> Problem:
        return Problem(operator, self.flow.tensors, self.prices.constants, self.machine)

    def _offers(self, operator: Operator, algorithms: tuple[Algorithm, ...]) -> _Offers:
        """The offers of an operator, or those of a near operator of its form."""
        part = self._part(operator)
        form = part.form([algorithms])
        near = self.planned.nearest(form) if self.prices.known.takes_over else None
        if near is not None and near.known.margin() >= TURN * near.distance:
            return replace(near.known, operator=operator, source=near.known.operator.name)
        offers = self._planned_offers(part, operator, algorithms)
        self.planned.add(form, offers)
        return offers

    def _planned_offers(self, part: Part, operator: Operator, algorithms: tuple[Algorithm, ...]) -> _Offers:
        """Every algorithm with its time, or the least it takes where that is no less than the best plan takes."""
        slower = beaten(self._problem(operator), algorithms)
        times = self.prices.offers(part, operator, algorithms, slower)
        least_s = {algorithm: self.prices.least_time(part, {operator.name: algorithm}).thread_s for algorithm in algorithms}
        best = min((algorithm for algorithm in algorithms if not times[algorithm].is_bound), key=times.__getitem__)
        return _Offers(operator, algorithms, times, least_s, best, slower)

    def _part(self, *operators: Operator) -> Part:
        """Operators that follow each other, each with the maps behind it: made once, as expansions are kept by part."""
        names = tuple(operator.name for operator in operators)
        if names not in self.parts:
            every = [each for operator in operators for each in (operator, *self.flow.maps_behind(operator))]
            self.parts[names] = self.prices.part(every)
        return self.parts[names]

    def choose_pairs(self) -> None:
        """Choose other algorithms for neighbours where these save more by fusion than they cost; each operator once."""
        taken: set[str] = set()
        for first in self.offers.values():
            reader = self.flow.only_reader((first.operator, *self.flow.maps_behind(first.operator))[-1])
            second = self.offers.get(reader.name) if reader is not None else None
            if second is None or taken & {first.operator.name, second.operator.name}:
                continue
            if (other := self._pair(first, second).other) is not None:
                taken |= {first.operator.name, second.operator.name}
                self.chosen |= _ways(first, second, other)

    def _pair(self, first: _Offers, second: _Offers) -> _Pair:
        """Other ways to compute two neighbours, or those of a near pair of the same form."""
        part = self._part(first.operator, second.operator)
        if not self.prices.known.takes_over:
            return self._as_one_chain(part, first, second)
        form = part.form([first.algorithms, second.algorithms])
        form = replace(form, structure=(form.structure, first.best.name, second.best.name))
        near = self.pairs.nearest(form)
        if near is not None and near.known.margin >= TURN * near.distance:
            return near.known
        planned = self._joined_pair if self._are_short(first, second) else self._planned_pair
        pair = planned(part, self._own(first), self._own(second))
        self.pairs.add(form, pair)
        return pair

    def _are_short(self, first: _Offers, second: _Offers) -> bool:
        """Whether a region costs much of what two neighbours take apart."""
        apart_s = first.times[first.best].cores_s + second.times[second.best].cores_s
        return self.machine.cores > 1 and self.machine.parallel_region_s > REGION_SHARE * apart_s

    def _joined_pair(self, part: Part, first: _Offers, second: _Offers) -> _Pair:
        """The cheapest ways by which two neighbours are one chain, where that costs less than the best alone."""
        coefficients = coefficients_for(self.machine)
        best, apart_s = (first.best, second.best), first.times[first.best].cores_s + second.times[second.best].cores_s
        apart_s -= coefficients.call_s
        one = cheapest_chain(self.prices, part, self._neighbour(first), self._neighbour(second), apart_s)
        if one is None or one.algorithms == best:
            return _Pair(None)
        one_s = one.time.cores_s * coefficients.least_gain
        if one_s < apart_s:
            apart_s = self.prices.time(part, _ways(first, second, best)).cores_s
        return _Pair(one.algorithms if one_s < apart_s else None, abs(log(one_s / apart_s)))

    def _as_one_chain(self, part: Part, first: _Offers, second: _Offers) -> _Pair:
        """The ways by which two neighbours are one chain, where that is cheaper than the best alone or wanted at any cost."""
        best = first.best, second.best
        apart = Ways(best, self._time_apart(part, first, second))
        limit_s = inf if self.prices.options.fuse else apart.time.cores_s
        one = cheapest_chain(self.prices, part, self._neighbour(first), self._neighbour(second), limit_s)
        is_one = one is not None and one.time.cores_s < limit_s
        if one is None or one.algorithms != best:
            names = first.operator.name, second.operator.name
            self.compared[second.operator.name] = Compared(names, one, apart, is_one)
        return _Pair(one.algorithms if one is not None and is_one and one.algorithms != best else None)

    def _time_apart(self, part: Part, first: _Offers, second: _Offers) -> PartTime:
        """The time of two neighbours by the algorithms that are best alone; before one that reads tiles chains end."""
        if not second.best.reads_tiles:
            return self.prices.time(part, _ways(first, second, (first.best, second.best)))
        one, other = first.times[first.best], second.times[second.best]
        call_s = self.prices.options.coefficients.call_s
        return PartTime(one.cores_s + other.cores_s - call_s, one.thread_s + other.thread_s)

    def _neighbour(self, offers: _Offers) -> Neighbour:
        """An operator as one of two that may be one chain: what is planned already may save the tensor in between only."""
        operator, behind = offers.operator, self._part(offers.operator)
        alone = behind if len(behind.graph.operators) == 1 else self.prices.part([operator])
        return Neighbour(operator, alone, offers.times)

    def _own(self, offers: _Offers) -> _Offers:
        """Offers with times of their operator, not of another."""
        if not offers.source:
            return offers
        return self._planned_offers(self._part(offers.operator), offers.operator, offers.algorithms)

    def _planned_pair(self, part: Part, first: _Offers, second: _Offers) -> _Pair:
        """Other ways to compute two neighbours where these are cheaper as a part of the graph.

        They are ways that one chain can hold, and that cost no more than the best alone but for the tensor in between. Of these
        the cheapest alone is planned, and the best ways as a pair only where the cheapest beats them one by one.
        """
        saved_s = self.prices.moving_seconds((first.operator, *self.flow.maps_behind(first.operator))[-1].write.tensor)
        limit_s = first.times[first.best].thread_s + second.times[second.best].thread_s
        others = [
            pair
            for pair in product(first.times, second.times)
            if pair != (first.best, second.best)
            and not pair[1].reads_tiles
            and first.times[pair[0]].thread_s + second.times[pair[1]].thread_s - saved_s < limit_s
            and first.least_s[pair[0]] + second.least_s[pair[1]] < limit_s
            and self.prices.may_be_one_chain(part, _ways(first, second, pair))
        ]
        if not others:
            return _Pair(None)
        other = min(others, key=lambda pair: first.times[pair[0]].thread_s + second.times[pair[1]].thread_s)
        coefficients = coefficients_for(self.machine)
        apart_s = first.times[first.best].cores_s + second.times[second.best].cores_s - coefficients.call_s
        other_s = self.prices.time(part, _ways(first, second, other)).cores_s * coefficients.least_gain
        best_s = apart_s
        if other_s < apart_s:
            best_s = self.prices.time(part, _ways(first, second, (first.best, second.best))).cores_s
        return _Pair(other if other_s < best_s else None, abs(log(other_s / best_s)))


def _ways(first: _Offers, second: _Offers, pair: tuple[Algorithm, Algorithm]) -> Algorithms:
    """The algorithms of two operators by their names."""
    return dict(zip((first.operator.name, second.operator.name), pair, strict=True))
