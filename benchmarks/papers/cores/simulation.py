"""Time of a plan's calls on several cores of a machine, simulated: caches, shared bandwidth, and blocks dealt by the pool.

Several regions run one after the other, each with the cost of a parallel region if more than one core has blocks of it. Caches
hold what the call before left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from benchmarks.papers.cores.caches import CoreCaches
from benchmarks.papers.cores.links import Link, links_of, private_levels
from benchmarks.papers.cores.timeline import Block, region_seconds
from benchmarks.papers.cores.work import PlanWork, work_of
from tilewright.block.integers import Variable
from tilewright.block.walk import block_count
from tilewright.coefficients import coefficients_for
from tilewright.plan.types import ModelPlan
from tilewright.render.c.program import Program, lower_program


@dataclass(frozen=True, slots=True)
class Simulated:
    """A call on some cores."""

    cores: int
    chains_s: tuple[float, ...]
    """Of every chain of the plan."""
    call_s: float
    """Beside the chains."""
    crossed_bytes: tuple[int, ...]
    """Behind every cache, nearest first, both ways, of all cores together."""

    @property
    def seconds(self) -> float:
        """Of the call."""
        return sum(self.chains_s) + self.call_s


def simulate_cores(model_plan: ModelPlan, cores: int, *, links: tuple[Link, ...] | None = None, clock: float = 1.0) -> Simulated:
    """A call in a loop of calls on so many cores, whose clock is that share of the clock of a core that runs alone."""
    return simulate_calls(model_plan, cores, links=links, clock=clock)[-1]


def simulate_calls(
    model_plan: ModelPlan, cores: int, calls: int = 2, *, links: tuple[Link, ...] | None = None, clock: float = 1.0
) -> list[Simulated]:
    """Some calls, the first one with empty caches."""
    machine = model_plan.machine
    caches = CoreCaches(lower_program(model_plan), machine, cores)
    works = _works(caches.program, caches.variables)
    links = links_of(machine) if links is None else links
    return [_call(caches, works, links, clock) for _ in range(calls)]


def _call(caches: CoreCaches, works: Sequence[PlanWork], links: tuple[Link, ...], clock: float) -> Simulated:
    before = _crossed(caches)
    regions_s = _regions_seconds(caches, works, links, clock)
    crossed_bytes = tuple(now - then for now, then in zip(_crossed(caches), before, strict=True))
    chains_s = (
        sum(seconds for _, seconds in of_chain)
        for _, of_chain in groupby(zip(works, regions_s, strict=True), key=lambda pair: id(pair[0]))
    )
    call_s = coefficients_for(caches.program.model_plan.machine).call_s
    return Simulated(len(caches.cores), tuple(chains_s), call_s, crossed_bytes)


def _works(program: Program, variables: Mapping[Variable, int]) -> list[PlanWork]:
    """That of every region."""
    found: list[PlanWork] = []
    for _, pairs in groupby(zip(program.regions, program.plans, strict=True), key=lambda pair: id(pair[1])):
        regions, plans = zip(*pairs, strict=True)
        found += [work_of(plans[0], regions, variables)] * len(regions)
    return found


def _regions_seconds(caches: CoreCaches, works: Sequence[PlanWork], links: tuple[Link, ...], clock: float) -> list[float]:
    """The seconds of every region."""
    machine = caches.program.model_plan.machine
    visible, nearest = coefficients_for(machine).visible_traffic, private_levels(machine) - 1
    found = []
    for number, (region, work) in enumerate(zip(caches.program.regions, works, strict=True)):
        blocks = block_count(region, caches.variables)
        cores = min(len(caches.cores), blocks)
        caches.enter_region()

        def run(core: int, taken: range, number: int = number, work: PlanWork = work) -> Block:
            done = caches.cores[core].run(number, taken)
            return Block(work.seconds(done.units) / clock, tuple(map(float, done.crossed_bytes[nearest:])), visible)

        found.append(region_seconds(cores, blocks, run, links) + machine.parallel_region_s * (cores > 1))
    return found


def _crossed(caches: CoreCaches) -> list[int]:
    private = [core.simulation.crossed_bytes() for core in caches.cores]
    return [*map(sum, zip(*private, strict=True)), *caches.shared.crossed_bytes()]
