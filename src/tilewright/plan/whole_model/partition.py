"""Partition of a graph into chains: edges are fused where the fused plan is cheaper, else cut, with both prices.

Edges that can be fused at all (the tensor has one reader and is no output of the graph) connect operators to groups. A group is
planned as a whole, one plan, however many operators it has, and built from its operators up: a small one edge by edge, a large
one in rounds that fuse neighbours, so that the number of plans grows with the logarithm of its length where layers are alike.
The best partition may lie between whole and apart. A large one is planned as a whole only where some contraction in it, planned
as one chain with what leads to it from the contractions before, is better than its operators alone. A whole that no such pair
suggests is not looked for, though it might pay over all edges. Groups and chains that differ in names only are planned once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tilewright.graph.types import Chain, Graph, Operator, Tensor
from tilewright.kernels import registry
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.binding import bound_cut
from tilewright.plan.canonical import canonical_form, names_between
from tilewright.plan.chains import make_chain
from tilewright.plan.counts import Counted, count
from tilewright.plan.decisions.scalar_loop import why_stored
from tilewright.plan.model.coefficients import Coefficients, coefficients_for
from tilewright.plan.model.pricing import separate_price
from tilewright.plan.planner import plan_chain
from tilewright.plan.reasons import Barrier, CannotFuse, CutReason, FewerBlocks, SeparateFaster, Unplannable, WholeGroup
from tilewright.plan.regions import gathered_reads as lookups
from tilewright.plan.search.planning_problem import PlanningProblem, planning_problem
from tilewright.plan.search.profitability import Times, can_cost, least_times_above
from tilewright.plan.types import Cut, ModelPlan, Plan, Price
from tilewright.plan.whole_model.layouts import with_layouts

Operators = tuple[Operator, ...]

SMALL_GROUP = 6
"""Operators up to which a group whose whole pays is built up too, for comparison: each edge costs a plan."""


def partition(
    graph: Graph,
    machine: Machine,
    *,
    fuse: bool | None = None,
    kernels: tuple[MicroKernel, ...] | None = None,
    coefficients: Coefficients | None = None,
) -> ModelPlan:
    """Cut a graph into chains and plan each of them.

    `fuse=None` lets the prices decide, `fuse=True` fuses whatever can be executed, `fuse=False` nothing. Graph outputs and
    tensors with several readers end a chain. Every operator can be planned alone. `coefficients` are those of the price (default:
    as fitted for such machines).
    """
    available = registry.for_machine(machine, element_types=None) if kernels is None else kernels
    work = _Partition(graph, machine, fuse, available, coefficients or coefficients_for(machine))
    work.alone = {operator.name: work.part((operator,)) for operator in graph.operators}
    plans = [work.plan(part.operators) for group in work.groups() for part in work.divide(group)]
    plans.sort(key=lambda plan: work.positions[plan.chain.operators[-1].name])
    cuts = (work.cuts[tensor] for plan in plans if (tensor := plan.chain.output) in work.cuts)
    return with_layouts(ModelPlan(graph, tuple(plans), tuple(cuts)))


@dataclass(frozen=True, slots=True)
class _Part:
    """Operators as one chain, with its price: what partitions are compared by."""

    operators: Operators
    chain: Chain
    price: Price


@dataclass(slots=True)
class _Partition:
    graph: Graph
    machine: Machine
    fuse: bool | None
    kernels: tuple[MicroKernel, ...]
    coefficients: Coefficients
    alone: dict[str, _Part] = field(default_factory=dict)
    cuts: dict[str, Cut] = field(default_factory=dict)
    """By the tensor that goes through memory."""
    chains: dict[tuple[str, ...], Chain] = field(default_factory=dict)
    """By the names of their operators."""
    plans: dict[tuple[str, ...], Plan] = field(default_factory=dict)
    """By the names of their operators."""
    divided: dict[Chain, tuple[Operators, list[_Part]]] = field(default_factory=dict)
    """By the canonical chain of a group: the first, and its parts."""
    least: dict[tuple[Chain, float], Times | None] = field(default_factory=dict)
    """By the canonical chain of operators, and the time that they take apart: see `_least_if_slower`."""
    writers: dict[str, Operator] = field(default_factory=dict)
    """By the tensor that they write."""
    readers: dict[str, list[Operator]] = field(default_factory=dict)
    """By the tensor that they read."""
    tensors: dict[str, Tensor] = field(default_factory=dict)
    """By name."""
    positions: dict[str, int] = field(default_factory=dict)
    """Of every operator in the graph."""

    def __post_init__(self) -> None:
        self.tensors |= {tensor.name: tensor for tensor in self.graph.tensors}
        for position, operator in enumerate(self.graph.operators):
            self.positions[operator.name] = position
            self.writers[operator.write.tensor] = operator
            for tensor in dict.fromkeys(access.tensor for access in operator.reads):
                self.readers.setdefault(tensor, []).append(operator)

    def groups(self) -> list[Operators]:
        """Operators connected by edges that can be fused; every other edge between operators is recorded as cut."""
        members: dict[str, list[Operator]] = {}
        """By the only tensor of a group that others may read: the last one."""
        for operator in self.graph.operators:
            group = [operator]
            for tensor in dict.fromkeys(access.tensor for access in operator.reads):
                if tensor not in self.writers:
                    continue
                if reason := self._barrier(tensor):
                    if tensor not in self.cuts:
                        self.cuts[tensor] = self._cut(tensor, reason)
                else:
                    group = [*members.pop(tensor), *group]
            members[operator.write.tensor] = group
        return [self._sorted(group) for group in members.values()]

    def divide(self, group: Operators) -> list[_Part]:
        """The cheapest parts found for a group: looked for once for all groups of the same structure."""
        if len(group) == 1:
            return [self.alone[group[0].name]]
        key = canonical_form(self._chain(group))
        if key not in self.divided:
            self.divided[key] = group, self._divided(group)
            return self.divided[key][1]
        first, parts = self.divided[key]
        names = names_between(self._chain(first), self._chain(group))
        for tensor in (operator.write.tensor for operator in first[:-1] if operator.write.tensor in self.cuts):
            self.cuts[names.tensors[tensor]] = bound_cut(self.cuts[tensor], names)
        members = {operator.name: operator for operator in group}
        return [self.part(tuple(members[names.operators[old.name]] for old in part.operators)) for part in parts]

    def _divided(self, group: Operators) -> list[_Part]:
        """The cheapest parts found for a group."""
        whole = self._whole(group)
        if whole is not None and self.fuse:
            return [whole]
        parts = self._built_up(group) if len(group) <= SMALL_GROUP else self._paired(self._layers(group))
        if whole is not None and not self._is_slower(whole, parts):
            return [whole]
        self._report_whole(group, parts)
        return parts

    def _report_whole(self, group: Operators, parts: list[_Part]) -> None:
        """Add to the cuts between parts of a group what all of it costs as one chain, where that was found out."""
        if len(group) == 2 or tuple(operator.name for operator in group) not in self.plans:
            return
        cores = self.machine.cores
        whole = WholeGroup(len(group), cores, self.part(group).price.on(cores), self._separate_s(parts))
        for part in parts:
            if cut := self.cuts.get(part.chain.output):
                self.cuts[cut.tensor] = replace(cut, whole=whole)

    def _whole(self, group: Operators) -> _Part | None:
        """All operators as one chain, if that can be executed and is wanted."""
        is_large = self.fuse is None and len(group) > SMALL_GROUP
        if is_large and not (self._is_suggested(group) and self._can_pay(group)):
            return None
        parts = [self.alone[operator.name] for operator in group]
        try:
            if self._least_if_slower(group, parts) is not None:
                return None
            fused = self.part(group)
        except Unplannable:
            return None
        return fused if not self._is_slower(fused, parts) else None

    def _is_suggested(self, group: Operators) -> bool:
        """Whether some contraction of a group is better fused with those before it; True where none follows another."""
        pairs = [pair for pair in self._pairs(group) if len(pair) < len(group)]
        return not pairs or any(self._whole(pair) is not None for pair in pairs)

    def _pairs(self, group: Operators) -> Iterator[Operators]:
        """Every contraction of a group with what leads to it from the contractions before it, these included."""
        producers = {operator.write.tensor: operator for operator in group}
        for operator in filter(Operator.is_contraction, group):
            before = tuple(_leading_to(operator, producers))
            if any(producer.is_contraction() for producer in before):
                yield self._sorted((*before, operator))

    def _can_pay(self, group: Operators) -> bool:
        """Whether operators as one chain may cost no more than apart: found out without a search."""
        return can_cost(self._problem(group), self._separate(group).seconds * self.coefficients.least_gain)

    def _layers(self, group: Operators) -> list[_Part]:
        """Contractions, each with those operators behind it that are better fused with it."""
        parts: list[_Part] = []
        for operator in group:
            self._add(parts, self.alone[operator.name], fuses=not operator.is_contraction())
        return parts

    def _paired(self, parts: list[_Part]) -> list[_Part]:
        """Neighbours are fused in rounds, each part with one other at most, until no pair gains.

        So the length of chains doubles from round to round, and those of equal layers are planned once a round.
        """
        while True:
            fused = self._round(parts)
            if len(fused) == len(parts):
                return parts
            parts = fused

    def _round(self, parts: list[_Part]) -> list[_Part]:
        """Every part fused with the part that makes its operand, where that is wanted and that part is free."""
        free = {part.chain.output: part for part in parts}
        done: list[_Part] = []
        for part in parts:
            for tensor in part.chain.inputs:
                producer = free.get(tensor) if part.chain.output in free else None
                if producer is not None and (fused := self._fuse(producer, part, tensor)) is not None:
                    done.remove(producer)
                    del free[tensor], free[part.chain.output]
                    part = fused
            done.append(part)
        return done

    def _add(self, parts: list[_Part], current: _Part, fuses: bool) -> None:
        """Add a part to some, fused with those that make its operands, as long as the fused chain is wanted."""
        for tensor in current.chain.inputs if fuses else ():
            producer = next((part for part in parts if part.chain.output == tensor), None)
            fused = self._fuse(producer, current, tensor) if producer is not None else None
            if producer is not None and fused is not None:
                parts.remove(producer)
                current = fused
        parts.append(current)

    def _built_up(self, group: Operators) -> list[_Part]:
        """Each operator is fused with the chains that produce its operands, as long as the fused chain is wanted."""
        parts: list[_Part] = []
        for operator in group:
            self._add(parts, self.alone[operator.name], fuses=True)
        return parts

    def _fuse(self, producer: _Part, consumer: _Part, tensor: str) -> _Part | None:
        """The fused chain if it is wanted; else None, and a cut that says why."""
        operators, separate = self._sorted((*producer.operators, *consumer.operators)), [producer, consumer]
        try:
            least = self._least_if_slower(operators, separate)
            fused = self.part(operators) if least is None else None
        except Unplannable as problem:
            self.cuts[tensor] = self._cut(tensor, problem.reason)
            return None
        if least is not None:
            self.cuts[tensor] = self._lost(tensor, least, separate, is_bound=True)
        elif fused is not None and self._is_slower(fused, separate):
            self.cuts[tensor] = self._lost(tensor, self._times(fused.price), separate)
            return None
        return fused

    def _lost(self, tensor: str, fused: Times, separate: list[_Part], *, is_bound: bool = False) -> Cut:
        """A cut between two chains that are faster apart; `is_bound` says that `fused` is the least that they cost together."""
        apart_s = separate_price(part.price for part in separate).seconds
        if fused.seconds > apart_s:
            return Cut(tensor, fused.seconds, apart_s, SeparateFaster(is_bound))
        reason = FewerBlocks(self.machine.cores, fused.cores_s, self._separate_s(separate), is_bound)
        return Cut(tensor, fused.seconds, apart_s, reason)

    def _least_if_slower(self, operators: Operators, separate: list[_Part]) -> Times | None:
        """The least that operators cost as one chain if that is slower than apart already: found out without a search."""
        if self.fuse:
            return None
        limit_s = self._limit_s(separate)
        key = canonical_form(self._chain(operators)), limit_s
        if key not in self.least:
            self.least[key] = least_times_above(self._problem(operators), limit_s)
        return self.least[key]

    def _problem(self, operators: Operators) -> PlanningProblem:
        """Operators as one chain."""
        return planning_problem(canonical_form(self._chain(operators)), self.machine, self.kernels, self.coefficients)

    def _is_slower(self, fused: _Part, separate: list[_Part]) -> bool:
        """Whether a fused chain is not wanted."""
        return not self.fuse and fused.price.on(self.machine.cores) > self._limit_s(separate)

    def _limit_s(self, separate: list[_Part]) -> float:
        """What chains may cost together on all cores: more than apart by what the price cannot tell, as they need no memory in
        between.

        Several products must gain by it: what the price does not see (operands that are packed in every block, blocks that are
        small in every direction) is on the side of fusion.
        """
        several = sum(any(operator.is_contraction() for operator in part.operators) for part in separate) > 1
        return self._separate_s(separate) * (1.0 if several else self.coefficients.least_gain)

    def _times(self, price: Price) -> Times:
        return Times(price.seconds, price.on(self.machine.cores))

    def _separate_s(self, parts: list[_Part]) -> float:
        """The time of several chains one after the other on all cores, in one call."""
        return sum(part.price.on(self.machine.cores) for part in parts) - (len(parts) - 1) * self.coefficients.call_s

    def _barrier(self, tensor: str) -> CannotFuse | None:
        if self.fuse is False:
            return CannotFuse(Barrier.SWITCHED_OFF)
        if tensor in self.graph.outputs:
            return CannotFuse(Barrier.GRAPH_OUTPUT)
        writer, readers = self.writers[tensor], self.readers[tensor]
        if reason := why_stored(self.tensors, tensor, [writer, *readers]):
            return reason
        if not all(index.is_axis() or not index.terms for index in writer.write.indices):
            return CannotFuse(Barrier.MERGED_DIMENSION, (writer.name,))
        if reason := lookups.why_stored(readers, tensor):
            return reason
        return CannotFuse(Barrier.SEVERAL_READERS, tuple(op.name for op in readers)) if len(readers) > 1 else None

    def _cut(self, tensor: str, reason: CutReason) -> Cut:
        """A cut for which there is no fused plan: its price apart is that of the operators at both ends."""
        ends = [self.writers[tensor], *self.readers[tensor]]
        return Cut(tensor, float("inf"), self._separate(ends).seconds, reason)

    def _separate(self, operators: Iterable[Operator]) -> Price:
        return separate_price(self.alone[operator.name].price for operator in operators)

    def part(self, operators: Operators) -> _Part:
        """Operators as one chain, with the price of its plan."""
        plan = self.plan(operators)
        return _Part(operators, plan.chain, plan.price)

    def plan(self, operators: Operators) -> Plan:
        """The plan of operators as one chain."""
        count(Counted.PLANS_ASKED)
        names = tuple(operator.name for operator in operators)
        if names not in self.plans:
            self.plans[names] = plan_chain(
                self._chain(operators),
                self.machine,
                kernels=self.kernels,
                coefficients=self.coefficients,
                unfused_price=self._separate(operators) if len(operators) > 1 else None,
            )
        return self.plans[names]

    def _chain(self, operators: Operators) -> Chain:
        """The chain of operators, made once."""
        names = tuple(operator.name for operator in operators)
        if names not in self.chains:
            self.chains[names] = make_chain(self.graph, operators)
        return self.chains[names]

    def _sorted(self, operators: tuple[Operator, ...] | list[Operator]) -> Operators:
        return tuple(sorted(operators, key=lambda operator: self.positions[operator.name]))


def _leading_to(operator: Operator, producers: Mapping[str, Operator]) -> Iterator[Operator]:
    """The operators that an operator depends on, back to the first contractions: each once, as only one operator reads it."""
    for tensor in dict.fromkeys(access.tensor for access in operator.reads):
        if producer := producers.get(tensor):
            yield producer
            if not producer.is_contraction():
                yield from _leading_to(producer, producers)
