"""Prices of algorithms: a part of a graph, expanded by some algorithms, is planned as a graph of its own.

What an algorithm makes of constants is no part of a call. Inputs and results of a part that are tensors between operators of the
whole graph may change their shapes as they may there. Equal questions are asked once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isinf, prod

from tilewright.errors import PlanningError, UnsupportedOperation
from tilewright.graph.rewrites.constants.constant_part import constant_operators, split, unread
from tilewright.graph.types import Chain, Graph, Operator, element_bytes, planned_extent
from tilewright.plan.algorithms.definition import Algorithm, expanded
from tilewright.plan.chains import canonical_chain
from tilewright.plan.decisions.exact_operators import is_exact_operator
from tilewright.plan.decisions.micro_kernel import chain_context
from tilewright.plan.model.cost import measure
from tilewright.plan.model.cost_context import source_position
from tilewright.plan.model.needed_work import least_bytes
from tilewright.plan.search.exact_search import least_times_above
from tilewright.plan.whole_model.forms import Form, form_of
from tilewright.plan.whole_model.groups import DataFlow, Group, fusible_groups
from tilewright.plan.whole_model.known_divisions import KnownDivisions
from tilewright.plan.whole_model.partition import barriers_of, divided_groups
from tilewright.plan.whole_model.planning_options import PlanningOptions
from tilewright.records import record

Algorithms = Mapping[str, Algorithm]
"""By operator."""
Simplified = Callable[[Graph, frozenset[str]], Graph]
"""Rewrites of a graph after expansion; inputs and results in the set keep their shapes."""


@dataclass(frozen=True, slots=True, order=True)
class PartTime:
    """The time of a part of a graph by its plan, or the least that it takes; infinite where it has no plan."""

    cores_s: float
    """On all cores, with everything that a plan costs: by it alternatives compete."""
    thread_s: float
    """On one thread, where it is known how much less time the work takes elsewhere."""
    is_bound: bool = False


NO_PLAN = PartTime(float("inf"), float("inf"))


@record
class Part:
    """Operators of a graph with one result, as a graph."""

    graph: Graph
    ends: frozenset[str]
    """Those of its inputs and results that are inputs and outputs of the whole."""
    chains: list[Chain] = field(default_factory=list, init=False, repr=False, compare=False)
    """Its canonical chain, once that was asked for."""

    def structure(self) -> Hashable:
        """What parts of equal prices have in common."""
        return self._chain(), self._outside()

    def form(self, algorithms: Iterable[Sequence[Algorithm]]) -> Form:
        """What parts have in common whose operators may be computed in the same ways, and their numbers."""
        form = form_of(self._chain())
        names = tuple(tuple(algorithm.name for algorithm in of_operator) for of_operator in algorithms)
        return Form((form.structure, self._outside(), names), form.numbers)

    def _chain(self) -> Chain:
        if not self.chains:
            self.chains.append(canonical_chain(self.graph, self.graph.operators))
        return self.chains[0]

    def _outside(self) -> frozenset[int]:
        """The numbers of its inputs and its result that keep their shapes."""
        names = enumerate((*self.graph.inputs, *self.graph.outputs))
        return frozenset(number for number, name in names if name in self.ends)


@dataclass(frozen=True)
class Expansion:
    """A part whose operators are computed by some algorithms, without what depends on constants alone."""

    part: Part
    graph: Graph
    fuse: bool | None

    @cached_property
    def flow(self) -> DataFlow:
        """Of the graph."""
        return DataFlow(self.graph)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """What of it can be fused."""
        return fusible_groups(self.flow, barriers_of(self.flow, self.fuse))

    @cached_property
    def multiplied(self) -> frozenset[str]:
        """The tensors that sums of products read."""
        contractions = filter(Operator.is_contraction, self.graph.operators)
        return frozenset(access.tensor for operator in contractions for access in operator.reads)


@dataclass(slots=True)
class AlgorithmPrices:
    """The times of parts of a graph on all cores, by the algorithms of their operators."""

    graph: Graph
    simplified: Simplified
    known: KnownDivisions
    constants: frozenset[str] = frozenset()
    """Tensors that do not change between calls."""
    planned: dict[Hashable, PartTime] = field(default_factory=dict)
    bounds: dict[Hashable, PartTime] = field(default_factory=dict)
    expansions: dict[tuple[int, Hashable], Expansion] = field(default_factory=dict)
    """By the identity of a part, which is kept with its expansion, and the names of algorithms."""
    computing_s: dict[Chain, float] = field(default_factory=dict)
    """By canonical chain of an operator: see `_computing_seconds`."""

    @property
    def options(self) -> PlanningOptions:
        """What is planned for, and with what."""
        return self.known.options

    def __post_init__(self) -> None:
        made = (operator.write.tensor for operator in constant_operators(self.graph))
        self.constants = frozenset((*(name for name, _ in self.graph.constants), *made))

    def of(self, graph: Graph) -> AlgorithmPrices:
        """The prices of parts of another graph, which differs in the order of dimensions: nothing is asked twice."""
        return replace(self, graph=graph)

    def part(self, operators: Sequence[Operator]) -> Part:
        """Operators of the graph: what they read of others is its inputs and constants."""
        written = dict.fromkeys(operator.write.tensor for operator in operators)
        read = dict.fromkeys(access.tensor for operator in operators for access in operator.reads)
        outside = [name for name in read if name not in written]
        constants = tuple((name, unread(self.graph.tensor(name))) for name in outside if name in self.constants)
        inputs = tuple(name for name in outside if name not in self.constants)
        tensors = tuple(self.graph.tensor(name) for name in (*outside, *written))
        result = operators[-1].write.tensor
        part = Graph(self.graph.name, tensors, tuple(operators), inputs, (result,), constants)
        return Part(part, frozenset((*self.graph.inputs, *self.graph.outputs)) & {*inputs, result})

    def time(self, part: Part, algorithms: Algorithms) -> PartTime:
        """The time of a part by its plan."""
        key = part.structure(), _names(part, algorithms)
        if key not in self.planned:
            self.planned[key] = self._planned_time(part, algorithms)
        return self.planned[key]

    def least_time(self, part: Part, algorithms: Algorithms) -> PartTime:
        """What a part costs at least, group by group of what may be fused: the arithmetic of its sums of products and of the maps
        that make what these read, or the traffic of its inputs and its result.

        Maps behind a sum may be computed in its registers. Nothing is searched.
        """
        key = part.structure(), _names(part, algorithms)
        if key not in self.bounds:
            self.bounds[key] = self._least_time(self._expanded(part, algorithms))
        return self.bounds[key]

    def offers(
        self, part: Part, operator: Operator, algorithms: Sequence[Algorithm], beaten: Collection[Algorithm]
    ) -> dict[Algorithm, PartTime]:
        """Every algorithm of an operator with its time, or the least it takes where that is no less than the best plan takes.

        What is beaten takes at least as long as the best of the others, if these have a plan.
        """
        if len(algorithms) == 1:
            return {algorithm: self.time(part, {operator.name: algorithm}) for algorithm in algorithms}
        times = {algorithm: self.least_time(part, {operator.name: algorithm}) for algorithm in algorithms}
        planned: dict[Algorithm, PartTime] = {}
        for algorithm in sorted(set(algorithms).difference(beaten), key=lambda algorithm: (times[algorithm], algorithm.name)):
            if all(times[algorithm].cores_s < time.cores_s for time in planned.values()):
                planned[algorithm] = self.time(part, {operator.name: algorithm})
        if beaten and min(planned.values()) == NO_PLAN:
            return self.offers(part, operator, algorithms, ())
        best = replace(min(planned.values()), is_bound=True)
        return times | planned | {algorithm: max(times[algorithm], best) for algorithm in beaten}

    def moving_seconds(self, tensor: str) -> float:
        """The time of writing a tensor to where it fits and reading it back, on one thread."""
        machine, size_bytes = self.options.machine, self._size_bytes(tensor)
        behind = machine.levels[1:] or machine.levels
        level = next((level for level in behind if level.usable_bytes >= size_bytes), behind[-1])
        return 2 * size_bytes / level.bandwidth_bytes_per_s

    def most_moving_seconds(self, tensor: str) -> float:
        """The most that moving a tensor is counted with in what the parts around it take at least."""
        return 2 * self._size_bytes(tensor) / min(level.bandwidth_bytes_per_s for level in self.options.machine.levels)

    def _size_bytes(self, tensor: str) -> int:
        between = self.graph.tensor(tensor)
        return element_bytes(between.dtype) * prod(map(planned_extent, between.shape))

    def may_be_one_chain(self, part: Part, algorithms: Algorithms) -> bool:
        """Whether no tensor inside a part has to be stored as a whole because several axes walk one dimension of it."""
        operators = self._expanded(part, algorithms).graph.operators
        return all(index.is_axis() or not index.terms for operator in operators[:-1] for index in operator.write.indices)

    def is_one_group(self, part: Part, algorithms: Algorithms) -> bool:
        """Whether nothing inside a part has to go through memory."""
        return len(self._expanded(part, algorithms).groups) == 1

    def time_as_one_chain(self, part: Part, algorithms: Algorithms, limit_s: float) -> PartTime:
        """The time of a part of one group as one chain, or the least that it takes if that is more than a limit on all cores.

        Of large models it is the time of its division, which is kept between processes.
        """
        if self.known.takes_over:
            return self.time(part, algorithms)
        (group,) = self._expanded(part, algorithms).groups
        try:
            least = None if isinf(limit_s) else least_times_above(self.options.problem(group.chain), limit_s)
            if least is not None:
                return PartTime(least.cores_s, least.seconds, is_bound=True)
            price = self.options.price(group.chain).price
        except (PlanningError, UnsupportedOperation):
            return NO_PLAN
        return PartTime(price.on(self.options.machine.cores), price.seconds)

    def _expanded(self, part: Part, algorithms: Algorithms) -> Expansion:
        key = id(part), _names(part, algorithms)
        if key not in self.expansions:
            whole = self.simplified(expanded(part.graph, algorithms, self.constants, self.options.machine), part.ends)
            self.expansions[key] = Expansion(part, split(whole)[1], self.options.fuse)
        return self.expansions[key]

    def _planned_time(self, part: Part, algorithms: Algorithms) -> PartTime:
        expansion = self._expanded(part, algorithms)
        try:
            groups = tuple(divided_groups(expansion.flow, expansion.groups, self.known))
        except (PlanningError, UnsupportedOperation):
            return NO_PLAN
        cores, call_s = self.options.machine.cores, self.options.coefficients.call_s
        prices = [part.price for group in groups for part in group.division.parts]
        cores_s, thread_s = (sum(price.on(threads) - call_s for price in prices) + call_s for threads in (cores, 1))
        return PartTime(cores_s, thread_s)

    def _least_time(self, expansion: Expansion) -> PartTime:
        """The groups one after the other: each takes at least a parallel region, or all of its work on one core."""
        machine = self.options.machine
        seconds = [self._least_of_group(expansion, group) for group in expansion.groups]
        cores_s = sum(min(least_s, least_s / machine.cores + machine.parallel_region_s) for least_s in seconds)
        return PartTime(cores_s + self.options.coefficients.call_s, sum(seconds), is_bound=True)

    def _least_of_group(self, expansion: Expansion, group: Group) -> float:
        """The arithmetic of a group, or the traffic of its inputs and its result, whichever takes longer."""
        read = expansion.multiplied
        counted = [operator for operator in group.operators if operator.is_contraction() or operator.write.tensor in read]
        is_alone = len(group.operators) == 1
        chains = (group.chain if is_alone else canonical_chain(expansion.graph, (operator,)) for operator in counted)
        return max(sum(map(self._computing_seconds, chains)), self._moving_seconds(group.chain))

    def _moving_seconds(self, chain: Chain) -> float:
        """The time of what moves into or out of a group whatever becomes of the tensors inside it.

        One operator has the floor of its plan. Parts of a larger group may find their tensors nearer than the group as a whole.
        """
        machine, size_bytes = self.options.machine, least_bytes(chain)
        level = machine.levels[source_position(machine, size_bytes if len(chain.operators) == 1 else 0)]
        return size_bytes / level.bandwidth_bytes_per_s * min(self.options.coefficients.overlapped_traffic, 1.0)

    def _computing_seconds(self, chain: Chain) -> float:
        """The time of an operator's arithmetic and functions on one core, in one block; 0 where that is not known."""
        if chain not in self.computing_s:
            self.computing_s[chain] = 0.0 if is_exact_operator(chain, self.options.kernels) else self._block_seconds(chain)
        return self.computing_s[chain]

    def _block_seconds(self, chain: Chain) -> float:
        options = self.options
        try:
            context, _ = chain_context(chain, options.machine, options.kernels, options.coefficients)
        except PlanningError:
            return 0.0
        (alone,) = context.chain.operators
        block = measure(context, alone, context.sizes)
        return float(block.arithmetic_s + block.functions_s)


def _names(part: Part, algorithms: Algorithms) -> Hashable:
    return tuple(algorithms[operator.name].name if operator.name in algorithms else "" for operator in part.graph.operators)
