"""Choice of algorithms: every operator that can be computed in several ways is planned in each, and the cheapest is taken.

A way is priced with the maps behind the operator (bias, activation, sum with a shortcut), which become epilogues of its sums or
passes of their own; what an algorithm makes of constants is no part of a call. Equal questions are asked once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tilewright.errors import PlanningError, UnsupportedOperation
from tilewright.graph.rewrites.constant_part import constant_operators, split
from tilewright.graph.types import Constant, Graph, Operator, Tensor
from tilewright.machine.machine import Machine
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.expansion import expanded
from tilewright.plan.algorithms.registry import applicable
from tilewright.plan.canonical import canonical_form
from tilewright.plan.chains import make_chain
from tilewright.plan.model.coefficients import coefficients_for
from tilewright.plan.search.rejected import lost_algorithms
from tilewright.plan.types import ModelPlan, Rejected
from tilewright.plan.whole_model.partition import partition

Simplified = Callable[[Graph, frozenset[str]], Graph]
"""Rewrites of a graph after expansion; inputs and results in the set keep their shapes."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A graph whose operators are computed by the algorithms chosen for them, and those that lost, by operator."""

    graph: Graph
    rejected: Mapping[str, tuple[Rejected, ...]]

    def reported(self, model_plan: ModelPlan) -> ModelPlan:
        """A plan of the graph, each chain with the algorithms that lost for its operators."""
        plans = model_plan.plans
        if self.rejected:
            lost = ([loser for op in plan.chain.operators for loser in self.rejected.get(op.name, ())] for plan in plans)
            plans = tuple(replace(plan, rejected=(*losers, *plan.rejected)) for plan, losers in zip(plans, lost, strict=True))
        return replace(model_plan, plans=plans)


def choose_algorithms(graph: Graph, machine: Machine, simplified: Simplified, *, fuse: bool | None = None) -> Chosen:
    """Expand every operator by the cheapest of the algorithms that apply to it.

    `simplified` is run on every expanded graph; `fuse` is that of `partition`, by which alternatives are planned.
    """
    choice = _Choice(graph, machine, simplified, fuse)
    for operator in graph.operators:
        choice.choose(operator)
    if not choice.algorithms:
        return Chosen(graph, choice.rejected)
    whole = expanded(graph, choice.algorithms, choice.constants, machine)
    return Chosen(simplified(whole, choice.ends), choice.rejected)


@dataclass(slots=True)
class _Choice:
    graph: Graph
    machine: Machine
    simplified: Simplified
    fuse: bool | None
    constants: frozenset[str] = frozenset()
    """Tensors that do not change between calls."""
    ends: frozenset[str] = frozenset()
    """Inputs and outputs of the whole graph."""
    tensors: dict[str, Tensor] = field(default_factory=dict)
    readers: dict[str, list[Operator]] = field(default_factory=dict)
    algorithms: dict[str, Algorithm] = field(default_factory=dict)
    """By operator, of those that are expanded."""
    rejected: dict[str, tuple[Rejected, ...]] = field(default_factory=dict)
    seconds: dict[Hashable, float] = field(default_factory=dict)
    """By structure of a part of the graph and the algorithm: the time of its plan."""

    def __post_init__(self) -> None:
        made = (operator.write.tensor for operator in constant_operators(self.graph))
        self.constants = frozenset((*(name for name, _ in self.graph.constants), *made))
        self.ends = frozenset((*self.graph.inputs, *self.graph.outputs))
        self.tensors = {tensor.name: tensor for tensor in self.graph.tensors}
        for operator in self.graph.operators:
            for tensor in dict.fromkeys(access.tensor for access in operator.reads):
                self.readers.setdefault(tensor, []).append(operator)

    def choose(self, operator: Operator) -> None:
        """Keep the cheapest algorithm of an operator, and what the others cost; constants are computed as they are written."""
        if operator.write.tensor in self.constants:
            return
        algorithms = applicable(Problem(operator, self.tensors, self.constants, self.machine))
        if len(algorithms) < 2:
            self._take(operator, algorithms)
            return
        seconds = {algorithm.name: self._seconds(operator, algorithm) for algorithm in algorithms}
        best = min(algorithms, key=lambda algorithm: seconds[algorithm.name])
        self._take(operator, (best,))
        self.rejected[operator.name] = tuple(lost_algorithms(operator, best.name, seconds))

    def _take(self, operator: Operator, algorithms: Sequence[Algorithm]) -> None:
        for algorithm in algorithms:
            if algorithm.name != AS_WRITTEN:
                self.algorithms[operator.name] = algorithm

    def _seconds(self, operator: Operator, algorithm: Algorithm) -> float:
        """The time of an operator by an algorithm and of the maps behind it, on all cores; infinite where it has no plan."""
        part = self._part((operator, *self._maps_behind(operator)))
        ends = self.ends & {*part.inputs, *part.outputs}
        chain = make_chain(part, part.operators)
        key = canonical_form(chain), tuple(tensor.name in ends for tensor in chain.tensors), algorithm.name
        if key not in self.seconds:
            self.seconds[key] = self._planned_seconds(part, {operator.name: algorithm}, ends)
        return self.seconds[key]

    def _planned_seconds(self, part: Graph, algorithms: Mapping[str, Algorithm], ends: frozenset[str]) -> float:
        try:
            whole = self.simplified(expanded(part, algorithms, self.constants, self.machine), ends)
            planned = partition(split(whole)[1], self.machine, fuse=self.fuse)
        except (PlanningError, UnsupportedOperation):
            return float("inf")
        call_s = coefficients_for(self.machine).call_s
        return sum(plan.price.on(self.machine.cores) - call_s for plan in planned.plans) + call_s

    def _part(self, operators: tuple[Operator, ...]) -> Graph:
        """Operators of the graph as a graph: what they read of others is its inputs and constants."""
        written = dict.fromkeys(operator.write.tensor for operator in operators)
        read = dict.fromkeys(access.tensor for operator in operators for access in operator.reads)
        outside = [name for name in read if name not in written]
        constants = tuple((name, _unread(self.tensors[name])) for name in outside if name in self.constants)
        inputs = tuple(name for name in outside if name not in self.constants)
        tensors = tuple(self.tensors[name] for name in (*outside, *written))
        return Graph(self.graph.name, tensors, operators, inputs, (operators[-1].write.tensor,), constants)

    def _maps_behind(self, operator: Operator) -> Iterator[Operator]:
        """The maps that follow an operator, as long as each is the only reader of the result before it."""
        readers = self.readers.get(operator.write.tensor, [])
        if len(readers) == 1 and operator.write.tensor not in self.ends and readers[0].is_map():
            yield readers[0]
            yield from self._maps_behind(readers[0])


AS_WRITTEN = "as written"


def _unread(tensor: Tensor) -> Constant:
    """A constant of which only the shape and the type are known."""
    shape = tuple(extent for extent in tensor.shape if isinstance(extent, int))
    return Constant(np.broadcast_to(np.ones((), tensor.dtype), shape), has_values=False)
