"""What chains are planned for, and by what: the search, or the planner of a device."""

from __future__ import annotations

from dataclasses import field

from tilewright.coefficients import Coefficients, coefficients_for
from tilewright.graph.exactness import HALVES, INTEGERS
from tilewright.graph.types import Chain
from tilewright.kernels import registry
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.chain_planner import ChainPlanner
from tilewright.plan.chains import canonical_form
from tilewright.plan.decisions.micro_kernel import chain_context
from tilewright.plan.model.pricing import Candidate
from tilewright.plan.planner import PricedChain, checked_chain, plan_chain, planned_chain, price_chain, refined
from tilewright.plan.search.exact_search import PlanningProblem, planning_problem
from tilewright.plan.types import Plan
from tilewright.plan.whole_model.kept_divisions import Answers
from tilewright.records import record


@record
class PlanningOptions:
    """What chains are planned for, and with what."""

    machine: Machine
    fuse: bool | None
    """None lets the prices decide, True fuses whatever can be executed, False nothing."""
    kernels: tuple[MicroKernel, ...]
    coefficients: Coefficients
    answers: Answers | None = field(default=None, compare=False)
    """Where divisions are kept between processes, if they are."""
    planner: ChainPlanner | None = None
    """What plans chains; None for the search."""
    pads_rows: bool = True
    """Whether rows between chains are padded for the sets of a cache."""
    stores_halves: bool = False
    """Whether numbers of 16 bits may stay inside of chains."""

    @property
    def held_types(self) -> frozenset[str]:
        """Element types that stay inside of chains whatever computes them: a device's planner says itself what it cannot hold."""
        return (HALVES if self.stores_halves else frozenset()) | (INTEGERS if self.planner is not None else frozenset())

    def price(self, chain: Chain) -> PricedChain:
        """The schedule and the price of a chain."""
        if self.planner is not None:
            return planned_chain(canonical_form(chain), self.machine, self.planner)
        return price_chain(canonical_form(chain), self.machine, self.kernels, self.coefficients)

    def plan_named(self, chain: Chain) -> Plan:
        """The plan of a chain, and errors, in its own names."""
        if self.planner is not None:
            return self.planner.plan(chain, self.machine)
        return plan_chain(chain, self.machine, kernels=self.kernels, coefficients=self.coefficients)

    def with_loops(self, chain: Chain, found: tuple[Candidate, ...]) -> PricedChain:
        """The same from the candidates of a search; without any, the chain is planned."""
        if not found:
            return self.price(chain)
        context, ranked = chain_context(canonical_form(chain), self.machine, self.kernels, self.coefficients)
        return checked_chain(canonical_form(chain), refined(context, ranked, found))

    def problem(self, chain: Chain) -> PlanningProblem:
        """A chain as the search sees it."""
        return planning_problem(canonical_form(chain), self.machine, self.kernels, self.coefficients)


def options_for(
    machine: Machine,
    fuse: bool | None,
    kernels: tuple[MicroKernel, ...] | None = None,
    coefficients: Coefficients | None = None,
    answers: Answers | None = None,
    *,
    flushing: bool = False,
) -> PlanningOptions:
    """The options of planning for a machine: all micro kernels that it can run, and coefficients as fitted for such machines.

    `answers` are those to questions about all kernels: with chosen ones none are asked. Kernels that flush denormal numbers are
    among them only with `flushing`.
    """
    chosen = coefficients or coefficients_for(machine)
    if kernels is not None:
        return PlanningOptions(machine, fuse, kernels, chosen)
    every = registry.for_machine(machine, element_types=None, flushing=flushing)
    return PlanningOptions(machine, fuse, every, chosen, answers)
