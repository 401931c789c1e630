"""PolyDL's second level in plans: the factors (UM, UN, UK) of the micro kernels of a variant, chosen by a search that measures.

UM and UN are the rows and columns of the tile of sums, UK the steps of the depth that a trip of the innermost loop has. A variant
on other factors has its tiles at the nearest multiples, its loops for L1 included. Factors are legal where the register file
holds them; the kernel of every product of the chain gets the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from tilewright.errors import needs_packages
from tilewright.kernels import registry
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.dialects.description import VectorDialect
from tilewright.kernels.f32.unrolled import is_outer_product, unrolled_kernel
from tilewright.plan.decisions.micro_kernel import tiles
from tilewright.plan.model.cost_context import CostContext, context_of
from tilewright.plan.space.executability import why_not_executable
from tilewright.plan.space.schedule_space import space_of
from tilewright.tune.pipeline.trials import Progress, TimedTrial, Trial, Trials, trial_of
from tilewright.tune.rankers.ranker import kept
from tilewright.tune.schedules.space import Sampled, priced, with_kernels
from tilewright.tune.unroll import searches
from tilewright.tune.unroll.searches import Factors, Registers

SHARE = 0.4
"""Of all trials."""


def searcher(name: str) -> searches.Searcher:
    """The search of a name of `AGENTS`. Raises `TilewrightError` where it needs a package that is missing."""
    if name != "agent":
        return {"random": searches.at_random, "hill": searches.hill_climbing}[name]
    with needs_packages("the agent that unrolls", "tune"):
        from tilewright.tune.unroll.agent import agent_search
    return agent_search


@dataclass(frozen=True)
class Unrolling:
    """A schedule, and what other factors make of it."""

    like: Sampled

    @cached_property
    def kernels(self) -> dict[str, MicroKernel]:
        """The kernels that factors choose, by operator: outer products of one dialect. Empty where there are none."""
        found = {name: kernel for name, kernel in self.like.context.kernels.items() if is_outer_product(kernel)}
        bits = {kernel.vector_bits for kernel in found.values()}
        return found if len(bits) == 1 else {}

    @cached_property
    def dialect(self) -> VectorDialect:
        """Of the kernels."""
        kernel = next(iter(self.kernels.values()))
        return next(one for one in registry.dialects() if kernel.name.startswith(f"matmul_{one.name}_f32_"))

    @property
    def registers(self) -> Registers:
        """That the sums must fit in."""
        return Registers(self.dialect.registers, self.dialect.lanes)

    @property
    def start(self) -> Factors:
        """The factors that the schedule has."""
        kernel = next(iter(self.kernels.values()))
        own = Factors(kernel.rows, kernel.columns, kernel.depth)
        return own if self.registers.holds(own) else self.registers.first

    def with_factors(self, factors: Factors) -> Sampled | None:
        """The schedule on other factors; None where they cannot compute the chain, or its blocks cannot be executed."""
        context = self._context(factors)
        chain = context.chain
        if not all(tiles(chain, chain.operator(name), (context.kernels[name],)) for name in self.kernels):
            return None
        kernels = tuple((name, context.kernels[name].name) for name, _ in self.like.point.kernels)
        point = with_kernels(space_of(context), self.like.point, kernels)
        return None if why_not_executable(chain, point.outer) else priced(self.like.plan, context, point)

    def _context(self, factors: Factors) -> CostContext:
        own = self.like.context
        vectors = factors.columns // self.dialect.lanes
        used = {
            name: unrolled_kernel(self.dialect, factors.rows, vectors, factors.steps, kernel.prefetch)
            for name, kernel in self.kernels.items()
        }
        return context_of(own.chain, own.machine, {**own.kernels, **used}, own.roles, own.coefficients)


def unrolled(trials: Trials, known: Sequence[TimedTrial], agent: str, budget: int, progress: Progress) -> dict[str, TimedTrial]:
    """The best variants on other factors, by digest: a search for each of a tenth, which has its share of the budget.

    `known` are variants, fastest first.
    """
    tenth = (Unrolling(known[at][0].schedule) for at in kept(range(len(known))))
    top = [unrolling for unrolling in tenth if unrolling.kernels]
    search, found = searcher(agent), dict[str, TimedTrial]()
    for number, unrolling in enumerate(top):
        share = ceil((budget - len(found)) / (len(top) - number))
        if share > 0:
            measured = _MeasuredFactors(trials, unrolling, known[0][1])
            trace = searches.Trace(measured.speed, share, start=unrolling.start, ahead=measured.together)
            search(trace, unrolling.registers, trials.seed)
            found |= measured.found()
            progress(len(found), budget)
    return found


class _MeasuredFactors:
    """Speeds of a schedule on other factors, measured as trials are; 0 where they cannot compute it, or not rightly."""

    def __init__(self, trials: Trials, unrolling: Unrolling, best_s: float) -> None:
        self._trials, self._unrolling, self._best_s = trials, unrolling, best_s
        self._made: dict[Factors, Trial | None] = {}
        self._seconds: dict[str, float | None] = {}

    def speed(self, factors: Factors) -> float:
        """Calls a second. Factors that were not measured yet are measured."""
        self.together([factors])
        trial = self._trial(factors)
        seconds = self._seconds[trial.digest] if trial is not None else None
        return 0.0 if seconds is None else 1.0 / seconds

    def together(self, factors: Sequence[Factors]) -> None:
        """Measure factors that a search looks at next."""
        fresh = [trial for trial in map(self._trial, factors) if trial is not None and trial.digest not in self._seconds]
        if fresh:
            right = self._trials.measure(fresh, best_s=self._best_s)
            self._seconds |= {trial.digest: right.get(trial.digest) for trial in fresh}

    def found(self) -> dict[str, TimedTrial]:
        """The variants that were right, with their seconds, by digest."""
        made = {trial.digest: trial for trial in self._made.values() if trial is not None}
        return {digest: (made[digest], seconds) for digest, seconds in self._seconds.items() if seconds is not None}

    def _trial(self, factors: Factors) -> Trial | None:
        if factors not in self._made:
            one = self._unrolling.with_factors(factors)
            rows, columns, steps = factors
            self._made[factors] = None if one is None else trial_of(one, f"unrolled {rows}x{columns} by {steps}")
        return self._made[factors]
