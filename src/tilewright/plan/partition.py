"""From a graph to chains: edges are fused where the fused plan is cheaper, and cut with both prices where it is not."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.errors import PlanningError
from tilewright.graph.types import Graph, Operator
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.chains import make_chain
from tilewright.plan.parallel import ENOUGH_BLOCKS, WORTH_DISTRIBUTING_S, block_count
from tilewright.plan.planner import plan_chain, separate_price
from tilewright.plan.recall import Searched
from tilewright.plan.types import Cut, ModelPlan, Plan, Price


def partition(
    graph: Graph, machine: Machine, *, fuse: bool | None = None, kernels: tuple[MicroKernel, ...] | None = None
) -> ModelPlan:
    """Cut a graph into chains and plan each of them.

    Operators are taken in topological order; each joins the chains that produce its operands if nothing else reads these, and
    if the joined plan is priced below the separate ones. `fuse=True` joins whatever can be executed, `fuse=False` nothing.
    Graph outputs and tensors with several consumers end a chain. Every operator can be planned alone.
    """
    work = _Partition(graph, machine, fuse, kernels)
    for operator in graph.operators:
        work.add(operator)
    order = {operator.name: position for position, operator in enumerate(graph.operators)}
    plans = sorted(work.plans, key=lambda plan: order[plan.chain.operators[-1].name])
    return ModelPlan(graph, tuple(plans), tuple(work.cuts))


@dataclass(slots=True)
class _Partition:
    graph: Graph
    machine: Machine
    fuse: bool | None
    kernels: tuple[MicroKernel, ...] | None
    plans: list[Plan] = field(default_factory=list)
    alone: dict[str, Price] = field(default_factory=dict)
    cuts: list[Cut] = field(default_factory=list)
    searched: Searched = field(default_factory=dict)

    def add(self, operator: Operator) -> None:
        """Plan an operator alone, then try to join it with each producer's chain in turn."""
        current = self._plan((operator,))
        self.alone[operator.name] = current.price
        for tensor in dict.fromkeys(access.tensor for access in operator.reads):
            producer = next((plan for plan in self.plans if plan.chain.output == tensor), None)
            if producer is not None:
                current = self._join(producer, current, tensor)
        self.plans.append(current)

    def _join(self, producer: Plan, consumer: Plan, tensor: str) -> Plan:
        """The joined plan if it is wanted, with the producer's plan taken out; else the consumer's, and a cut."""
        separate = separate_price((producer.price, consumer.price)).seconds
        obstacle = self._obstacle(tensor)
        if obstacle:
            self.cuts.append(Cut(tensor, float("inf"), separate, obstacle))
            return consumer
        try:
            joined = self._plan((*self._operators(producer), *self._operators(consumer)))
        except PlanningError as problem:
            self.cuts.append(Cut(tensor, float("inf"), separate, problem.why or problem.message))
            return consumer
        if self.fuse is None and joined.predicted_seconds >= separate:
            self.cuts.append(Cut(tensor, joined.predicted_seconds, separate, "the separate plans are faster"))
            return consumer
        if self.fuse is None and (serial := _why_serial(joined, producer, consumer)):
            self.cuts.append(Cut(tensor, joined.predicted_seconds, separate, serial))
            return consumer
        self.plans.remove(producer)
        return joined

    def _obstacle(self, tensor: str) -> str:
        if self.fuse is False:
            return "fusion is switched off"
        if tensor in self.graph.outputs:
            return "it is an output of the graph"
        readers = [op.name for op in self.graph.operators if any(access.tensor == tensor for access in op.reads)]
        return f"several operators read it: {', '.join(readers)}" if len(readers) > 1 else ""

    def _plan(self, operators: tuple[Operator, ...]) -> Plan:
        chain = make_chain(self.graph, self._sorted(operators))
        alone = None if len(operators) == 1 else separate_price(self.alone[operator.name] for operator in operators)
        return plan_chain(chain, self.machine, kernels=self.kernels, unfused_price=alone, searched=self.searched)

    def _operators(self, plan: Plan) -> tuple[Operator, ...]:
        names = {operator.name for operator in plan.chain.operators}
        return tuple(operator for operator in self.graph.operators if operator.name in names)

    def _sorted(self, operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
        names = {operator.name for operator in operators}
        return tuple(operator for operator in self.graph.operators if operator.name in names)


def _why_serial(joined: Plan, *apart: Plan) -> str:
    """Why fusion would take the work away from threads; empty if it does not."""
    blocks = block_count(joined.chain, joined.schedule)
    most = min(ENOUGH_BLOCKS, *(block_count(plan.chain, plan.schedule) for plan in apart))
    if 2 * blocks > most or joined.predicted_seconds < WORTH_DISTRIBUTING_S:
        return ""
    return f"fused, it has {blocks} blocks for threads, apart at least {most}"
