"""From a graph to chains: edges are fused where the fused plan is cheaper, and cut with both prices where it is not.

Edges that can be fused at all (the tensor has one reader and is no output of the graph) connect operators to groups. A group is
planned as a whole first: one plan, however many operators it has. Where that does not pay it is built from its operators up,
edge by edge. Small groups are planned both ways, since the best partition may lie between whole and apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tilewright.errors import PlanningError
from tilewright.graph.types import Chain, Graph, Operator
from tilewright.kernels import registry
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.chains import make_chain
from tilewright.plan.coefficients import Coefficients, coefficients_for
from tilewright.plan.planner import chain_setting, plan_chain
from tilewright.plan.pricing import separate_price
from tilewright.plan.recall import Searched
from tilewright.plan.types import Cut, ModelPlan, Plan, Price
from tilewright.plan.worth import can_cost

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

    `fuse=None` lets the prices decide, `fuse=True` joins whatever can be executed, `fuse=False` nothing. Graph outputs and
    tensors with several readers end a chain. Every operator can be planned alone. `coefficients` are those of the price (default:
    as fitted for such machines).
    """
    work = _Partition(graph, machine, fuse, kernels, coefficients or coefficients_for(machine))
    work.alone = {operator.name: work.plan((operator,), None) for operator in graph.operators}
    plans = [plan for group in work.groups() for plan in work.divide(group)]
    order = {operator.name: position for position, operator in enumerate(graph.operators)}
    plans.sort(key=lambda plan: order[plan.chain.operators[-1].name])
    cuts = (work.cuts[tensor] for plan in plans if (tensor := plan.chain.output) in work.cuts)
    return ModelPlan(graph, tuple(plans), tuple(cuts))


@dataclass(slots=True)
class _Partition:
    graph: Graph
    machine: Machine
    fuse: bool | None
    kernels: tuple[MicroKernel, ...] | None
    coefficients: Coefficients
    alone: dict[str, Plan] = field(default_factory=dict)
    cuts: dict[str, Cut] = field(default_factory=dict)
    """By the tensor that goes through memory."""
    chains: dict[tuple[str, ...], Chain] = field(default_factory=dict)
    """By the names of their operators."""
    searched: Searched = field(default_factory=dict)

    def groups(self) -> list[Operators]:
        """Operators connected by edges that can be fused; every other edge between operators is recorded as cut."""
        members: list[list[Operator]] = []
        for operator in self.graph.operators:
            group = [operator]
            for tensor in dict.fromkeys(access.tensor for access in operator.reads):
                producers = next((own for own in members if any(op.write.tensor == tensor for op in own)), None)
                if producers is None:
                    continue
                if reason := self._obstacle(tensor):
                    self.cuts[tensor] = self._cut(tensor, reason)
                else:
                    members.remove(producers)
                    group = [*producers, *group]
            members.append(group)
        return [self._sorted(group) for group in members]

    def divide(self, group: Operators) -> list[Plan]:
        """The cheapest plans found for a group."""
        if len(group) == 1:
            return [self.alone[group[0].name]]
        whole = self._whole(group)
        if whole is not None and (self.fuse or len(group) > SMALL_GROUP):
            return [whole]
        parts = self._built_up(group)
        if whole is not None and not self._is_slower(whole, parts):
            return [whole]
        return parts

    def _whole(self, group: Operators) -> Plan | None:
        """The plan of all operators as one chain, if there is one and it is wanted."""
        separate = self._separate(group)
        if self.fuse is None and len(group) > SMALL_GROUP and not self._can_pay(group, separate):
            return None
        try:
            joined = self.plan(group, separate)
        except PlanningError:
            return None
        parts = [self.alone[operator.name] for operator in group]
        return joined if not self._why_apart(joined, parts) else None

    def _can_pay(self, group: Operators, separate: Price) -> bool:
        """Whether operators as one chain may cost no more than apart: found out without a search."""
        available = registry.for_machine(self.machine) if self.kernels is None else self.kernels
        setting, _ = chain_setting(self._chain(group), self.machine, available, self.coefficients)
        return can_cost(setting, separate.seconds * self.coefficients.worth_it)

    def _built_up(self, group: Operators) -> list[Plan]:
        """Each operator joins the chains that produce its operands, as long as the joined plan is wanted."""
        plans: list[Plan] = []
        for operator in group:
            current = self.alone[operator.name]
            for tensor in dict.fromkeys(access.tensor for access in operator.reads):
                producer = next((plan for plan in plans if plan.chain.output == tensor), None)
                joined = self._join(producer, current, tensor) if producer is not None else None
                if producer is not None and joined is not None:
                    plans.remove(producer)
                    current = joined
            plans.append(current)
        return plans

    def _join(self, producer: Plan, consumer: Plan, tensor: str) -> Plan | None:
        """The joined plan if it is wanted; else None, and a cut that says why."""
        operators = self._sorted((*self._operators(producer), *self._operators(consumer)))
        try:
            joined = self.plan(operators, self._separate(operators))
        except PlanningError as problem:
            self.cuts[tensor] = self._cut(tensor, problem.why or problem.message)
            return None
        if reason := self._why_apart(joined, [producer, consumer]):
            apart = separate_price((producer.price, consumer.price)).seconds
            self.cuts[tensor] = Cut(tensor, joined.predicted_seconds, apart, reason)
            return None
        return joined

    def _why_apart(self, joined: Plan, apart: list[Plan]) -> str:
        """Why a joined plan is not wanted; empty if it is."""
        if self.fuse:
            return ""
        if not self._is_slower(joined, apart):
            return ""
        if joined.predicted_seconds > separate_price(plan.price for plan in apart).seconds:
            return "the separate plans are faster"
        cores = self.machine.cores
        fused_us, apart_us = joined.price.on(cores) * 1e6, self._apart_s(apart) * 1e6
        return f"fused, it has fewer blocks for threads: {fused_us:.3g} us on {cores} cores, apart {apart_us:.3g} us"

    def _is_slower(self, joined: Plan, apart: list[Plan]) -> bool:
        """Whether apart gains what the price can tell on all cores: equal ones are joined, they need no memory in between."""
        return joined.price.on(self.machine.cores) > self._apart_s(apart) * self.coefficients.worth_it

    def _apart_s(self, plans: list[Plan]) -> float:
        """The time of several chains one after the other on all cores, in one call."""
        return sum(plan.price.on(self.machine.cores) for plan in plans) - (len(plans) - 1) * self.coefficients.call_s

    def _obstacle(self, tensor: str) -> str:
        if self.fuse is False:
            return "fusion is switched off"
        if tensor in self.graph.outputs:
            return "it is an output of the graph"
        readers = [op.name for op in self.graph.operators if any(access.tensor == tensor for access in op.reads)]
        return f"several operators read it: {', '.join(readers)}" if len(readers) > 1 else ""

    def _cut(self, tensor: str, reason: str) -> Cut:
        """A cut for which there is no fused plan: its price apart is that of the operators at both ends."""
        ends = [op for op in self.graph.operators if op.write.tensor == tensor or any(a.tensor == tensor for a in op.reads)]
        return Cut(tensor, float("inf"), self._separate(ends).seconds, reason)

    def _separate(self, operators: Iterable[Operator]) -> Price:
        return separate_price(self.alone[operator.name].price for operator in operators)

    def plan(self, operators: Operators, unfused: Price | None) -> Plan:
        """The plan of operators as one chain."""
        chain = self._chain(operators)
        return plan_chain(
            chain,
            self.machine,
            kernels=self.kernels,
            coefficients=self.coefficients,
            unfused_price=unfused,
            searched=self.searched,
        )

    def _chain(self, operators: Operators) -> Chain:
        """The chain of operators, made once."""
        names = tuple(operator.name for operator in operators)
        if names not in self.chains:
            self.chains[names] = make_chain(self.graph, operators)
        return self.chains[names]

    def _operators(self, plan: Plan) -> Iterator[Operator]:
        names = {operator.name for operator in plan.chain.operators}
        return (operator for operator in self.graph.operators if operator.name in names)

    def _sorted(self, operators: tuple[Operator, ...] | list[Operator]) -> Operators:
        names = {operator.name for operator in operators}
        return tuple(operator for operator in self.graph.operators if operator.name in names)
